#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A trace.dat with several buffers: views, exports, SQL and scripts show all of them, with their
names, as trace-cmd counts them. The recordings are trace-cmd's own: -B one -B two."""
import collections
import csv
import json
import lzma
import os
import re
import subprocess

from cli_test import main, need, python_env, spinning, until

KERNELS = os.environ["SOURCE_DIR"] + "/tests/data/kernels/"
NAMES = ("amd64-instances-v7", "amd64-instances-v6", "i386-instances-v7")


def unpacked(w, name):
    with lzma.open(KERNELS + name + ".dat.xz") as f, open(w.path("trace.dat"), "wb") as to:
        to.write(f.read())


def by_trace_cmd(w, file="trace.dat"):
    """How many records of each buffer and event there are; a function is `function`."""
    text = subprocess.run(["trace-cmd", "report", "-N", file], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True).stdout.decode("latin1")
    found = collections.Counter()
    for m in re.finditer(r"^ *(?:(\w+):)? +\S.*?-\d+ +\[\d+\] .*?\d+\.\d+: (\w+):", text, re.M):
        found[m[1] or "", m[2]] += 1
    return found


def rows(w, *flags):
    w.run("convert", "-q", *flags, "trace.dat", "out.csv")
    with open(w.path("out.csv"), newline="") as f:
        return list(csv.DictReader(f))


def counted(pairs):
    """(buffer, name) of each record; a function's name has no system."""
    return collections.Counter((buffer, name.split(":")[1] if ":" in name else "function") for buffer, name in pairs)


def test_all_buffers(w):
    need("trace-cmd")
    for name in NAMES:
        unpacked(w, name)
        want = by_trace_cmd(w)
        assert len({buffer for buffer, _ in want}) > 1, want
        assert counted((r["buffer"], r["name"]) for r in rows(w)) == want
        w.run("convert", "-q", "trace.dat", "out.jsonl")
        with open(w.path("out.jsonl")) as f:
            assert counted((r.get("buffer", ""), r["name"]) for r in map(json.loads, f)) == want
        w.run("convert", "-q", "--to", "chrome", "trace.dat", "out.json")
        with open(w.path("out.json")) as f:
            events = json.load(f)["traceEvents"]
        named = [e["tid"] for e in events if e["ph"] == "M"]
        events = [e for e in events if e["ph"] == "i"]
        # the kernel's table names all its tasks
        assert len(named) == len(set(named)) and set(named) == {e["tid"] for e in events} - {0}
        assert counted((e["args"].get("buffer", ""), e["name"]) for e in events) == want
        text = w.run("convert", "-q", "--to", "systrace", "trace.dat", "-").stdout.decode()
        lines = re.findall(r"^.{16}-\d+ +\( *\d+\) \[\d+\] \S+ [\d.]+: (.*?)(?: buffer=(\w+))?$", text, re.M)
        assert collections.Counter((b, m[1] if (m := re.match(r"(\w+): ", l)) else "function") for l, b in lines) == want
        text = w.run("sql", "--csv", "trace.dat", "SELECT buffer, name FROM events").stdout.decode()
        assert counted((r["buffer"], r["name"]) for r in csv.DictReader(text.splitlines())) == want
        text = w.run("sql", "--csv", "trace.dat", "SELECT buffer, sum(spans) AS n FROM tracks WHERE kind = 'events' "
                     "GROUP BY buffer").stdout.decode()
        sums = collections.Counter()
        for (buffer, _), n in want.items():
            sums[buffer] += n
        assert {r["buffer"]: int(r["n"]) for r in csv.DictReader(text.splitlines())} == dict(sums)


def test_scripts(w):
    need("trace-cmd")
    unpacked(w, NAMES[0])
    with open(w.path("s.py"), "w") as f:
        f.write("import vestige_trace as v\n"
                "for r in v.open('trace.dat'):\n"
                "    print(r.buffer or '', r.event if r.kind == v.EVENT else 'x', sep=' ')\n")
    text = subprocess.run(["python3", "s.py"], cwd=w.dir, env=python_env(w), stdout=subprocess.PIPE, check=True).stdout.decode()
    assert counted(l.split(" ") for l in text.splitlines()) == by_trace_cmd(w), text[:300]


