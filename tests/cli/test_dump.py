#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige dump, options and check-events print what trace-cmd's print."""
import json
import lzma
import os
import re
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

    assert b"summary alone" in w.run("dump", "--json", "--events", "own.dat", status=2).stderr


def test_json(w):
    """The summary's numbers, which are trace-cmd's, as an object."""
    for name in sorted(os.listdir(KERNELS)):
        with lzma.open(f"{KERNELS}/{name}") as f, open(w.path(name := name[:-3]), "wb") as out:
            out.write(f.read())
        text, d = w.run("dump", name).stdout.decode(), json.loads(w.run("dump", "--json", name).stdout)

        def said(pattern):
            return [int(n) for n in re.findall(pattern, text)]

        assert [d["version"]] == said(r"(\d+)\t\[Version"), (text, d)
        assert [d["long_bytes"], d["page_bytes"]] == said(r"(\d+)\t\[(?:Bytes in|Page size)"), (text, d)
        assert ("Little" in text) == d["little_endian"] and (d["compression"] or "") in text, (text, d)
        assert [d["header_page_bytes"], d["header_event_bytes"]] == sorted(said(r"\[Header \w+, (\d+)")), (text, d)
        assert [len(d["systems"]), d["ftrace_events"], d["options"]] == \
            said(r"(\d+) systems") + said(r"(\d+) events") + said(r"(\d+) options"), (text, d)
        assert [d["kallsyms_bytes"], d["printk_bytes"], d["cmd_lines_bytes"]] == \
            said(r"Kallsyms, (\d+)") + said(r"printk, (\d+)") + said(r"lines, (\d+)"), (text, d)
        systems = w.run("dump", "--systems", name).stdout.decode()
        assert [(s["name"], str(s["events"])) for s in d["systems"]] == re.findall(r"\t\t(\S+) (\d+) \[system", systems), systems
        if d["version"] == 7:
            assert [(b["name"], b["clock"], str(b["cpus"]), str(b["bytes"])) for b in d["buffers"] if not b["latency"]] == \
                re.findall(r'buffer "(.*?)", "(.*?)" clock, \d+ page size, (\d+) cpus, (\d+) bytes', text), (text, d)
            assert [d["sections"]] == said(r"(\d+) sections"), (text, d)
        else:
            assert [d["cpus"]] == said(r"(\d+) \[CPUs"), (text, d)


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
