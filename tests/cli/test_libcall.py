#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""record --libcall records the calls of a program into its libraries with the arguments that ltrace
shows."""
import os
import re
import shutil
import subprocess

from cli_test import compiled, main, need, until
from test_attach_functions import Program

CALLS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int n, char **a)
{
	static char text[100];
	char name[64] = "";
	long k;
	int fd = open("/etc/passwd", O_RDONLY), other = open((const char *)8, O_WRONLY);

	k = read(fd, name, 4);
	close(fd);
	memset(text, 'y', sizeof(text) - 1);
	setenv("NAME", text, 1);
	for (int i = 0; i < 3 * n; i++)
		free(strdup(getenv("NAME")));
	puts("said");
	return k != 4 || other != -1 || a[n];
}
"""

LIBRARY = "#include <unistd.h>\nint mine(const char *s) { return access(s, 4); }\n"
USER = "int mine(const char *); int main(void) { return mine(\"/nowhere\") != -1; }\n"

WAITS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <poll.h>
int main(void)
{
	long n = 0;

	puts("ready");
	fflush(stdout);
	while (!poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, 1))
		n += getenv("HOME") == NULL;
	printf("n %ld\n", n);
	return 0;
}
"""

BUILDS = [("gcc", []), ("gcc", ["-fpatchable-function-entry=6"]), ("gcc", ["-no-pie", "-fno-pie"]),
          ("gcc", ["-fcf-protection=full", "-Wl,-z,ibtplt"]), ("gcc", ["-Wl,-z,now"]), ("clang", ["-fuse-ld=lld"])]


def write(w, name, text):
    with open(w.path(name), "w", encoding="utf-8") as f:
        f.write(text)


def calls(w, name="trace.dat"):
    """[(function, its arguments)] in their order."""
    out = w.run("report", name).stdout.decode()
    # (what the start files call is not the program's)
    return [(m[1], m[2]) for m in re.finditer(r"^ .*: (\w+): +\([0-9a-f]+\) ?(.*)$", out, re.M)
            if not m[1].startswith("__")]


def by_ltrace(w, program):
    p = subprocess.run(["ltrace", "-s", "200", "-o", "ltrace.txt", program], cwd=w.dir, stdout=subprocess.PIPE, check=False)
    with open(w.path("ltrace.txt"), encoding="utf-8") as f:
        return p, [m[1] for m in re.finditer(r"^(\w+)\(", f.read(), re.M) if not m[1].startswith("__")]


def test_ltrace(w):
    """Calls and their order are ltrace's for every way of building. Strings are whole, cut, or a
    fault."""
    need("ltrace")
    write(w, "calls.c", CALLS)
    right = None
    for n, (compiler, flags) in enumerate(BUILDS):
        if compiler == "clang" and not (shutil.which("clang") and shutil.which("ld.lld")):
            continue
        compiled([compiler, "-O1", "-fno-builtin", *flags, "calls.c"], f"calls{n}", cwd=w.dir)
        plain, expected = by_ltrace(w, f"./calls{n}")
        right = right or expected
        # it sees the first call alone of each function where stubs begin with endbr64
        assert plain.returncode == 0 and (expected == right or set(expected) == set(right)), (flags, expected)
        assert right.count("strdup") == 3, right
        p = w.run("record", "-q", "--libcall", "-p", "nop", f"./calls{n}")
        assert p.stdout == plain.stdout == b"said\n", p
        seen = calls(w)
        assert [name for name, _ in seen] == right, (flags, seen, right)
        args = dict(seen[:3] + seen[-6:])
        assert seen[0][1].startswith('path="/etc/passwd" flags=0x0 '), seen[0]
        assert seen[1][1].startswith('path=(fault) flags=0x1') or seen[1][1].startswith('path="(fault)" flags=0x1'), seen[1]
        assert args["puts"] == 'text="said"' and args["getenv"] == 'name="NAME"', args
        assert args["strdup"] == 'text="' + 63 * "y" + '"', args
        assert re.match(r"fd=3 to=0x[0-9a-f]+ bytes=4$", args["read"]), args
    w.nothing_left()


def test_graph(w):
    """The graph shows library calls, which are events, within the calls that made them."""
    write(w, "calls.c", CALLS)
    compiled(["gcc", "-O1", "-fno-builtin", "-fpatchable-function-entry=6", "calls.c"], "calls", cwd=w.dir)
    w.run("record", "-q", "--libcall", "-p", "function_graph", "./calls")
    lines = w.run("report", "--format=trace").stdout.decode().splitlines()
    begin = next(i for i, line in enumerate(lines) if "main() {" in line)
    end = next(i for i, line in enumerate(lines) if i > begin and line.endswith("|  }"))
    said = [m[1] for m in (re.search(r"/\* (\w+): \(\w+@plt\+\S+\)", line) for line in lines[begin:end]) if m]
    assert said[:4] == ["open", "open", "read", "close"] and said[-1] == "puts", lines


def test_library(w):
    """Calls of the program's own libraries are recorded, too, and calls of the system's are not."""
    write(w, "mine.c", LIBRARY)
    write(w, "user.c", USER)
    compiled(["gcc", "-O1", "-shared", "-fPIC", "mine.c"], "libmine.so", cwd=w.dir)
    compiled(["gcc", "-O1", "user.c", "-L.", "-lmine", "-Wl,-rpath," + w.dir], "user", cwd=w.dir)
    w.run("record", "-q", "--libcall", "-p", "nop", "./user")
    assert calls(w) == [("mine", ""), ("access", 'path="/nowhere" mode=0x4')], calls(w)


def test_running(w):
    """Calls of a running process are recorded, and the process is as before afterwards."""
    write(w, "waits.c", WAITS)
    compiled(["gcc", "-O1", "waits.c"], "waits", cwd=w.dir)
    with Program(w, "./waits") as p:
        w.run("attach", p.pid)
        with subprocess.Popen([os.environ["VESTIGE_BIN"], "record", "-q", "--libcall", "-p", "nop", "-P", str(p.pid)],
                              cwd=w.dir, env=w.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as r:
            until(lambda: re.search(r"getenv +[1-9]", w.run("get", "-P", p.pid, "uprobe_profile").stdout.decode()))
            r.send_signal(2)
            assert r.wait(60) == 0, r.stderr.read()
        seen = calls(w)
        assert ("getenv", 'name="HOME"') in seen and {name for name, _ in seen} == {"poll", "getenv"}, seen[:9]
        for name in "dynamic_events", "set_event":
            assert w.run("get", "-P", p.pid, name).stdout == b"", name
        status, out = p.end()
        assert status == 0 and re.fullmatch(r"n \d+\n", out), (status, out)
    w.run("clean")


def test_refused(w):
    """Impossible requests get an error that names the remedy."""
    write(w, "calls.c", CALLS)
    compiled(["gcc", "-O1", "-fno-builtin", "-fno-plt", "calls.c"], "without", cwd=w.dir)
    compiled(["gcc", "-O1", "calls.c"], "a b", cwd=w.dir)
    err = w.run("record", "--libcall", "-p", "nop", "./without", status=125).stderr.decode()
    assert "without" in err and "-fno-plt" in err, err
    err = w.run("record", "--libcall", "-p", "nop", "./a b", status=125).stderr.decode()
    assert "blank" in err and "link" in err, err
    w.nothing_left()


if __name__ == "__main__":
    raise SystemExit(main(globals()))
