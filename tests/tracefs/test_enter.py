#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige enter: unchanged clients of the kernel's tracefs (trace-cmd, shell scripts) work on a
process."""
import os
import re
import subprocess

from mount_test import BIN, Skip, fuse, is_mounted, main, mounted, need, root, steps, until
from test_attach import DOES, below_root, folder_of_all

TRACING = "/sys/kernel/tracing"


def enter(w, p, *command, status=0, **more):
    fuse()
    root()
    if not os.path.isdir(TRACING):
        raise Skip(f"no {TRACING}")
    return w.run("enter", p.pid, "--", *command, status=status, **more).stdout.decode()


def report(w, *args):
    out = subprocess.run(["trace-cmd", "report", *args], cwd=w.dir, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=True)
    assert b"EVENTS DROPPED" not in out.stdout and b"FAILED TO PARSE" not in out.stdout
    return out.stdout.decode()


def stacked():
    """The mounts outside of `enter` at the places where `enter` mounts. Mounts of other tests come
    and go elsewhere."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        return [line for line in f if line.split()[1].startswith(("/sys/", "/proc/"))]


def test_a_tree_of_its_own(w):
    before = stacked()
    with steps(w) as p:
        assert enter(w, p, "sh", "-c", f"echo function > {TRACING}/current_tracer; "
                                       f"cat {TRACING}/current_tracer") == "function\n"
        symbols = enter(w, p, "cat", "/proc/kallsyms")
        assert re.search(r" [tT] leaf$", symbols, re.M)
        # writes of clients to the kernel's files stay inside
        for name in ("ftrace_enabled", "kptr_restrict"):
            path = f"/proc/sys/kernel/{name}"
            if os.path.exists(path):
                was = open(path).read()
                assert enter(w, p, "sh", "-c", f"echo 77 > {path}; cat {path}") == "77\n"
                assert open(path).read() == was
        enter(w, p, "sh", "-c", "exit 3", status=3)
        enter(w, p, "sh", "-c", "kill -9 $$", status=137)
        enter(w, p, "/nosuch/command", status=127)
        enter(w, p, "/etc", status=126)
    assert stacked() == before and not is_mounted(w.path("mnt"))
    assert not [n for n in os.listdir("/tmp") if n.startswith("vestige-enter-")]
    w.run("enter", "1", "--", "true", status=125)
    w.run("enter", "nosuch", "--", "true", status=125)
    w.run("enter", "12x", status=2)
    w.run("enter", "--nosuch", status=2)


def test_a_second_tracefs(w):
    """Where the kernel's tracefs is mounted twice (debugfs does so), both places show the
    process."""
    fuse()
    root()
    other = w.path("other")
    os.mkdir(other)
    with steps(w) as p:
        line = (f"mount -t tracefs tracefs {other} && exec {BIN} enter {p.pid} -- sh -c "
                f"'echo function > {other}/current_tracer; cat {TRACING}/current_tracer {other}/current_tracer'")
        q = subprocess.run(["unshare", "-m", "sh", "-c", line], env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=100, check=False)
        if "mount:" in q.stderr:
            raise Skip(q.stderr)
        assert q.stdout == "function\nfunction\n", q


def test_a_process_with_another_root(w):
    """The mount lists it by its number here, and `enter` takes that."""
    with below_root(w, w.compile("does", DOES, "-O2"), ["allocates"]) as (_, pid):
        w.run("attach", pid)
        with folder_of_all(w), mounted(w) as mnt:
            assert str(pid) in os.listdir(mnt), os.listdir(mnt)
            with open(f"{mnt}/{pid}/current_tracer", "w", encoding="ascii") as f:
                f.write("function")
        if os.path.isdir(TRACING):
            assert w.run("enter", pid, "--", "cat", f"{TRACING}/current_tracer").stdout == b"function\n"
        w.run("detach", "-q", pid)


def test_addresses_of_kallsyms(w):
    """An address from the process's kallsyms means the same code in a filter."""
    with steps(w) as p:
        script = f"""cd {TRACING}
            a=0x$(grep ' leaf$' /proc/kallsyms | cut -d' ' -f1)
            echo "p:lf $a" > kprobe_events && echo 1 > events/kprobes/lf/enable
            echo "__probe_ip.function == $a || __probe_ip.function == mid" > events/kprobes/lf/filter"""
        enter(w, p, "sh", "-ec", script)
        p.call(2)
        assert re.findall(r"lf: \((leaf\+0x0)/", enter(w, p, "cat", f"{TRACING}/trace")) == ["leaf+0x0"] * 4
        script = f"""cd {TRACING}; a=0x$(grep ' mid$' /proc/kallsyms | cut -d' ' -f1)
            echo "__probe_ip.function == $a" > events/kprobes/lf/filter; echo > trace"""
        enter(w, p, "sh", "-ec", script)
        p.call(2)
        assert " lf: " not in enter(w, p, "cat", f"{TRACING}/trace")


