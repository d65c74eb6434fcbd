#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige top: rates, times and self times of a program that knows them, counts against callgrind,
events, the screen, and no settings left after the end, Ctrl-C and a kill."""
import json
import os
import pty
import re
import select
import shutil
import subprocess

from cli_test import BIN, LIBRARY, Skip, main, root, running, until

TARGETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "targets")
INCLUDE = os.path.join(TARGETS, "..", "..", "include")


def timed(w):
    with open(os.path.join(TARGETS, "timed.c")) as f:
        return w.compile("timed", f.read(), "-O2", "-I" + TARGETS, "-I" + INCLUDE)


def get(w, pid, file):
    return w.run("get", "-P", pid, file).stdout.decode()


def rows(line):
    return {r["name"]: r for r in json.loads(line)["rows"]}


def callgrind(w, arg):
    """Calls by function, by callgrind."""
    subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=out", "--compress-strings=no", timed(w), arg],
                   cwd=w.dir, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    counted = {}
    with open(w.path("out")) as f:
        for callee, calls in re.findall(r"^cfn=(known_\S+)\ncalls=(\d+)", f.read(), re.M):
            counted[callee] = counted.get(callee, 0) + int(calls)
    return counted


def test_known_durations(w):
    """The times of a program that measures them itself: all its calls are in the tables."""
    go = w.path("go")
    os.mkfifo(go)
    with open(os.path.join(TARGETS, "timed.c")) as f:
        text = f.read()
    # it waits for the word, and for its end to be seen
    text = text.replace("const char *arg = argc > 1", 'fclose(fopen("go", "r"));\n\tconst char *arg = argc > 1', 1)
    text = text.replace("return 0;\n}", 'fflush(stdout);\n\tfclose(fopen("go", "r"));\n\treturn 0;\n}')
    prog = w.compile("timed", text, "-O2", "-I" + TARGETS, "-I" + INCLUDE)
    p = subprocess.Popen([prog, "100c"], env=dict(w.env, LD_PRELOAD=LIBRARY), stdout=subprocess.PIPE, cwd=w.dir)
    until(lambda: any(n.startswith(f"{p.pid}.") and n.endswith(".sock") for n in os.listdir(w.areas)))
    top = subprocess.Popen([BIN, "top", "-P", str(p.pid), "--json", "-d", "0.2"], env=w.env, stdout=subprocess.PIPE)
    assert rows(top.stdout.readline()) == {}
    open(go, "w").close()
    rounds, inner, outer = map(int, p.stdout.readline().split())
    sums = {}
    while sums.get("known_quick", [0])[0] < 100 * rounds:
        for name, r in rows(top.stdout.readline()).items():
            s = sums.setdefault(name, [0, 0, 0])
            s[0] += r["calls"]
            s[1] += r["total_ns"]
            s[2] += r["self_ns"]
            s[3:] = [r["p50_ns"], r["max_ns"]]
    open(go, "w").close()
    assert p.wait() == 0
    top.stdout.read()
    assert top.wait() == 0
    counted = callgrind(w, f"{rounds}c") if shutil.which("valgrind") else {n: s[0] for n, s in sums.items()}
    assert counted == {n: s[0] for n, s in sums.items()}, (counted, sums)
    assert {n: s[0] for n, s in sums.items()} == {"known_outer": rounds, "known_inner": 2 * rounds,
                                                   "known_quick": 100 * rounds}, sums
    # what a function measures lies inside its call: a millisecond of preemption a hundred times is
    # allowed for
    for name, at, ns in (("known_inner", 1, inner), ("known_inner", 2, inner), ("known_outer", 2, outer),
                         ("known_outer", 1, inner + outer)):
        assert ns <= sums[name][at] * 1.0001 and sums[name][at] <= ns * 1.02 + 100e6, (name, at, ns, sums)
    assert sums["known_inner"][3] >= 1e6 * 0.97 and sums["known_inner"][4] >= 1e6, sums
    w.run("clean")


def test_events_and_filter(w):
    prog = timed(w)
    with running(w, prog, "60") as p:
        before = get(w, p.pid, "set_ftrace_filter")
        out = w.run("top", "-P", p.pid, "-n", 2, "-d", "0.3", "-e", "sched_switch", "-l", "known_quick", "--json").stdout
        for line in out.splitlines():
            r = rows(line)
            assert set(r) <= {"known_quick", "sched:sched_switch"}, r
        assert r["known_quick"]["calls"] > 0, r
        assert get(w, p.pid, "set_ftrace_filter") == before
        assert get(w, p.pid, "function_profile_enabled") == "0\n"
        assert b"top-" not in w.run("ls").stdout
        # who had it on keeps it
        w.run("set", "-P", p.pid, "function_profile_enabled", "1")
        text = w.run("top", "-P", p.pid, "-n", 1, "-d", "0.2", "-s", "rate").stdout.decode()
        assert text.splitlines()[1].endswith("known_quick [timed]"), text
        assert get(w, p.pid, "function_profile_enabled") == "1\n"


def test_errors(w):
    prog = timed(w)
    with running(w, prog, "60") as p:
        for words, text in ((["-e", "no_such_event"], "there is no event no_such_event"),
                            (["-e", "sched_swich"], "did you mean sched_switch?"),
                            (["-l", "no_such_function"], "no_such_function"), (["-P", 999999999], "999999999")):
            err = w.run("top", *(words if "-P" in words else ["-P", p.pid, *words]), "-n", 1, "-d", "0.1", status=1).stderr
            assert text in err.decode(), err
        assert get(w, p.pid, "function_profile_enabled") == "0\n"
        for words in (["-s", "size"], ["-d", "0"], ["-d", "x"], ["-n", "0"], ["word"]):
            assert w.run("top", *words, status=2).stderr.count(b"\n") == 1


def test_screen(w):
    """Keys on a pseudo-terminal; Ctrl-C puts all back."""
    prog = timed(w)
    with running(w, prog, "60") as p:
        pid, fd = pty.fork()
        if not pid:
            os.execve(BIN, [BIN, "top", "-P", str(p.pid), "-d", "1", "-l", "known_*"], dict(w.env, TERM="xterm"))
        seen = bytearray()

        def see(text):
            def seen_now():
                if text in seen:
                    return True
                if not select.select([fd], [], [], 0.3)[0]:
                    os.write(fd, b"\x0c")   # Ctrl-L: curses sends only what differs
                else:
                    try:
                        seen.extend(os.read(fd, 65536))
                    except OSError:
                        raise AssertionError(f"it ended: {bytes(seen[-2000:])}")
                return text in seen
            until(seen_now, lambda: (text, bytes(seen[-2000:])), 60, step=0)

        see(b" by total")
        see(b"known_outer")
        for key, text in ((b"r", b"by rate"), (b"f", b"filter off"), (b"/", b"names with"), (b"quick\n", b"with: quick"), (b"5", b"by p50")):
            seen.clear()
            os.write(fd, key + (b"" if text == b"names with" else b"\x0c"))
            see(text)
        assert get(w, p.pid, "function_profile_enabled") == "1\n"
        os.write(fd, b"\x03")
        while True:
            try:
                if not os.read(fd, 65536):
                    break
            except OSError:
                break
        assert os.waitpid(pid, 0)[1] == 0
        os.close(fd)
        assert get(w, p.pid, "function_profile_enabled") == "0\n"
        assert "all functions" in get(w, p.pid, "set_ftrace_filter")


BETWEEN = r"""
#include <unistd.h>
volatile long sum;
__attribute__((noipa)) void NAME(void) { sum++; }
int main(int argc, char **argv)
{
	char c;
	write(1, "ready\n", 6);
	while (read(0, &c, 1) == 1 && c == 'x')
		NAME();
	if (argc > 1)
		execl(argv[1], argv[1], NULL);
	return 0;
}
"""


def test_another_program(w):
    """The functions of a program that a member of a session executes have their own names."""
    for name in "first", "second":
        w.compile(name, BETWEEN.replace("NAME", f"of_the_{name}"))
    env = dict(w.env, VESTIGE_BOOT="")
    with subprocess.Popen([BIN, "run", "both", "--", "./first", "./second"], cwd=w.dir, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        with subprocess.Popen([BIN, "top", "--session", "both", "-d", "0.2", "-n", "10000", "--json"], env=w.env, stdout=subprocess.PIPE) as top:
            try:
                for name, byte in (("first", b"x"), ("second", b"x")):
                    seen, nr = {}, 0
                    while not seen.get(f"of_the_{name}"):
                        nr += 1
                        assert nr < 100, (name, seen)
                        p.stdin.write(byte)
                        p.stdin.flush()
                        line = top.stdout.readline()
                        assert line, name
                        seen = {n: r["calls"] for n, r in rows(line).items() if r["calls"]}
                        assert name == "first" or p.poll() is None
                    if name == "first":
                        p.stdin.write(b"y")
                        p.stdin.flush()
            finally:
                top.kill()
        p.stdin.close()
        p.wait()
    w.run("clean")


def test_killed(w):
    """vestige clean puts back what a killed top has changed; not while it lives."""
    prog = timed(w)
    with running(w, prog, "60") as p:
        w.run("set", "-P", p.pid, "set_ftrace_filter", "known_inner")
        top = subprocess.Popen([BIN, "top", "-P", str(p.pid), "-d", "0.1", "-l", "known_quick", "-e", "sched_switch", "-n", "1000"],
                               env=w.env, stdout=subprocess.PIPE)
        top.stdout.readline()
        assert b"restored" not in w.run("clean").stdout
        assert "known_quick" in get(w, p.pid, "set_ftrace_filter")
        top.kill()
        top.wait()
        top.stdout.close()
        assert b"would restore function_profile_enabled" in w.run("clean", "-n").stdout
        out = w.run("clean").stdout.decode()
        assert "restored set_ftrace_filter" in out and "restored top-" in out, out
        assert get(w, p.pid, "function_profile_enabled") == "0\n"
        assert get(w, p.pid, "set_ftrace_filter") == "known_inner\n"
        assert b"restored" not in w.run("clean").stdout


def test_kernel(w):
    """The kernel's events, in instances that are removed."""
    root()
    if w.run("get", "-k", "available_events", status=None).returncode:
        raise Skip("no tracefs")
    out = w.run("top", "-k", "-e", "sched:sched_switch", "-n", 2, "-d", "0.3", "--json").stdout
    r = rows(out.splitlines()[-1])
    assert r["sched:sched_switch"]["calls"] > 0 and r["sched:sched_switch"]["p50_ns"] is None, r
    # a `vestige top -k` that runs at the same time has its own
    left = [n for n in os.listdir("/sys/kernel/tracing/instances") if n.startswith("top-") and not os.path.exists(f"/proc/{n[4:]}")] \
        if os.path.isdir("/sys/kernel/tracing/instances") else []
    assert left == [], left


if __name__ == "__main__":
    main(globals())
