#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige extract of several buffers, of a snapshot, with the time of day, and of the kernel,
against what stock trace-cmd reads and extracts."""
import os
import re
import time

import cli_test
from cli_test import LIBRARY, Beside, kill_and_wait, main, need, spinning
from test_kernel import instance, read, settings, trace_cmd, write


def report(w, file, *flags):
    return trace_cmd(w, "report", "-N", *flags, file).splitlines()


def stamps(lines):
    return [float(m.group(1)) for l in lines if (m := re.search(r" (\d+\.\d+): ", l))]


def test_buffers_of_a_process(w):
    need("trace-cmd")
    with spinning(w) as p:
        for name in ("one", "two"):
            w.run("start", "-p", "nop", "-P", p.pid, "-B", name)
        w.run("stop", "-P", p.pid)
        for name in ("", "one", "two"):
            path = f"instances/{name}/trace_marker" if name else "trace_marker"
            w.run("set", "-P", p.pid, "tracing_on" if not name else f"instances/{name}/tracing_on", "1")
            w.run("set", "-P", p.pid, path, f"in <{name}>")

        def marks(*flags):
            w.run("extract", "-P", p.pid, *flags)
            text = "\n".join(report(w, "trace.dat"))
            assert sorted(re.findall(r"in <(\w*)>", w.run("report").stdout.decode())) == \
                sorted(re.findall(r"in <(\w*)>", text)), text
            # the buffer that trace-cmd says it is from; "" the top one
            return sorted((m.group(2), m.group(1) or "") for l in text.splitlines()
                          if (m := re.search(r"^\s*(?:(one|two): )?.*in <(\w*)>", l)))

        assert marks() == [("", "")]
        assert marks("-B", "one") == [("one", "")]
        assert marks("-a") == [("one", "one"), ("two", "two")]
        assert marks("-B", "two", "-t") == [("", ""), ("two", "two")]
        assert marks("-a", "-t") == [("", ""), ("one", "one"), ("two", "two")]
        err = w.run("extract", "--native", "-a", "-P", p.pid, status=2).stderr
        assert b"name one with -B" in err, err
        assert b"named twice: one" in w.run("extract", "-B", "one", "-B", "one", "-P", p.pid, status=2).stderr
        assert b"nosuch" in w.run("extract", "-B", "nosuch", "-P", p.pid, status=1).stderr


def test_snapshot(w):
    with spinning(w) as p:
        w.run("start", "-p", "nop", "-P", p.pid)
        assert b"vestige snapshot -s" in w.run("extract", "-s", "-P", p.pid, status=1).stderr
        w.run("set", "-P", p.pid, "trace_marker", "before")
        w.run("snapshot", "-s", "-P", p.pid)
        w.run("set", "-P", p.pid, "trace_marker", "after")
        w.run("extract", "-s", "-P", p.pid)
        text = w.run("report").stdout
        assert b"before" in text and b"after" not in text, text


FORKS = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) void before(void) { __asm__ volatile(""); }
__attribute__((noipa)) void work(void) { __asm__ volatile(""); }
__attribute__((noipa)) void after(void) { __asm__ volatile(""); }
int main(void)
{
	puts("ready"); fflush(stdout); getchar();
	if (fork()) { pause(); }
	before(); work(); after();
	printf("%d\n", getpid()); fflush(stdout);
	pause();
}
"""


def test_snapshot_in_a_child(w):
    """The trigger of a parent takes a snapshot in its child, too, of the top instance and of
    another one, which a child has in a session."""
    prog = w.compile("forks", FORKS)
    for session, at in ("", ""), ("one", "instances/in/"):
        env = dict(w.env, LD_PRELOAD=LIBRARY, **({"VESTIGE_SESSION": session} if session else {}))
        with Beside(w, prog, env=env) as p:
            p.is_ready()
            w.run("set", "-P", p.pid, "dynamic_events", "f:u/works work")
            if at:
                w.run("start", "-p", "nop", "-P", p.pid, "-B", "in")
            w.run("set", "-P", p.pid, at + "current_tracer", "function")
            w.run("set", "-P", p.pid, at + "events/u/works/trigger", "snapshot")
            w.run("set", "-P", p.pid, at + "events/u/works/enable", "1")
            p.p.stdin.write(b"\n")
            p.p.stdin.flush()
            child = int(p.p.stdout.readline())
            try:
                held, live = (re.findall(r": (before|after|works)\b", w.run("get", "-P", child, at + f).stdout.decode())
                              for f in ("snapshot", "trace"))
                # the kernel's snapshot has the event that fires the trigger, too
                assert held == ["before", "works"] and live == ["after"], (session, held, live)
            finally:
                kill_and_wait(child)
        w.run("clean")


