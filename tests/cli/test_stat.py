#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige stat prints trace-cmd's text for the kernel, in instances of the test, and the same kind
of text for a process."""
import contextlib
import json
import os
import subprocess

from cli_test import LIBRARY, Skip, main, need, root

TRACING = "/sys/kernel/tracing"


@contextlib.contextmanager
def instance(name):
    root()
    if not os.path.isdir(TRACING + "/instances"):
        raise Skip("no tracefs")
    name = f"vestige-stat-{os.getpid()}{name}"
    os.mkdir(f"{TRACING}/instances/{name}")
    try:
        yield name, f"{TRACING}/instances/{name}"
    finally:
        os.rmdir(f"{TRACING}/instances/{name}")


def write(text, *path):
    with open("/".join(path), "w") as f:
        f.write(text)


def test_as_trace_cmd(w):
    need("trace-cmd")

    def same(*words, theirs=None):
        p = subprocess.run(["trace-cmd", "stat", *(theirs or words)], stdout=subprocess.PIPE, check=True)
        ours = w.run("stat", "-k", *words).stdout.decode()
        assert ours == p.stdout.decode(), f"{words}:\n{ours}\nnot\n{p.stdout.decode()}"
        return ours

    with instance("a") as (one, a), instance("b") as (two, _):
        assert "All disabled" in same("-B", one)
        for text, file in (("0", "tracing_on"), ("mono", "trace_clock"), ("1", "tracing_cpumask"), ("100", "buffer_size_kb"),
                           ("1", "events/irq/enable"), ("1", "events/sched/sched_switch/enable"),
                           ("1", "events/sched/sched_wakeup/enable"), ("vec > 3", "events/irq/softirq_entry/filter"),
                           ("prev_pid > 3", "events/sched/sched_switch/filter"),
                           ("stacktrace", "events/sched/sched_wakeup/trigger")):
            write(text, a, file)
        try:
            text = same("-B", one)
            for part in ("   irq\n", "        sched_switch\n", 'softirq_entry "vec > 3"', 'sched_wakeup "stacktrace', "Clock: mono",
                         "Tracing is disabled"):
                assert part in text, part
            write("200", a, "per_cpu/cpu0/buffer_size_kb")
            assert os.cpu_count() == 1 or "CPU 0 buffer size" in same("-B", one)
            assert "---------------\n" in same("-B", one, "-B", two, theirs=("-B", two, "-B", one))
            # triggers set, no event on; a filter that the kernel refused
            write("0", a, "events/enable")
            write("traceoff", a, "events/sched/sched_wakeup/trigger")
            assert "Events:\n  (none enabled)\n" in same("-B", one)
            write("1", a, "events/irq/enable")
            assert " Individual events:" not in same("-B", one)
            with contextlib.suppress(OSError):
                write("vec > nosuch", a, "events/irq/softirq_entry/filter")
            text = same("-B", one)
            assert 'softirq_entry "vec > nosuch\n' in text and "\nError log:\n[" in text, text
            found = json.loads(w.run("stat", "-k", "--json", "-B", one).stdout)[0]
            lines = {f["event"]: len(f["text"].splitlines()) for f in found["filters"]}
            assert lines == {"irq:softirq_entry": 3, "sched:sched_switch": 1}, found["filters"]
            assert len(found["triggers"]) == 2, found["triggers"]
            assert "   nostacktrace\n" in same("-o", "-B", one)
        finally:
            for trigger in "!stacktrace", "!traceoff":
                with contextlib.suppress(OSError):
                    write(trigger, a, "events/sched/sched_wakeup/trigger")
            write("0", a, "events/enable")
        # others make and remove instances meanwhile
        assert f" {one}\n" in w.run("stat", "-k").stdout.decode()
        assert b"nosuch" in w.run("stat", "-k", "-B", "nosuch", status=1).stderr


def test_of_a_process(w):
    with subprocess.Popen([w.prog, "spin"], stdout=subprocess.PIPE, cwd=w.dir,
                          env=dict(w.env, LD_PRELOAD=LIBRARY, VESTIGE_BOOT="ftrace=function")) as p:
        try:
            assert p.stdout.readline() == b"ready\n"
            w.run("stop")
            text = w.run("stat").stdout.decode()
            assert text.startswith("\nTracer: function\n\nEvents:\n") and "\nTracing is disabled\n" in text, text
            w.run("start", "-B", "one", "-p", "nop")
            assert "\nInstances:\n one\n" in w.run("stat").stdout.decode()
            both = w.run("stat", "-t", "-B", "one", "-o").stdout.decode()
            assert "---------------\nInstance: one\n\nEvents:\n" in both and both.count("\nOptions:\n   ") == 2, both
            assert b"no arguments" in w.run("stat", "x", status=2).stderr
        finally:
            p.kill()
            p.wait()
            w.run("clean")


main(globals())
