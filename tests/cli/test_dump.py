#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige dump, options and check-events print what trace-cmd's print."""
import lzma
import os
import subprocess

from cli_test import Skip, main, need, root

KERNELS = os.path.join(os.environ["SOURCE_DIR"], "tests", "data", "kernels")
ENV = dict(os.environ, TZ="UTC", LC_ALL="C")


def theirs(w, *args):
    return subprocess.run(["trace-cmd", *args], cwd=w.dir, env=ENV, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.decode(errors="replace")


def test_dump(w):
    need("trace-cmd")
    parts = ("--summary", "--head-page", "--head-event", "--ftrace-events", "--systems", "--events", "--kallsyms", "--printk",
             "--cmd-lines", "--options", "--flyrecord", "--clock", "-v")
    for i, name in enumerate(sorted(os.listdir(KERNELS))):
        with lzma.open(f"{KERNELS}/{name}") as f, open(w.path(name := name[:-3]), "wb") as out:
            out.write(f.read())
        for args in ((), ("--summary", "--options"), ("--all",), (parts[i % len(parts)],), (parts[(i + 7) % len(parts)],)):
            if "--all" in args and "-v6" in name:
                continue  # trace-cmd 3.1.6 has nothing more of version 6 there
            want, got = theirs(w, "dump", *(args or ("--summary",)), "-i", name), w.run("dump", *args, "-i", name).stdout.decode()
            assert want == got, (name, args, [x for x in zip(want.splitlines(), got.splitlines()) if x[0] != x[1]][:3],
                                 len(want), len(got))
    # of a recording of ours: what trace-cmd does not know has no name there either
    w.run("record", "-q", "-o", "own.dat", "--", w.prog, "calls", "3")
    assert theirs(w, "dump", "--summary", "-i", "own.dat").split("\t[")[1:-1] == \
        w.run("dump", "own.dat").stdout.decode().split("\t[")[1:-1]
    with open(w.path("own.dat"), "rb") as f:
        whole = f.read()
    with open(w.path("cut.dat"), "wb") as f:
        f.write(whole[:len(whole) // 3])
    for bad in "none.dat", "cut.dat":
        err = w.run("dump", bad, status=1).stderr
        assert bad.encode() in err and err.count(b"\n") == 1, err
    assert b"--help" in w.run("dump", "a", "b", status=2).stderr


def test_options(w):
    need("trace-cmd")
    text = w.run("options").stdout.decode()
    assert text.startswith(theirs(w, "options")) and "  funcgraph-proc\n" in text, text


def test_check_events(w):
    root()
    if not os.path.isdir("/sys/kernel/tracing/events/sched"):
        raise Skip("no tracefs")
    for args in ((), ("-N",)):
        p = w.run("check-events", "-k", *args, status=None)
        # this kernel's formats may be newer than libtraceevent
        assert p.returncode == (1 if p.stdout else 0) and p.stdout.count(b"cannot be parsed\n") == p.stdout.count(b"\n")
    assert b"no traced process" in w.run("check-events", status=1).stderr
    assert b"--help" in w.run("check-events", "x", status=2).stderr


main(globals())
