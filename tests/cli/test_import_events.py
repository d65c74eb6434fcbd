#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Events of other tools' files have their names in all commands, beside calls, too; a text whose
name is no event's stays a text."""
import json
import re

from cli_test import main

CHROME = [{"ph": "B", "ts": 1, "pid": 5, "tid": 5, "name": "outer", "cat": "prog"},
          {"ph": "i", "ts": 2, "pid": 5, "tid": 5, "name": "tick", "s": "t"},
          {"ph": "i", "ts": 3, "pid": 5, "tid": 5, "name": "frame 12", "s": "t"},
          {"ph": "i", "ts": 4, "pid": 5, "tid": 5, "name": "tick", "s": "t"},
          {"ph": "E", "ts": 9, "pid": 5, "tid": 5}]
PERF = """dd   274 [001]   10.000001: block:block_rq_issue: 8,0 R 4096 () 8 + 8 [dd]
dd   274 [001]   10.000002: sched:sched_switch: dd:274 [120] S ==> swapper/1:0 [120]
dd   274 [001]   10.000003: ftrace:print: main: hello
dd   274 [000]   10.000004: block:block_rq_issue: 8,0 R 4096 () 16 + 8 [dd]
"""


def events(w, file):
    rows = [json.loads(l) for l in w.run("convert", "--to", "jsonl", file, "-").stdout.splitlines()]
    return [(r["kind"], r["name"]) for r in rows if r["kind"] != "call"]


def test_beside_calls(w):
    with open(w.path("c.json"), "w") as f:
        json.dump(CHROME, f)
    assert events(w, "c.json") == [("event", "tick"), ("print", "print"), ("event", "tick")], events(w, "c.json")
    assert re.search(rb"all pids> +tick #2\n", w.run("hist", "-P", "c.json").stdout)
    replay = w.run("replay", "c.json").stdout.decode()
    assert len(re.findall(r"/\* tick \*/", replay)) == 2 and "frame 12" in replay, replay
    w.run("convert", "-q", "c.json", "c.dat")
    report = w.run("report", "-q", "c.dat").stdout.decode()
    assert len(re.findall(r" tick: ", report)) == 2 and "print:" in report, report


def test_systems(w):
    """The name has the file's system, and the text is the file's, whatever libtraceevent's plug-ins
    make of the kernel's own event."""
    with open(w.path("p.txt"), "w") as f:
        f.write(PERF)
    assert events(w, "p.txt") == [("event", "block:block_rq_issue"), ("event", "sched:sched_switch"), ("print", "ftrace:print"),
                                  ("event", "block:block_rq_issue")], events(w, "p.txt")
    report = w.run("report", "p.txt").stdout.decode()
    assert re.search(r"sched_switch: +dd:274 \[120\] S ==> swapper/1:0 \[120\]\n", report), report
    assert len(re.findall("block_rq_issue:", w.run("report", "-q", "-F", "block_rq_issue:text =~ \"16 . 8\"", "p.txt").stdout.decode())) == 1
    w.run("sched", "p.txt", status=None)


def test_names_of_any_kind(w):
    """Many names, long ones and long texts do no harm."""
    marks = [{"ph": "i", "ts": i, "pid": 1, "tid": 1, "name": f"e{i}", "s": "t"} for i in range(9000)]
    marks += [{"ph": "i", "ts": 9000 + i, "pid": 1, "tid": 1, "name": n, "s": "t", "args": {"t": "x" * 30000}}
              for i, n in enumerate(["n" * 5000, "a:b:c", ":", "9x", "print", "long"])]
    with open(w.path("m.json"), "w") as f:
        json.dump(marks, f)
    got = events(w, "m.json")
    assert len(got) == 9006 and got[0] == ("event", "e0") and got[8999][0] == "print" and got[9005] == ("print", "long"), got[8990:]
    assert len(w.run("report", "-q", "m.json").stdout.splitlines()) >= 9006


main(globals())
