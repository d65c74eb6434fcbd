#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The pages of docs/, and README.md: the blocks ```sh of a page are one session of a shell, in a
folder with the programs that pages name. A block of text behind such a block is its output: most of
its lines, less numbers, are in what was printed. A block that cannot be run here has a comment in
front of it: <!-- not run: REASON -->."""
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess

from cli_test import LIBRARY, Skip, World, compiled, main
from examples import PROGRAM, SOURCE, missing, prepare, tool

# a page, and programs of Debian's without which it says nothing
NEEDS = {"start-up": "nginx", "production": "nginx curl sqlite3", "events": "sqlite3"}
# pages that show the longest time of some seconds: on a busy machine it may be another thread's, so
# these pages get more tries
LONGEST = {"latency"}
BLOCK = re.compile(r"(?:^<!-- not run: ([^\n]*) -->\n)?^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n|\n((?: {4}[^\n]*\n|\n(?= {4}))+))?",
                   re.S | re.M)
COMMAND = re.compile(r"^(?: {4}|)(?:[$#] )?(?:sudo )?(?:LD_PRELOAD=\S+ )?(?:vestige|make|gcc|g\+\+|trace-cmd|uftrace) [^|:]*$", re.M)
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def pages():
    return {"readme" if path.endswith("/README.md") else os.path.basename(path)[:-3]: path
            for path in [*sorted(glob.glob(SOURCE + "/docs/[a-z]*.md")), SOURCE + "/README.md"]}


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def shape(line):
    """A line of output less what differs from run to run: numbers, units, spaces."""
    line = re.sub(r"0x[0-9a-f]+|\d+(?:[.,]\d+)*", "#", line)
    return re.sub(r"\s+", " ", re.sub(r"# ?(?:ns|us|ms|s|KB|MB|KiB|MiB)\b", "#", line)).strip()


def same_output(shown, printed):
    """The shown lines that are not in what was printed, if these are many."""
    have = {shape(line) for line in printed.splitlines()}
    lines = [line for line in shown.splitlines() if shape(line).strip(".# ")]
    lost = [line for line in lines if shape(line) not in have]
    return lost if len(lost) * 2 > len(lines) else []


def session(page):
    """The page's blocks as one script; the shown output of each."""
    script, shown = ["set -eo pipefail", "trap 'kill $(jobs -p) 2>/dev/null || :; wait || :' EXIT"], []
    for why, block, fenced, indented in BLOCK.findall(text_of(pages()[page])):
        lines = []
        for line in block.splitlines():
            lacks = why or missing(line)
            if lacks:
                print(f"     left out of {page}: {line.strip()}: {lacks}")
            else:
                lines.append(line)
        if lines:
            script += [f"printf '\\n@@{len(shown)}\\n'", *lines]
            shown.append((block, fenced or indented))
    return "\n".join(script) + "\n", shown


class OtherOutput(AssertionError):
    pass


def run_page(w, page):
    script, shown = session(page)
    prepare(w, w.compile("example", PROGRAM, "-g"))
    for path in glob.glob(SOURCE + "/docs/examples/shop/*"):
        shutil.copy(path, w.dir)
    # one that reads all: behind the usual one the command ends by SIGPIPE, now and then
    tool(w, "head", 'n=${1#-}; shift; exec sed -n "1,${n}p" "$@"')
    if "./shop" in script:
        compiled(["cc", "-O2", "-g", "-fpatchable-function-entry=6", "-I", ".", "-I", SOURCE + "/include", "shop.c", "-pthread"],
                 "shop", cwd=w.dir)
    env = dict(w.env, PATH=w.path("bin") + ":" + PATH, HOME=w.dir, CPATH=SOURCE + "/include",
               LD_LIBRARY_PATH=os.path.dirname(LIBRARY))
    with open(w.path("printed"), "w+", encoding="utf-8", errors="replace") as out, \
            subprocess.Popen(["bash", "-c", script], cwd=w.dir, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                             start_new_session=True) as p:
        try:
            status = p.wait(500)
        finally:
            # a program that the page has left running
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        out.seek(0)
        printed = dict((int(n), text) for n, text in re.findall(r"^@@(\d+)\n(.*?)(?=^@@\d+\n|\Z)", out.read(), re.S | re.M))
    w.run("clean")
    for path in (w.areas + "/kept", w.path("trace.dat.spool.1234")):
        if os.path.exists(path):
            os.unlink(path)
    if os.environ.get("VESTIGE_TEST_SHOW"):
        for n, (block, _) in enumerate(shown):
            print(f"```sh\n{block}```\n{printed.get(n, '')}")
    last = max(printed, default=0)
    assert status == 0, f"{page}: status {status}\n{shown[last][0]}\n{printed.get(last, '')[-1500:]}"
    for n, (block, lines) in enumerate(shown):
        lost = same_output(lines, printed[n])
        if lost:
            raise OtherOutput(f"{page}: other output than shown\n{block}\nnot printed: " + "\n".join(lost) + f"\nprinted:\n{printed[n][-3000:]}")


def test_each_command_is_in_a_block_that_is_run(w):
    found = []
    for page, path in pages().items():
        # behind a ```sh block only its output follows
        rest = BLOCK.sub(lambda m: m[3] or m[4] or "", text_of(path))
        parts = re.findall(r"^```(?!c$|ini$)[^\n]*\n(.*?)^```|((?:^ {4}\S[^\n]*\n)+)", rest, re.S | re.M)
        for fenced, indented in parts:
            found += [f"{page}: {line.strip()}" for line in COMMAND.findall(fenced or indented)]
    assert not found, "\n".join(found)


def test_the_check_of_output_sees_another(w):
    printed = "# DURATION\n 1.5 ms main\n"
    assert not same_output("# DURATION\n  22.25 us main\n", printed)
    assert same_output("# DURATION\n  1.5 ms other\n  1.5 ms third\n", printed)


def test_first_example_has_names(w):
    """The first program that the README traces shows functions by name, and few by their place in a
    stripped program."""
    command = re.search(r"^vestige (.*?) +# its calls", text_of(pages()["readme"]), re.M)[1]
    program, *args = shlex.split(command)
    if not shutil.which(program, path=PATH):
        raise Skip(f"no {program}")
    calls = re.findall(r"\| +([\w.+:]+)\(\)", w.run(program, *args).stdout.decode())
    places = [name for name in calls if "+0x" in name]
    assert len(calls) > 100 and len(places) < len(calls) / 3, (len(calls), len(places), places[:5])


def page_test(page):
    def test(w):
        for program in NEEDS.get(page, "").split():
            if not shutil.which(program, path=PATH):
                raise Skip(f"no {program}")
        if page not in LONGEST:
            return run_page(w, page)
        for tries in range(4, -1, -1):
            own = World()
            try:
                return run_page(own, page)
            except OtherOutput as e:
                if not tries:
                    raise
                print(f"     once more: {e}")
            finally:
                own.remove()
    return test


only = os.environ.get("VESTIGE_TEST_PAGES", "").split()
for name in pages():
    if BLOCK.search(text_of(pages()[name])) and (not only or name in only):
        globals()["test_page_" + name.replace("-", "_")] = page_test(name)
main(globals())