def test_date(w):
    with spinning(w) as p:
        w.run("start", "-p", "nop", "-P", p.pid)
        begin = time.time()
        w.run("set", "-P", p.pid, "trace_marker", "now")
        end = time.time()
        w.run("extract", "--date", "-P", p.pid)
        for lines in (w.run("report").stdout.decode().splitlines(), report(w, "trace.dat")):
            at = stamps([l for l in lines if "now" in l])
            assert len(at) == 1 and begin - .001 <= at[0] <= end + .001, (begin, at, end)


def overrun(folder):
    """The CPUs of an instance of the kernel's whose records were overwritten."""
    return {cpu for cpu in range(os.cpu_count()) if not re.search(r"^overrun: 0$", read(folder, f"per_cpu/cpu{cpu}/stats"), re.M)}


def test_kernel_overrun(w):
    """Where records were overwritten extract -k has all that are left, and trace-cmd says where
    some are lost."""
    need("trace-cmd")
    with cli_test.kernel_alone(), instance(w) as (name, folder):
        write("100", folder, "buffer_size_kb")
        with open(folder + "/trace_marker", "wb", buffering=0) as f:
            for _ in range(3000):
                f.write(b"x" * 80)
        write("0", folder, "tracing_on")
        shown = [l for l in read(folder, "trace").splitlines() if not l.startswith("#")]
        lost = overrun(folder)
        assert lost and shown
        w.run("extract", "-k", "-B", name, "-o", "lost.dat")
        # a record behind lost ones has a line above it, which has the buffer's name for both
        above = r"CPU:(\d+) \[(?:\d+ )?EVENTS DROPPED\]\n"
        text = trace_cmd(w, "report", "-N", "lost.dat")
        assert {int(cpu) for cpu in re.findall(rf"^ *{name}: " + above, text, re.M)} == lost, lost
        ours = [l for l in re.sub(above, "", text).splitlines() if l.lstrip().startswith(name + ":")]
        assert [f"{t:.6f}" for t in stamps(ours)] == [f"{t:.6f}" for t in stamps(shown)], (len(ours), len(shown))


def test_kernel(w):
    """Like trace-cmd extract, it has each record of the named buffers once. No setting changes."""
    need("trace-cmd")
    with cli_test.kernel_alone(), instance(w, "a") as (one, a), instance(w, "b") as (two, b):
        for folder, text in ((a, "from one"), (b, "from two")):
            write("4000", folder, "buffer_size_kb")  # nothing is overwritten on a busy machine
            write("sched:sched_switch", folder, "set_event")
            write("1", folder, "tracing_on")
            write(text, folder, "trace_marker")
            time.sleep(.01)
            write("0", folder, "tracing_on")
        before = settings(a), settings(b)
        shown = [l for l in read(a, "trace").splitlines() if not l.startswith("#")]
        begin = time.time()
        w.run("extract", "-k", "-B", one, "-B", two, "-o", "ours.dat")
        assert (settings(a), settings(b)) == before
        lines = report(w, "ours.dat")
        ours = [l for l in lines if l.lstrip().startswith(one + ":")]
        assert len(ours) == len(shown) and any("sched_switch" in l for l in ours), lines
        assert [f"{t:.6f}" for t in stamps(ours)] == [f"{t:.6f}" for t in stamps(shown)], \
            next((pair for pair in zip(ours, shown) if stamps(pair[:1]) != stamps(pair[1:])), (len(stamps(ours)), len(stamps(shown))))
        assert any("from two" in l and l.lstrip().startswith(two) for l in lines), lines
        assert w.run("report", "ours.dat").stdout.decode().count("from one") == 1
        # they are taken out
        w.run("extract", "-k", "-B", one, "-o", "empty.dat")
        assert not [l for l in report(w, "empty.dat") if "from one" in l]
        write("1", a, "tracing_on")
        write("again", a, "trace_marker")
        write("0", a, "tracing_on")
        w.run("extract", "-k", "-B", one, "--date", "-o", "date.dat")
        at = stamps([l for l in report(w, "date.dat") if "again" in l])
        assert len(at) == 1 and begin - .01 <= at[0] <= time.time() + .01, at
        assert b"nosuch" in w.run("extract", "-k", "-B", "nosuch", status=1).stderr
        assert b"leave one of them out" in w.run("extract", "-k", "--native", status=2).stderr
        assert b"/nosuch/x" in w.run("extract", "-k", "-B", one, "-o", "/nosuch/x", status=1).stderr
        # a full disk
        os.mkdir(w.path("disk"))
        p = cli_test.own_mounts(f"mount -t tmpfs -o size=256k none {w.path('disk')} && cd {w.path('disk')} && "
                                f"{{ {cli_test.BIN} extract -k -B {one} -o k.dat; status=$?; ls; exit $status; }}", env=w.env)
        assert p.returncode == 1 and b"No space left on device" in p.stderr and not p.stdout, p


if __name__ == "__main__":
    raise SystemExit(main(globals()))
