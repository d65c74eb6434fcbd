#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige record records all calls, leaves the program's input, output and status alone, and obeys
its flags."""
import os
import re
import signal
import subprocess
import time

from cli_test import BIN, CALLS, LIBRARY, Beside, main, need, python_env, until

# The program waits for a byte on stdin. Then it makes 200,000 calls, which are more than a small
# buffer holds.
BURST = r"""
#include <stdio.h>
#include <unistd.h>
#define FN __attribute__((noipa))
FN void leaf(void) {}
int main(void)
{
	char c;
	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) == 1)
		for (int i = 0; i < 200000; i++)
			leaf();
	puts("ready");
	fflush(stdout);
	return (int)read(0, &c, 1);
}
"""


def test_calls_are_counted_by_trace_cmd(w):
    need("trace-cmd")
    w.run("record", "-q", "--", w.prog, "calls", 1000)
    assert w.counts() == {"main": 1, "first": 1, "mid": 1000, "leaf": 2000, "last": 1}, w.counts()


def test_callers(w):
    w.run("record", "-q", "--", w.prog, "calls", 3)
    text = w.run("report", "--format=trace").stdout.decode()
    assert text.count("leaf <-mid") == 6 and text.count("mid <-main") == 3, text
    stamps = [float(s) for s in re.findall(r" (\d+\.\d{6}): ", text)]
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    assert stamps == sorted(stamps) and now - 60 < stamps[0] < now, (stamps[:3], now)


def test_version_6(w):
    need("trace-cmd")
    w.run("record", "-q", "--file-version", 6, "-o", "six.dat", w.prog, "calls", 10)
    with open(w.path("six.dat"), "rb") as f:
        assert f.read(12) == b"\x17\x08\x44tracing6\0"[:12]
    assert w.counts("six.dat")["leaf"] == 20


def test_status_and_signal(w):
    for status in (0, 1, 7, 125, 255):
        w.run("record", "-q", "--", w.prog, "exit", status, status=status)
    for sig in (6, 9, 11, 15):
        w.run("record", "-q", "--", w.prog, "die", sig, status=128 + sig)
        assert "raise" not in w.run("report", "--format=trace").stdout.decode()


def test_streams_pass(w):
    text = os.urandom(70000)
    p = w.run("record", "-q", "--", w.prog, "cat", input=text)
    assert p.stdout == text and p.stderr == b"", p.stderr


def test_statistics(w):
    p = w.run("record", "--stat", "--", w.prog, "calls", 100)
    assert w.stats(p.stderr, "entries") == w.stats(p.stderr, "read events") == 303, p.stderr
    assert w.stats(p.stderr, "bytes") == 303 * 16
    assert w.stats(p.stderr, "overrun") == w.stats(p.stderr, "dropped events") == 0
    assert re.search(rb"^oldest event ts: +\d+\.\d{6}\nnow ts: +\d+\.\d{6}$", p.stderr, re.M)


def test_summary(w):
    """Two lines at the end: the file, its records and losses, and the command that shows it."""
    for flags, shown in (([], "vestige report"), (["-p", "function_graph"], "vestige replay"),
                         (["-o", "an other.dat"], "vestige report 'an other.dat'"), (["--native", "-o", "n"], "vestige report n")):
        p = w.run("record", *flags, "--", w.prog, "calls", 100)
        lines = p.stderr.decode().splitlines()
        name = flags[-1] if "-o" in flags else "trace.dat"
        assert re.fullmatch(rf"{re.escape(name)}: (303|60[67]) records in \d+\.\d\d\d s, 0 lost", lines[0]), lines
        assert lines[1:] == [shown + " shows them"], lines
        w.run(*shown.replace("'", "").split(" ", 2)[1:])


def test_filters(w):
    need("trace-cmd")
    w.run("record", "-q", "-l", "l*", "-l", "mid", "-n", "last", "--", w.prog, "calls", 5)
    assert w.counts() == {"mid": 5, "leaf": 10}, w.counts()


def test_small_buffer_counts_dropped_records(w):
    p = w.run("record", "--stat", "-b", 64, "--", w.prog, "calls", 2000000)
    entries, dropped = w.stats(p.stderr, "entries"), w.stats(p.stderr, "dropped events")
    assert entries + dropped == 6000003, (entries, dropped)
    if dropped:
        assert b"enlarge it with -b" in p.stderr and b"-l or -n" in p.stderr, p.stderr


def lost(w, name):
    """What the commands say of the losses of a recording of one program: all the same."""
    with open(w.path("by_cpu.py"), "w", encoding="ascii") as f:
        f.write("def uftrace_entry(ctx):\n    pass\n")
    said = [w.run(*words, env=python_env(w)).stderr.decode() for words in (("replay", name), ("profile", name), ("graph", name), ("script", "-i", name, "by_cpu.py"))]
    numbers = {int(m[1]) if (m := re.search(r"(\d+) records were lost", s)) else 0 for s in said}
    assert len(numbers) == 1, said
    return numbers.pop()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return f.read().split()


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rpartition(")")[2].split()[0]


def test_losses_after_the_last_record(w):
    """The recorder sleeps until the program has ended: what the full buffer refused has no record
    behind it. Each command counts as many as the recorder, in a file of the live encoding and in
    one that was made of the spool."""
    prog = w.compile("burst", BURST)
    for more in (), ("--native",):
        with Beside(w, BIN, "record", "-q", "-p", "function_graph", "-b", 64, "-o", "lost.dat", *more, "--", prog, stderr=subprocess.PIPE) as r:
            r.is_ready()
            os.kill(r.pid, signal.SIGSTOP)
            until(lambda: state(r.pid) == "T")
            child = children(r.pid)[0]
            os.write(r.p.stdin.fileno(), b"12")
            until(lambda: state(child) == "Z")
            os.kill(r.pid, signal.SIGCONT)
            said = r.p.communicate()[1].decode()
        dropped = int(re.search(r"(\d+) events were dropped", said)[1])
        assert 100000 < dropped < 400003 and lost(w, "lost.dat") == dropped, (dropped, lost(w, "lost.dat"), said)


def test_overwritten_records_are_counted_once(w):
    prog = w.compile("burst", BURST)
    with Beside(w, prog, env=dict(w.env, LD_PRELOAD=LIBRARY, VESTIGE_BOOT="ftrace=function_graph trace_buf_size=64k")) as p:
        p.is_ready()
        os.write(p.p.stdin.fileno(), b"1")
        p.is_ready()
        w.run("stop", "-P", p.pid)
        stats = [w.run("get", "-P", p.pid, f"per_cpu/cpu{cpu}/stats").stdout for cpu in range(os.cpu_count())]
        w.run("extract", "-P", p.pid, "-o", "over.dat")
        overrun, entries = (sum(w.stats(s, field) for s in stats) for field in ("overrun", "entries"))
        assert overrun > 100000 and overrun + entries == 400001 + 1, (overrun, entries)
        assert lost(w, "over.dat") == overrun, (overrun, lost(w, "over.dat"))
    w.run("clean")


def test_limit_keeps_the_newest(w):
    need("trace-cmd")
    p = w.run("record", "--stat", "-m", 1024, "--", w.prog, "calls", 400000)
    counts = w.counts()
    per_cpu = 1024 // 4 * 252
    entries = w.stats(p.stderr, "entries")
    cpus = os.cpu_count()
    assert 0 < entries <= per_cpu * cpus, entries
    assert counts["last"] == 1 and sum(counts.values()) == entries, counts


def test_threads_have_names(w):
    w.run("record", "-q", "--", w.prog, "threads")
    text = w.run("report", "--format=trace").stdout.decode()
    assert text.count("leaf <-thread") == 200
    assert re.search(r"alpha-\d+ ", text) and re.search(r"beta-\d+ ", text), text[-500:]


def test_texts_of_the_program(w):
    need("trace-cmd")
    prog = w.compile("texts", r"""