def test_cpu_and_time(w):
    """--cpu is of CPUs, whatever buffer has them; parts by CPU add up to the whole."""
    unpacked(w, NAMES[0])
    whole = counted((r["buffer"], r["name"]) for r in rows(w))
    parts = collections.Counter()
    for cpu in ("0", "1"):
        part = rows(w, "--cpu", cpu)
        assert {r["cpu"] for r in part} == {cpu}
        parts += counted((r["buffer"], r["name"]) for r in part)
    assert parts == whole
    times = [int(r["time"]) for r in rows(w)]
    assert times == sorted(times)


def test_convert_keeps_all(w):
    """A trace.dat of a trace.dat, of version 7 and of version 6: trace-cmd prints the same text."""
    need("trace-cmd")
    for name in NAMES:
        unpacked(w, name)
        w.run("convert", "-q", "trace.dat", "again.dat")
        want = by_trace_cmd(w)
        assert by_trace_cmd(w, "again.dat") == want
        # stacks of a 32 bit machine are printed by the size of a `long`, of which ours has 8 bytes
        if name.startswith("amd64"):
            assert w.run("report", "trace.dat").stdout == w.run("report", "again.dat").stdout
        assert not w.run("convert", "-q", "--to", "dat6", "trace.dat", "old.dat").stderr
        assert by_trace_cmd(w, "old.dat") == want


def test_calls_of_instances(w):
    """Calls in instances of a process: each buffer has its own, in the table of slices and in a
    trace.dat of the trace.dat."""
    with spinning(w) as p:
        for name in ("one", "two"):
            w.run("start", "-P", p.pid, "-B", name, "-p", "nop")
        w.run("set", "-P", p.pid, "-B", "one", "set_ftrace_filter", "mid")
        for name in ("one", "two"):
            w.run("start", "-P", p.pid, "-B", name, "-p", "function_graph")
        until_calls(w, p)
        until(lambda: b"leaf" in w.run("show", "-P", p.pid, "-B", "two").stdout)
        w.run("stop", "-P", p.pid, "-a")
        w.run("extract", "-P", p.pid, "-a", "-t")

    def slices():
        text = w.run("sql", "--csv", "trace.dat", "SELECT buffer, name, count(*) AS n, sum(duration) AS d FROM slices "
                     "GROUP BY buffer, name ORDER BY buffer, name").stdout.decode()
        return {(r["buffer"], r["name"]): (int(r["n"]), int(r["d"])) for r in csv.DictReader(text.splitlines())}

    found = slices()
    assert {b for b, _ in found} == {"one", "two"}, found
    assert found["one", "mid"][0] > 0 and [n for b, n in found if b == "one"] == ["mid"] and ("two", "leaf") in found, found
    before = w.run("report").stdout
    w.run("convert", "-q", "trace.dat", "again.dat")
    os.rename(w.path("again.dat"), w.path("trace.dat"))
    assert slices() == found
    assert w.run("report").stdout == before


def test_arguments_in_one_of_two(w):
    """Calls without arguments in one buffer, with them in the other: the formats are of both, and
    so all records have the fields that these name. Stock trace-cmd says the same."""
    need("trace-cmd")
    with spinning(w) as p:
        w.run("start", "-P", p.pid, "-B", "one", "-p", "function", "-O", "func-args")
        w.run("start", "-P", p.pid, "-p", "function_graph")
        w.run("set", "-P", p.pid, "trace_marker", "beside the calls")
        until_calls(w, p)
        until(lambda: b"leaf()" in w.run("show", "-P", p.pid).stdout)
        w.run("stop", "-P", p.pid, "-a", "-t")
        w.run("extract", "-P", p.pid, "-a", "-t")
    for file in ("trace.dat", "again.dat"):
        text = w.run("report", file).stdout
        assert b"CORRUPTED" not in text and b"funcgraph_entry" in text and b"one:" in text, text[:2000]
        assert text == subprocess.run(["trace-cmd", "report", file], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      check=True).stdout
        if file == "trace.dat":
            w.run("convert", "-q", file, "again.dat")


def until_calls(w, p):
    while b"mid" not in w.run("show", "-P", p.pid, "-B", "one").stdout:
        assert p.poll() is None


main(globals())
