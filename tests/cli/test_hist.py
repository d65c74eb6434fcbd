#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige hist` against stock trace-cmd hist, and against the records that trace-cmd report
prints."""
import collections
import json
import lzma
import os
import re
import subprocess

from cli_test import main, need

KERNELS = os.path.join(os.environ["SOURCE_DIR"], "tests", "data", "kernels")


def kernels(w, name):
    """A recording of a kernel, unpacked."""
    with lzma.open(f"{KERNELS}/{name}.dat.xz") as f, open(w.path(name + ".dat"), "wb") as to:
        to.write(f.read())
    return w.path(name + ".dat")



def trace_cmd(*args):
    need("trace-cmd")
    return subprocess.run(["trace-cmd", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout.decode()


def blocks(text):
    """The rows with their trees. Rows of equal counts may come in any order."""
    return sorted(b.strip() for b in text.split("\n\n") if b.strip())


def test_as_trace_cmd(w):
    """The text of a file without stacks equals trace-cmd's. (With stacks trace-cmd counts some
    records twice.)"""
    dat = kernels(w, "amd64-tsc-v7")
    ours, theirs = (blocks(t) for t in (w.run("hist", "-P", dat).stdout.decode(), trace_cmd("hist", "-P", dat)))
    assert ours == theirs and len(ours) == 2
    names = lambda t: blocks(re.sub(r"\) .*? {2}", ") COMM  ", t))   # noqa: E731
    assert names(w.run("hist", dat).stdout.decode()) == names(trace_cmd("hist", dat))


def test_counts(w):
    """Each record of a kernel's file is counted once."""
    for name in ("amd64-stack-v7", "s390x-function-v7", "i386-function-v7"):
        dat = kernels(w, name)
        want = collections.Counter()
        for line in trace_cmd("report", "--nodate", "-i", dat).splitlines():
            m = re.match(r" *\S.*-\d+ +\[\d+\] .*?\d: (\w+): +(\S*)", line)
            if m and m.group(1) not in ("kernel_stack", "user_stack"):
                want[m.group(2) if m.group(1) == "function" else m.group(1)] += 1
        got = {r["name"]: r["count"] for r in json.loads(w.run("hist", "-P", "--json", dat).stdout)}
        assert sum(got.values()) == sum(want.values()) > 50, (name, sum(got.values()), sum(want.values()))
        same = [n for n in want if got.get(n) == want[n]]
        assert len(same) >= len(want) - 3, (name, {n: (want[n], got.get(n)) for n in want if n not in same})
        tree = re.search(r"__traceiter_sched_switch\n +__schedule\n", w.run("hist", "-P", dat).stdout.decode())
        assert tree or "stack" not in name


def test_program(w):
    w.run("record", "-p", "function", "-o", "f.dat", "-q", "--", w.prog, "calls", "40")
    for flags, total in (([], 1), (["-P"], 1)):
        rows = json.loads(w.run("hist", *flags, "--json", "f.dat").stdout)
        leaf = [r for r in rows if r["name"] == "leaf"]
        assert len(leaf) == total and leaf[0]["count"] == 80
        assert [(c["name"], c["count"]) for c in leaf[0]["callers"]] == [("mid", 80)], leaf
    text = w.run("hist", "-P", "f.dat").stdout.decode()
    assert re.search(r"^  %\d+\.\d\d <all pids> +leaf #80\n         \|\n         --- leaf\n          mid\n", text, re.M), text
    graph = json.loads((w.run("record", "-p", "function_graph", "-o", "g.dat", "-q", "--", w.prog, "calls", "40"),
                        w.run("hist", "-P", "--json", "g.dat"))[1].stdout)
    leaf = [r for r in graph if r["name"] == "leaf"][0]
    assert leaf["count"] == 80 and leaf["callers"][0]["name"] == "mid" and leaf["callers"][0]["callers"][0]["name"] == "main"
    assert b"nosuch" in w.run("hist", "nosuch", status=1).stderr


main(globals())
