# SPDX-License-Identifier: MIT
"""docs/bench/LAST.md, for scripts/bench: a table for each CPU model, and the rows that became
worse.

A row is (what, figure, bar, met or None, note).
"""
import ast
import datetime
import inspect
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return re.sub(r"\((R|TM)\)", "", model[1]).strip() if model else "unknown CPU"


def machine():
    gcc = subprocess.run(["gcc", "-dumpfullversion"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    return (f"{cpu_model()}, {os.cpu_count()} CPUs, Linux {os.uname().release}, gcc {gcc}, "
            f"load {os.getloadavg()[0]:.1f} at the end")


LAST = f"{ROOT}/docs/bench/LAST.md"
LAST_HEAD = """# The last `make bench`, by CPU model

Medians of interleaved runs. `added` figures are of a call, beyond what the call itself costs. A run
renews the rows of its own CPU model that it has measured; the line above the table says when that was
last. scripts/bench and bench/ say what is measured and how. The peers record entry and exit (uftrace,
XRay) or what the tracepoint says (LTTng); the function tracer records entry and caller.
"""


def read_last():
    """{CPU model: [its line about the machine, {row: (figure, bar, verdict and note)}]} of
    LAST.md."""
    sections, model = {}, None
    try:
        with open(LAST, encoding="utf-8") as f:
            lines = f.read().splitlines()
    except FileNotFoundError:
        return {}
    for line in lines:
        if line.startswith("## "):
            model = line[3:].strip()
            sections[model] = ["", {}]
        elif model and line.startswith("| ") and not line.startswith("| what |"):
            # the last cell may have a | of its own
            what, figure, bar, rest = (line.strip("|").split("|", 3) + ["", "", ""])[:4]
            sections[model][1][what.strip()] = (figure.strip(), bar.strip(), rest.strip())
        elif model and line and not line.startswith("|"):
            sections[model][0] = line
    return sections


def number(figure):
    m = re.match(r"-?[\d.]+", figure)
    return float(m[0]) if m else None


def print_worse(rows, before):
    """Print the rows that are worse than the same CPU model's rows in LAST.md by more than the
    noise of a --quick run."""
    worse = []
    for what, figure, bar, _, _ in rows:
        then = before.get(what)
        new, old = number(figure), number(then[0]) if then else None
        if new is None or not old or old < 0:
            continue
        more_is_better = bar.startswith(">=") or "/s" in figure
        ratio = old / new if more_is_better and new else new / old
        if ratio > 1.15:
            worse.append(f"  {what}: {then[0]} then, {figure} now")
    if worse:
        print(f"worse by more than 15 % than LAST.md's rows of {cpu_model()}:", *worse, sep="\n")
    elif before:
        print(f"no row is worse by more than 15 % than LAST.md's of {cpu_model()}")


def name_pattern(node):
    """A row's name in the source as a regular expression; what is only known when it runs is
    `.*`."""
    if isinstance(node, ast.Constant):
        return re.escape(str(node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(map(name_pattern, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return name_pattern(node.left) + name_pattern(node.right)
    return ".*"


def rows_of(bench):
    """{pattern: name for people} of the rows that a group's function makes, by its source and the
    source of the functions of its module which it calls. A row that only says why there is no
    figure is left out: its second word is in the source, or it ends its function."""
    if bench.__name__ == "<lambda>":   # lambda: module.function(harness)
        module, function = bench.__code__.co_names[:2]
        bench = getattr(bench.__globals__[module], function)
    with open(inspect.getsourcefile(bench), encoding="utf-8") as f:
        functions = {n.name: n for n in ast.parse(f.read()).body if isinstance(n, ast.FunctionDef)}
    found, todo, seen = {}, [bench.__name__], set()
    while todo:
        name = todo.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        ends = {id(n.value) for n in ast.walk(functions[name]) if isinstance(n, ast.Return)}
        for call in (n for n in ast.walk(functions[name]) if isinstance(n, ast.Call)):
            called = getattr(call.func, "id", getattr(call.func, "attr", ""))
            if called != "row":
                todo.append(called)
            elif id(call) not in ends and not isinstance(call.args[1], ast.Constant):
                pattern = name_pattern(call.args[0])
                if pattern.replace(".*", ""):
                    found[pattern] = re.sub(r"\\(.)", r"\1", pattern.replace(".*", "..."))
    return found


def missing(groups, sections):
    """Lines that name the groups and rows which a CPU model's part of LAST.md does not have. Rows
    whose whole name is only known when they run are not named."""
    for model, (_, table) in sections.items():
        for group, bench in groups.items():
            known = rows_of(bench)
            lacking = [name for pattern, name in known.items() if not any(re.fullmatch(pattern, what) for what in table)]
            if lacking and len(lacking) == len(known):
                yield f"LAST.md, {model}: nothing of the group {group}"
            elif lacking:
                yield f"LAST.md, {model}: of the group {group} there is no " + ", no ".join(f"'{name}'" for name in lacking)


def write_last(rows, sections):
    mine = sections.setdefault(cpu_model(), ["", {}])
    mine[0] = f"{datetime.date.today().isoformat()}; {machine()}."
    for what, figure, bar, met, note in rows:
        verdict = "" if met is None else "met" if met else "**not met**"
        mine[1][what] = (figure, bar, f"{verdict}{'; ' if verdict and note else ''}{note}")
    os.makedirs(os.path.dirname(LAST), exist_ok=True)
    with open(LAST, "w", encoding="utf-8") as f:
        f.write(LAST_HEAD)
        for model, (about, table) in sections.items():
            f.write(f"\n## {model}\n\n{about}\n\n| what | figure | bar | |\n|---|---|---|---|\n")
            for what, (figure, bar, rest) in table.items():
                f.write(f"| {what} | {figure} | {bar} | {rest} |\n")
    print(f"written to {os.path.relpath(LAST, ROOT)}")