#include "vestige/vestige.h"
__attribute__((noipa)) void work(int i) { trace_printk("i=%d\n", i); }
int main(void) { for (int i = 0; i < 3; i++) work(i); trace_printk("%0200d", 7); vestige_mark("a mark");
	return 0; }
""", "-I" + os.environ["SOURCE_DIR"] + "/include")
    w.run("record", "-q", "--", prog)
    want = ["work: i=0", "work: i=1", "work: i=2", "main: " + "7".zfill(200), "tracing_mark_write: a mark"]
    text = w.run("report", "--format=trace").stdout.decode()
    assert re.findall(r": (\w+: .*)$", text, re.M) == want, text
    for version in (6, 7):
        w.run("record", "-q", "--file-version", version, "--", prog)
        text = subprocess.run(["trace-cmd", "report", "trace.dat"], cwd=w.dir, stdout=subprocess.PIPE,
                              check=True).stdout.decode()
        assert re.findall(r" b?print: +(.*)$", text, re.M) == want, text
        assert "vestige_printk_" not in text, text


def test_objects_that_take_turns_at_one_address(w):
    """After dlclose() the next dlopen() takes the same addresses: each call has the name of the
    object that was there then."""
    for name in ("first", "second", "third"):
        w.compile(name + ".so", "void cb(void); void %s_code(void) { cb(); __asm__ volatile(\"\"); }" % name,
                  "-shared", "-fPIC")
    prog = w.compile("turns", r"""
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
volatile int n;
__attribute__((noipa)) void cb(void) { n++; }
static void turn(const char *name)
{
	char here[200], path[300];
	void *h, (*f)(void);
	snprintf(path, sizeof(path), "%s/%s.so", getcwd(here, sizeof(here)), name);
	h = dlopen(path, RTLD_NOW);
	if (!h) { puts(dlerror()); return; }
	snprintf(path, sizeof(path), "%s_code", name);
	f = dlsym(h, path);
	printf("%p\n", (void *)f);
	for (int i = 0; i < 100; i++) f();
	dlclose(h);
}
int main(void) { turn("first"); turn("second"); turn("third"); turn("first"); return 0; }
""", "-rdynamic", "-ldl")
    p = w.run("record", "-q", "--", prog)
    addresses = p.stdout.decode().split()
    assert len(addresses) == 4 and len(set(addresses)) == 1, addresses
    callers = re.findall(r" cb <-(\w+)", w.run("report", "--format=trace").stdout.decode())
    assert callers == [n + "_code" for n in ("first", "second", "third", "first") for _ in range(100)], set(callers)


def test_event_that_is_not_there_is_named(w):
    def said(event):
        """But for what the kernel has lost of its own events, on a machine with many."""
        lines = w.run("record", "-q", "-e", f"sched,{event}", "--", w.prog, "calls", 1).stderr.decode().splitlines()
        return [line for line in lines if "events were dropped" not in line]

    assert said("nosuch") == ["vestige: calls has no event nosuch: it is recorded only of programs that calls executes"], said("nosuch")
    for event, near in (("sched_swicth", "sched_switch"), ("shed:sched_switch", "sched:sched_switch"),
                        ("kmem:kmaloc", "kmem:kmalloc")):
        assert said(event) == [
            f"vestige: calls has no event {event}, did you mean {near}? It is recorded only of programs that calls executes"], said(event)


def test_exec_is_followed(w):
    need("trace-cmd")
    w.run("record", "-q", "--", w.prog, "exec", w.prog, "calls", 10)
    counts = w.counts()
    assert counts == {"main": 2, "first": 2, "mid": 10, "leaf": 20, "last": 1}, counts


def test_calls_between_fork_and_exec_are_recorded(w):
    """Calls between fork and exec are recorded although a child may execute before the recorder has
    seen its area, or execute twice."""
    need("trace-cmd")
    prog = w.compile("execs", r"""
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) void before(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	if (argc > 1) { before(); execl("/bin/true", "true", NULL); return 1; }
	for (int i = 0; i < 60; i++) {
		if (!fork()) {
			before();
			if (i % 2) execl(argv[0], argv[0], "again", NULL);
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		wait(NULL);
	}
	return 0;
}
""")
    w.run("record", "-q", "--", prog)
    assert w.counts() == {"main": 31, "before": 90}, w.counts()
    w.nothing_left()


def test_forked_children_are_recorded(w):
    need("trace-cmd")
    w.run("record", "-q", "--", w.prog, "fork", 5)
    counts = w.counts()
    assert counts["mid"] == 5 and counts["leaf"] == 10, counts


def test_script_runs_a_program(w):
    need("trace-cmd")
    with open(w.path("s.sh"), "w") as f:
        f.write(f"#!/bin/sh\n{w.prog} calls 3\n{w.prog} calls 4\nexit 3\n")
    os.chmod(w.path("s.sh"), 0o755)
    w.run("record", "-q", "./s.sh", status=3)
    assert w.counts()["mid"] == 7


def test_addresses_stay(w):
    def leaf():
        w.run("record", "-q", "--", w.prog, "calls", 1)
        out = subprocess.run(["trace-cmd", "report", "-R", "trace.dat"], cwd=w.dir,
                             stdout=subprocess.PIPE, check=True).stdout.decode()
        return sorted(set(re.findall(r" ip=(\S+)", out)))

    need("trace-cmd")
    one, two = leaf(), leaf()
    assert one == two and len(one) == 5, (one, two)


def test_old_preload_is_kept(w):
    lib = w.compile("pre", "#include <stdio.h>\n"
                    "__attribute__((constructor)) static void c(void) { puts(\"kept\"); }",
                    "-shared", "-fPIC")
    p = w.run("record", "-q", "--", w.prog, "calls", 1, env={"LD_PRELOAD": lib,
                                                                "ASAN_OPTIONS": "verify_asan_link_order=0"})
    assert b"kept" in p.stdout


def test_output_is_replaced_only_when_complete(w):
    with open(w.path("trace.dat"), "w") as f:
        f.write("old")
    w.run("record", "-q", "-l", "nosuch", "--", w.prog, status=125)
    assert open(w.path("trace.dat")).read() == "old"
    w.run("record", "-q", "--", w.prog)
    assert open(w.path("trace.dat"), "rb").read(10) == b"\x17\x08\x44tracing"


def test_two_at_once(w):
    need("trace-cmd")
    ps = [subprocess.Popen([BIN, "record", "-q", "-o", f"{i}.dat", "--", w.prog, "calls", "2000"],
                           cwd=w.dir, env=w.env) for i in range(3)]
    assert [p.wait(60) for p in ps] == [0, 0, 0]
    for i in range(3):
        assert w.counts(f"{i}.dat")["mid"] == 2000


def test_file_that_was_built_again_is_named(w):
    w.run("record", "-q", "-o", "a.dat", "--", w.prog, "calls", 1)
    w.compile("calls", CALLS.replace("sum += i", "sum -= i"))
    # Its names are in the recording: nothing to warn of.
    p = w.run("report", "--format=trace", "a.dat")
    assert b"leaf <-mid" in p.stdout and p.stderr == b""


main(globals())
