#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""record -f and -R: filters and triggers of the -e in front, of a program from its start, of a
process, of the kernel. The program counts its own writes."""
import os
import re
import subprocess

from cli_test import BIN, Beside, main, need, root, until

# 10 writes of 1, 2, 3 and 4 bytes each; with a word, the same again in a program that it executes.
WRITES = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void writes(int fd)
{
	for (int i = 0; i < 40; i++)
		if (write(fd, "abcd", i % 4 + 1) < 0)
			_exit(3);
}
int main(int argc, char **argv)
{
	int fd = open("/dev/null", O_WRONLY);
	char line[16];

	if (argc > 1 && !strcmp(argv[1], "obeys")) {
		puts("ready");
		fflush(stdout);
		while (fgets(line, sizeof(line), stdin)) {
			writes(fd);
			puts("done");
			fflush(stdout);
		}
		return 0;
	}
	writes(fd);
	if (argc > 1)
		execl(argv[0], argv[0], NULL);
	return 0;
}
"""
EVENT = "syscalls:sys_enter_write"
TRACING = "/sys/kernel/tracing"


def counts(w, name="trace.dat", kernel=False):
    """The `count` of each recorded write."""
    text = w.run("report", name).stdout.decode()
    return [int(m[2], 16) for m in re.finditer(r"^(kernel:)?.*sys_enter_write:.*count: (?:0x)?([0-9a-f]+)", text, re.M)
            if bool(m[1]) == kernel]


def records(w, *flags, prog=(), **kw):
    w.run("record", "-q", *flags, "--", w.path("writes"), *prog, **kw)


def refused(w, *flags, prog=("--", "./writes")):
    """The error; no file is left."""
    p = w.run("record", "-q", "-o", "refused.dat", *flags, *prog, status=125)
    assert not os.path.exists(w.path("refused.dat"))
    if "-P" not in flags:
        w.nothing_left()
    return p.stderr.decode()


def test_filter(w):
    w.compile("writes", WRITES)
    records(w, "-e", EVENT, "-f", "count == 3")
    assert counts(w) == [3] * 10, counts(w)
    # each -e has its own, several of one are joined, and quotes and percent signs arrive
    records(w, "-e", EVENT, "-f", "count > 1", "-f", "count < 4", "-e", "syscalls:sys_exit_write")
    assert counts(w) == [2, 3] * 10, counts(w)
    text = w.run("report").stdout.decode()
    assert text.count("sys_exit_write:") == 40, text.count("sys_exit_write:")
    records(w, "-e", EVENT, "-f", 'common_comm == "writes" && common_comm != "a%22b%" && count == 1')
    assert counts(w) == [1] * 10, counts(w)
    # all of a system that are named, and a list
    records(w, "-e", "all", "-f", "common_pid == 0")
    assert not counts(w) and "sys_exit_write:" not in w.run("report").stdout.decode()
    records(w, "-e", "sys_enter_read,sys_enter_write", "-f", "count == 2")
    assert counts(w) == [2] * 10, counts(w)
    # globs: of the name, of both parts, of the system; and with a filter
    def named(*flags):
        records(w, *flags)
        return set(re.findall(r"(sys_\w+write\w*|signal_\w+):", w.run("report").stdout.decode()))

    assert named("-e", "sys_*_write") == named("-e", "sysc*:sys_*_wr[i]te") == {"sys_enter_write", "sys_exit_write"}
    assert named("-e", "sys_exit_writ?") == {"sys_exit_write"} and {"sys_enter_write", "sys_exit_write"} <= named("-e", "sysc*")
    assert {"sys_enter_write", "sys_exit_write"} <= named("-e", "*")
    records(w, "-e", "sys_enter_wr?te", "-f", "count == 4")
    assert counts(w) == [4] * 10, counts(w)
    assert b"has no event nosuch*" in w.run("record", "-q", "-e", "nosuch*", "--", w.path("writes")).stderr
    # the calls of the program, and one that it executes
    records(w, "-p", "function", "-e", EVENT, "-f", "count == 4", prog=("again",))
    assert counts(w) == [4] * 20, counts(w)


def test_trigger(w):
    w.compile("writes", WRITES)
    records(w, "-e", EVENT, "-R", "traceoff if count == 4")
    assert counts(w) == [1, 2, 3, 4], counts(w)
    records(w, "-e", EVENT, "-f", "count == 3", "-R", "stacktrace:2 if count == 3")
    text = w.run("report").stdout.decode()
    assert counts(w) == [3] * 10 and text.count("kernel_stack:") == 2, text
    # filters of one -e are joined, also around a trigger
    records(w, "-e", EVENT, "-f", "count > 1", "-R", "stacktrace:2 if count == 3", "-f", "count < 4")
    assert set(counts(w)) == {2, 3}, counts(w)
    # alone: the event is not recorded
    records(w, "-e", "syscalls:sys_exit_write", "-v", "-e", EVENT, "-R", "traceoff if count == 4")
    text = w.run("report").stdout.decode()
    assert not counts(w) and text.count("sys_exit_write:") == 3, text