def test_trace_cmd_looks(w):
    need("trace-cmd")
    with steps(w) as p:
        tracers = w.run("get", "-P", p.pid, "available_tracers").stdout.decode().split()
        assert sorted(enter(w, p, "trace-cmd", "list", "-t").split()) == sorted(tracers)
        assert {"function", "function_graph", "nop"} <= set(tracers)
        assert {"leaf", "mid", "main"} <= set(enter(w, p, "trace-cmd", "list", "-f").split())
        enter(w, p, "trace-cmd", "start", "-p", "function", "-l", "leaf")
        p.call(2)
        assert enter(w, p, "trace-cmd", "show").count("leaf <-mid") == 4
        stat = enter(w, p, "trace-cmd", "stat")
        assert "Tracer: function" in stat and "leaf" in stat, stat
        enter(w, p, "trace-cmd", "stop")
        enter(w, p, "trace-cmd", "extract", "-o", "extract.dat")
        assert report(w, "extract.dat").count("leaf") == 4
        enter(w, p, "trace-cmd", "reset")
        assert enter(w, p, "cat", f"{TRACING}/current_tracer") == "nop\n"


def taken(w, p):
    """How many records readers took, of all CPUs."""
    return sum(int(w.run("get", "-P", p.pid, f"per_cpu/cpu{c}/stats").stdout.split()[-1])
               for c in range(os.cpu_count()))


def recorded(w, p, *args, calls=2000):
    """Run `trace-cmd record` on the process, which makes all its calls while recording is on."""
    fifo = w.path("go")
    os.mkfifo(fifo)
    cmd = subprocess.Popen([BIN, "enter", str(p.pid), "--", "trace-cmd", "record", *args, "-o",
                            "out.dat", "sh", "-c", f"echo > {fifo}; cat {fifo}"], cwd=w.dir,
                           env=w.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with open(fifo) as f:
        f.read()
    # trace-cmd may end before its readers have begun: wait for them
    w.run("set", "-P", p.pid, "buffer_percent", "0")
    before = taken(w, p)
    p.call(calls)
    until(lambda: taken(w, p) > before)
    with open(fifo, "w") as f:
        f.write("\n")
    out = cmd.communicate(timeout=200)[0]
    os.unlink(fifo)
    assert cmd.returncode == 0, out
    return report(w, "out.dat")


def test_trace_cmd_records(w):
    need("trace-cmd")
    fuse()
    root()
    with steps(w) as p:
        for how in ([], ["--nosplice"]):
            text = recorded(w, p, "-p", "function", "-l", "leaf", "-l", "mid", *how)
            assert len(re.findall(r"function: +leaf", text)) == 4000, how
            assert len(re.findall(r"function: +mid", text)) == 2000, how
            text = recorded(w, p, "-p", "function", "-l", "l*f", *how)
            assert len(re.findall(r"function: +leaf", text)) == 4000 and "mid" not in text, how
            text = recorded(w, p, "-p", "function_graph", "-l", "leaf", "-l", "mid", *how)
            assert len(re.findall(r"\| +mid\(\) {", text)) == 2000, how
            assert len(re.findall(r"us +\| +leaf\(\);", text)) == 4000, how
            assert len(re.findall(r"funcgraph_exit: .*us +\| +}", text)) == 2000, how


# Deterministic work of some shape: functions that call each other, themselves and by pointer.
WORK = r"""
#include <stdio.h>
#include <stdlib.h>
#define FN __attribute__((noipa))
volatile unsigned int sum;
FN int by_low(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
FN int work_fib(int n) { return n < 2 ? n : work_fib(n - 1) + work_fib(n - 2); }
FN void work_leaf(int i) { sum += i; }
FN void work_even(int i);
FN void work_odd(int i) { work_leaf(i); if (i) work_even(i - 1); sum++; }
FN void work_even(int i) { work_leaf(i); if (i) work_odd(i - 1); sum++; }
FN void work(int n)
{
	char text[] = "the quick brown fox jumps over the lazy dog";
	qsort(text, sizeof(text) - 1, 1, by_low);
	work_fib(n);
	work_even(n);
	sum++;
}
__attribute__((patchable_function_entry(0))) int main(void)
{
	int n;
	puts("ready"), fflush(stdout);
	while (scanf("%d", &n) == 1) {
		for (int i = 0; i < n; i++) work(i % 20);
		printf("%d\n", n), fflush(stdout);
	}
	return 0;
}
"""


def calls_of(text):
    """The calls in order, as `trace-cmd report` prints them, without times, CPUs and pids."""
    out = []
    for line in text.splitlines():
        at = re.search(r"(function|funcgraph_entry|funcgraph_exit): +(.*)$", line)
        if at:
            # a call's duration goes, its depth stays
            out.append((at[1], re.sub(r"^[^|]*\|", "", at[2]).rstrip()))
    return out


def test_trace_cmd_counts_as_record(w):
    """trace-cmd by spliced pages, trace-cmd by read pages and `vestige record` give the same calls
    of one program."""
    need("trace-cmd")
    fuse()
    root()
    prog, n = w.compile("work", WORK), 30
    for args in (("-p", "function", "-l", "work_*"), ("-p", "function", "-l", "by_*", "-l", "*_fib"),
                 ("-p", "function_graph"), ("-p", "function_graph", "-l", "work*")):
        w.run("record", "-q", *args, "-o", "ours.dat", "--", prog, input=b"%d\n" % n)
        ours = calls_of(report(w, "ours.dat"))
        assert len(ours) > 10000, (args, len(ours))
        for how in ([], ["--nosplice"]):
            with steps(w, prog=prog) as p:
                theirs = calls_of(recorded(w, p, *args, *how, calls=n))
            first = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
            assert ours == theirs, (args, how, len(ours), len(theirs), first,
                                    ours[first or -1], theirs[first or -1])


main(globals())
