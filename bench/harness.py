# SPDX-License-Identifier: MIT
"""Shared by all rows of scripts/bench: the table, builds of programs, timed runs."""
import os
import re
import statistics
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = f"{ROOT}/build"
VESTIGE, LIBRARY = f"{BUILD}/vestige", f"{BUILD}/libvestige.so"
BENCH = f"{ROOT}/bench"
PLAIN = ["-O2", "-fno-optimize-sibling-calls"]
PATCHABLE = [*PLAIN, "-fpatchable-function-entry=6"]

rows = []       # (what, figure, bar, met or None, note)
folder = None   # all files of the rows are in it
quick = False


def row(what, figure, bar="", met=None, note=""):
    rows.append((what, figure, bar, met, note))
    verdict = "" if met is None else "met" if met else "NOT MET"
    print(f"  {what:<58} {figure:>22}  {bar:<10} {verdict:<8} {note}", flush=True)


def sh(*argv, env=None, cwd=None, check=True, **more):
    return subprocess.run(argv, check=check, text=True, stdin=subprocess.DEVNULL, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "VESTIGE_DIR": f"{folder}/areas", **(env or {})}, **more)


def cpu_seconds(argv, env, stdin, cwd):
    """User and system time of one run."""
    pid = os.posix_spawn(argv[0], argv, {**os.environ, **env}, file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"bench: {argv[0]} ended with status {status}")
    return usage.ru_utime + usage.ru_stime


def empty_areas():
    for name in os.listdir(f"{folder}/areas"):
        os.unlink(f"{folder}/areas/{name}")


def compiled(name, flags, *sources, cc="gcc", libs=()):
    out = f"{folder}/{name}"
    sh(cc, *flags, f"-I{BENCH}", "-o", out, *(sources or [f"{BENCH}/calls.c"]), *libs)
    return out


def calm():
    """In the child: take a real-time priority if that is allowed, so that other processes do not
    disturb."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


def calls(program, what, millions, boot=None, env=None, prefix=(), parts=7):
    """One run of bench/calls: (ns a call, ns of a bare rdtsc in the same process)."""
    more = dict(env or {})
    if boot:
        more |= {"LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": boot}
    text = sh(*prefix, program, what, str(millions), str(parts), env=more, cwd=folder, preexec_fn=calm).stdout
    empty_areas()
    m = re.search(r"ns_per_call ([\d.]+) ns_rdtsc ([\d.]+)", text)
    return float(m[1]), float(m[2])


def pairs(n):
    return 3 if quick else n


def added(program, what, millions=20, boot="ftrace=function", parts=7):
    """The time that tracing adds to a call: ns, and as a multiple of a bare rdtsc; medians of
    pairs."""
    ns, ratio = [], []
    for _ in range(pairs(9)):
        off, _ = calls(program, what, millions, "ftrace=nop", parts=parts)
        on, tsc = calls(program, what, millions, boot, parts=parts)
        ns.append(on - off)
        ratio.append((on - off) / tsc)
    return statistics.median(ns), statistics.median(ratio)


def rdtsc_ns():
    """A bare rdtsc, as bench/calls measures it, in ns."""
    program = compiled("rdtsc", PATCHABLE)
    return statistics.median(calls(program, "leaf", 1)[1] for _ in range(pairs(9)))


def calls_made(program, millions, kind="fib"):
    """The number of calls of a run of bench/calls, warm-up included."""
    text = sh(program, kind, str(millions)).stdout
    return float(re.search(r" calls (\d+)", text)[1]) + 150049


def live(program, *args, boot=""):
    text = sh(program, *map(str, args), env={"LD_PRELOAD": LIBRARY, "VESTIGE_BOOT": boot}).stdout
    empty_areas()
    return {k: float(v) for k, v in re.findall(r"(\w+) ([\d.]+)", text)}


def lua():
    return sh(f"{ROOT}/scripts/build-workload", "lua", "gcc", "-O2", "-g",
              "-fpatchable-function-entry=6").stdout.strip()


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return f.read().split()
    except OSError:
        return []


def gone(pid):
    """Has a process ended? A zombie has."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def recorded(dat, *argv):
    """One `vestige record` to @dat. Return: the spool's largest size, entries, lost, seconds after
    the program's end; and the program's own time."""
    p = subprocess.Popen([VESTIGE, "record", "--stat", "-o", dat, *argv], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, env={**os.environ, "VESTIGE_DIR": f"{folder}/areas"})
    child, began, ended, spool = None, None, None, 0
    while p.poll() is None:
        child = child or next(iter(children(p.pid)), None)
        began = began or (child and time.monotonic())
        if child and not ended and gone(child):
            ended = time.monotonic()
        for name in os.listdir(folder):
            if name.startswith(os.path.basename(dat) + ".spool."):
                try:
                    spool = max(spool, os.stat(f"{folder}/{name}").st_size)
                except OSError:
                    pass
        time.sleep(0.001)
    took = time.monotonic() - (ended or time.monotonic())
    text = p.stdout.read()
    if p.returncode:
        raise SystemExit(f"bench: vestige record {' '.join(argv)}: status {p.returncode}\n{text[-500:]}")
    entries = sum(map(int, re.findall(r"^entries: (\d+)", text, re.M)))
    lost = sum(map(int, re.findall(r"^(?:dropped events|overrun|commit overrun): (\d+)", text, re.M)))
    return spool, entries, lost, took, (ended or 0) - (began or 0)


def peer(name, base, traced, n=None):
    """ns that a peer adds to a call of fib, interleaved with its own untraced run."""
    out = []
    for _ in range(pairs(n or 5)):
        off, on = base(), traced()
        out.append(on - off)
    row(name, f"{statistics.median(out):.1f} ns")
    return statistics.median(out)


def event_costs(program, env):
    """{way: ns over an empty loop}, medians of a few runs."""
    runs = []
    for _ in range(pairs(5)):
        text = sh(*program.split(), env=env, cwd=folder, preexec_fn=calm).stdout
        empty_areas()
        runs.append({m[1]: float(m[2]) for m in re.finditer(r"^(\w+) ([-\d.]+)$", text, re.M)})
    return {name: statistics.median(r[name] for r in runs) for name in runs[0]}
