#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige list` of the kernel against stock trace-cmd list, and of a process against its files."""
import os
import subprocess

from cli_test import Skip, main, need, root, spinning, until

TRACING = "/sys/kernel/tracing"


def trace_cmd(*args):
    need("trace-cmd")
    return subprocess.run(["trace-cmd", "list", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout.decode()


def test_kernel(w):
    root()
    if not os.path.isdir(TRACING + "/instances"):
        raise Skip("no tracefs")
    for words in (["-s"], ["-t"], ["-p"], ["-o"], ["-C"], ["-e"], ["-e", "^sched_w"], ["-e", "sched:sched_switch$"],
                  ["-e", "sched:sched_switch$", "-F"], ["-e", "sched:sched_switch$", "-F", "--full"],
                  ["-e", "sched:sched_switch$", "-l"], ["-e", "sched:sched_switch$", "-R"]):
        ours, theirs = w.run("list", "-k", *words).stdout.decode(), trace_cmd(*words)
        assert sorted(ours.split()) == sorted(theirs.split()) and len(ours) > 3, (words, ours[:300], theirs[:300])
    # these list events, without -e too
    every = w.run("list", "-k", "-F").stdout
    assert every.count(b"\nname: ") + every.startswith(b"name: ") == len(w.run("list", "-k", "-e").stdout.splitlines()) > 500
    for flag in "-F", "--full", "-l", "-R":
        got = w.run("list", "-k", flag, "sched:sched_switch$").stdout
        assert got == w.run("list", "-k", "-e", "sched:sched_switch$", flag).stdout and got, flag
    for words in (["-O"], ["-c"]):
        assert w.run("list", *words).stdout.decode() == trace_cmd(*words), words
    # in the order in which the folder lists them
    assert sorted(w.run("list", "--plugins").stdout.split()) == sorted(trace_cmd("-P").encode().split())
    # another test may make or remove one meanwhile
    before = os.listdir(TRACING + "/instances")
    assert "No buffer instances defined" in w.run("list", "-k", "-B").stdout.decode() or before or os.listdir(TRACING + "/instances")
    whole = w.run("list", "-k").stdout.decode()
    assert "sched:sched_switch" in whole and "nop" in whole and "overwrite" in whole
    got = w.run("list", "-k", "-f", "^sched", status=None)
    assert got.returncode == 0 and all(l.startswith(b"sched") for l in got.stdout.splitlines()) or \
        b"available_filter_functions: the kernel forbids it here" in got.stderr, got


def test_process(w):
    with spinning(w, "ftrace=function") as p:
        at = ("-P", p.pid)
        get = lambda f: w.run("get", *at, f).stdout   # noqa: E731
        until(lambda: get("current_tracer") == b"function\n")
        assert w.run("list", *at, "-C").stdout == get("trace_clock")
        assert set(get("trace_options").split()) <= set(w.run("list", *at, "-o").stdout.split())
        assert set(get("available_events").split()) <= set(w.run("list", *at, "-e").stdout.split())
        assert w.run("list", *at, "-e", "sched_switch$").stdout.split() == [b"sched:sched_switch"]
        assert b"field:" in w.run("list", *at, "-e", "sched_switch$", "-F").stdout
        assert w.run("list", *at, "-f", "^(leaf|mid)$").stdout.split() == [l for l in get("available_filter_functions").split()
                                                                        if l in (b"leaf", b"mid")]
        assert b"No buffer instances" in w.run("list", *at, "-B").stdout
        w.run("start", *at, "-B", "one", "-p", "nop")
        assert w.run("list", *at, "-B").stdout == b"one\n"
        w.run("list", *at, "--instance", "one", "-t")
        w.run("reset", *at, "-B", "one", "-d")
    assert b"leave out -f" in w.run("list", "-f", "-F", status=2).stderr
    assert b"no regular expression" in w.run("list", "-k", "-e", "(", status=1).stderr
    assert b"say what to list" in w.run("list", status=2).stderr


main(globals())