def test_refused(w):
    w.compile("writes", WRITES)
    told = refused(w, "-e", EVENT, "-f", "count == 3 && nosuch < 4")
    assert told == (f"vestige: -f of {EVENT}: Invalid argument: Field not found\n  count == 3 && nosuch < 4\n" + " " * 23 + "^\n"), told
    told = refused(w, "-e", EVENT, "-R", "hist:keys=nosuch")
    assert told == f"vestige: -R of {EVENT}: Invalid argument: Couldn't find field\n  hist:keys=nosuch\n            ^\n", told
    told = refused(w, "-e", EVENT, "-R", "nosuch")
    assert f"-R 'nosuch': {EVENT} refuses it: Invalid argument; vestige-events(7) has the triggers" in told, told
    for flag in "-f", "-R":
        assert "it must come after its -e" in refused(w, flag, "count == 3", "-e", EVENT)
    assert "behind -v" in refused(w, "-e", "sched", "-v", "-e", EVENT, "-f", "count == 3")
    assert "not a line of text" in refused(w, "-e", EVENT, "-f", "a\nb")


def test_of_a_process(w):
    w.compile("writes", WRITES)
    with Beside(w, w.path("writes"), "obeys", env=dict(w.env, LD_PRELOAD=os.path.join(os.path.dirname(BIN), "libvestige.so")),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        p.is_ready()
        files = [f"events/{EVENT.replace(':', '/')}/{name}" for name in ("filter", "trigger", "enable")]
        before = [w.run("get", "-P", p.pid, f).stdout for f in files]
        told = refused(w, "-P", p.pid, "-e", EVENT, "-f", "nosuch < 4", prog=())
        assert told.endswith("Field not found\n  nosuch < 4\n         ^\n"), told
        assert before == [w.run("get", "-P", p.pid, f).stdout for f in files]
        with Beside(w, BIN, "record", "-P", p.pid, "-e", EVENT, "-f", "count == 3", "-R", "stacktrace:1", stderr=subprocess.PIPE,
                    text=True) as r:
            assert r.p.stderr.readline().startswith("Hit Ctrl-C")
            p.p.stdin.write("go\n")
            p.p.stdin.flush()
            assert p.p.stdout.readline() == "done\n"
            r.p.send_signal(2)
            assert r.p.wait(60) == 0, r.p.stderr.read()
        assert counts(w) == [3] * 10, counts(w)
        assert before == [w.run("get", "-P", p.pid, f).stdout for f in files]
        # a filter of somebody else stays
        w.run("set", "-P", p.pid, files[0], "count == 1")
        assert "has a filter in" in refused(w, "-P", p.pid, "-e", EVENT, "-f", "count == 3", prog=())
        assert w.run("get", "-P", p.pid, files[0]).stdout == b"count == 1\n"
        w.run("set", "-P", p.pid, files[0], "0")
        # so does a trigger, and what was written before the refusal is taken back
        w.run("set", "-P", p.pid, "-a", files[1], "stacktrace:7")
        mine = [w.run("get", "-P", p.pid, f).stdout for f in files]
        for way in (), ("--flight", "1s", "--on", "signal:SIGUSR1"):
            told = refused(w, "-P", p.pid, *way, "-e", EVENT, "-f", "count == 3", "-R", "stacktrace:1", prog=())
            assert "already" in told and mine == [w.run("get", "-P", p.pid, f).stdout for f in files], told
    until(lambda: w.run("clean").returncode == 0)


def test_of_the_kernel(w):
    root()
    need("trace-cmd")
    w.compile("writes", WRITES)
    records(w, "-k", "-F", "-e", EVENT, "-f", "count == 3", "-e", f"prog:{EVENT}", "-f", "count == 2")
    assert counts(w) == [2] * 10 and counts(w, kernel=True) == [3] * 10, (counts(w), counts(w, kernel=True))
    told = refused(w, "-k", "-e", "sched_switch", "-f", "prev_pio < 3")
    assert told.startswith("vestige: -f of sched:sched_switch: Invalid argument: Field not found\n  prev_pio < 3\n"), told
    told = refused(w, "-k", "-e", "sched_swich", "-f", "prev_pio < 3")
    assert "did you mean sched_switch?" in told, told
    assert not [n for n in os.listdir(f"{TRACING}/instances") if n == f"vestige.{os.getpid()}"]



def test_did_you_mean(w):
    """A function, tracer or option that is nearly one's name: the refusal names it."""
    for args, said in ((("-l", "mdi"), "matches mdi: did you mean mid?"), (("-g", "mian"), "did you mean main?"), (("-n", "laef"), "did you mean leaf?"),
                       (("-O", "funcgraph-tial"), "did you mean funcgraph-tail?"), (("-p", "function_grap"), "did you mean function_graph?")):
        err = w.run("record", "-q", "-p", "function_graph", *args, "--", w.prog, status=125).stderr.decode()
        assert said in err and err.count("\n") == 1, (args, err)
    assert "did you mean" not in w.run("record", "-q", "-l", "xyzzy", "--", w.prog, status=125).stderr.decode()


main(globals())
