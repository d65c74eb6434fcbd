#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The page of `vestige view`: web/dist is what esbuild makes of web/src, and page.mjs uses it in a
browser."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tests/cli"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_test import Skip, main, need  # noqa: E402
from test_view import PROGRAM, server  # noqa: E402
from test_view_guest import files as guest_files  # noqa: E402
from web_packages import WEB, Missing, node_modules  # noqa: E402

# its threads wait for a lock
LOCKING = PROGRAM.replace("volatile long sum;", "volatile long sum;\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;").replace(
    "sum += fib(4 + i % 6); usleep(100);", "pthread_mutex_lock(&m); sum += fib(4 + i % 6); usleep(300); pthread_mutex_unlock(&m);")
# each burst of calls is more than a small ring holds, which is emptied between them
FULL = """#include <unistd.h>
__attribute__((noipa)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { int sum = 0; for (int i = 0; i < 40; i++) { sum += fib(18); usleep(10000); } return sum == 0; }
"""
SOURCE = os.environ["SOURCE_DIR"]
ONLY = os.environ.get("PAGE_TESTS", "").split()  # of page.mjs


def packages():
    need("node")
    need("npm")
    try:
        return node_modules()
    except Missing as e:
        raise Skip(str(e)) from e


def test_bundle(w):
    """The types are right, and the script in the repository is built from the repository's
    sources."""
    modules = packages()
    shutil.copytree(os.path.join(WEB, "src"), w.path("src"))
    shutil.copy(os.path.join(WEB, "tsconfig.json"), w.dir)
    shutil.copy(os.path.join(WEB, "package.json"), w.dir)
    os.symlink(modules, w.path("node_modules"))
    subprocess.run([f"{modules}/.bin/tsc", "--preserveSymlinks", "--noEmit", "-p", "."], cwd=w.dir, check=True)
    # the paths in its comments begin in the package's folder
    subprocess.run(["npm", "run", "--silent", "bundle", "--", "--preserve-symlinks"], cwd=w.dir, check=True)
    with open(w.path("dist/view.js"), "rb") as made, open(f"{WEB}/dist/view.js", "rb") as kept:
        assert made.read() == kept.read(), "tools/view/web/dist/view.js is not what npm run bundle makes of src"
    with open(f"{modules}/preact/LICENSE", "rb") as theirs, open(f"{WEB}/dist/LICENSE-preact", "rb") as kept:
        assert theirs.read() == kept.read()


def gaps(w):
    """A recording whose ring was too small: lost.html. Return: (CPU, number) of the gaps as
    `report` has them, before calls and before events; and how many records were lost behind a CPU's
    last one, which `report` does not have: of all that `record` counts."""
    w.compile("full", FULL, "-g")
    said = w.run("record", "-O", "nooverwrite", "-b", "64", "-p", "function_graph", "-e", "sched", "-o", "lost.dat", "--", w.path("full"))
    w.run("view", "--html", "lost.html", "lost.dat")
    text = w.run("report", "-i", "lost.dat").stdout.decode()
    found = sorted((int(m[1]), int(m[2])) for m in re.finditer(r"^CPU:(\d+) \[(\d+) EVENTS DROPPED\]$", text, re.M))
    assert found, text[-2000:]
    lost = int(re.search(r"^lost.dat: \d+ records in .*, (\d+) lost$", said.stderr.decode(), re.M)[1])
    return found, lost - sum(nr for _, nr in found)


def test_page(w):
    modules = packages()
    chromium = shutil.which("chromium")
    if not chromium:
        raise Skip("no chromium")
    prog = w.compile("p", LOCKING, "-g")
    w.run("record", "-q", "-p", "function_graph", "-e", "sched", "-e", "lock", "-o", "t.dat", "--", prog)
    w.run("view", "--html", "t.html", "t.dat")
    env = dict(w.env, HOME=w.dir, XDG_CONFIG_HOME=w.dir, XDG_CACHE_HOME=w.dir)
    w.compile("few", LOCKING.replace("i < 20", "i < 5"), "-g")
    w.run("record", "-q", "-p", "function_graph", "-o", "few.dat", "--", w.path("few"))
    w.run("view", "--align", "--html", "two.html", "t.dat", "few.dat")
    guest_files(w, [[0, 26346], [1, 2440]])
    w.run("view", "--html", "guests.html", "host.dat", "guest.dat")
    expected, at_end = gaps(w)
    pages = [w.path("t.html"), "%", w.path("two.html"), w.path("guests.html"), w.path("lost.html")]
    with server(w, "t.dat") as c:
        pages[1] = c.path
        p = subprocess.run(["node", os.path.join(SOURCE, "tests/view/page.mjs"), modules, chromium, *pages, *ONLY], env=env,
                           cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=550, check=False)
    assert p.returncode == 0 and "ok " in p.stdout, p.stdout[-5000:]
    for found in re.findall(r"^lost (.*)$", p.stdout, re.M):
        shown = sorted((cpu, nr) for _, cpu, nr in json.loads(found))
        rest = Counter(shown) - Counter(expected)
        assert not Counter(expected) - Counter(shown), (shown, expected)
        assert sum(nr * n for (_, nr), n in rest.items()) == at_end and len({cpu for cpu, _ in rest}) == rest.total(), (rest, at_end)
    if ONLY:
        return
    check_cut(w, next(line for line in p.stdout.splitlines() if line.startswith("command ")).split(" ", 1)[1])


def check_cut(w, line):
    """The command that the page shows writes the records of the chosen call, from its entry to its
    exit."""
    words = shlex.split(line)
    assert words[0] == "vestige"
    w.run(*words[1:])
    begin, end = words[-2:]

    def lines(path):
        text = w.run("report", "-t", "-i", path).stdout.decode()
        found = [m for m in re.finditer(r"^ *(\S+) .* ([0-9]+\.[0-9]{9}): .*$", text, re.M) if begin <= m[2] <= end]
        return [m[0] for m in found if m[1] == found[0][1]]

    part = lines("a b.dat.1")
    assert part == lines("t.dat") and part[0].endswith("thread() {") and len(part) > 2, part[:5]


if __name__ == "__main__":
    main(globals())
