#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calls are cut at the ends of time ranges and of files of a given size, and the parts add up to
the whole."""
import collections
import csv
import io
import json
import os
import re

from cli_test import main
from test_export import decode

# Calls deep and short, in threads; stacks that are left in the middle of a call
PROGRAM = r"""
#include <pthread.h>
#include <ucontext.h>
#define FN __attribute__((noipa))
volatile long sum;
static ucontext_t back, there;
static char stack[1 << 16];
FN void leaf(int i) { sum += i; }
FN void deep(int n) { leaf(n); if (n) deep(n - 1); leaf(n); }
FN void other(void) { for (;;) { leaf(1); swapcontext(&there, &back); deep(3); } }
FN void visit(void) { leaf(2); swapcontext(&back, &there); leaf(3); }
FN void *thread(void *a) { for (int i = 0; i < 60; i++) deep(i % 9); return a; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, other, 0);
	for (int i = 0; i < 60; i++) { visit(); deep(i % 7); }
	pthread_join(t, NULL);
}
"""


def recorded(w):
    prog = w.compile("p", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", prog)


def rows_of(text):
    return [r for r in csv.DictReader(io.StringIO(text)) if r["kind"] == "call"]


def sums(rows):
    out = collections.Counter()
    for r in rows:
        for what in ("duration", "self"):
            out[r["name"], r["tid"], r["depth"], what] += int(r[what])
    return +out


def seconds(ns):
    return f"{ns // 10 ** 9}.{ns % 10 ** 9:09}"


def ranges_of(rows):
    """Flags of ranges that are cut at the first call's begin, in the middle of calls, at an end,
    and behind all."""
    times = sorted({int(r["time"]) for r in rows} | {int(r["time"]) + int(r["duration"]) for r in rows})
    at = [times[0], times[len(times) // 5], times[len(times) // 3] + 1, times[len(times) // 2], times[-40] - 1, times[-1]]
    ends = [""] + [seconds(t) for t in at] + [""]
    return [f"{a}~{b}" for a, b in zip(ends, ends[1:])], at


def test_ranges(w):
    """Time and own time add up for each function, thread and level, and cut calls fill their
    range."""
    recorded(w)
    whole = rows_of(w.run("convert", "--to", "csv", "t.dat", "-").stdout.decode())
    ranges, at = ranges_of(whole)
    added = collections.Counter()
    for i, r in enumerate(ranges):
        p = w.run("convert", "--to", "csv", "--time-range", r, "t.dat", "-", status=None)
        assert p.returncode == 0 or b"no call" in p.stderr, p.stderr
        rows = rows_of(p.stdout.decode())
        added += sums(rows)
        if 1 <= i < len(ranges) - 1:
            assert {(int(r["time"]), int(r["duration"])) for r in rows if r["name"] == "main"} == {(at[i - 1], at[i] - at[i - 1])}, (r, at)
            assert all(at[i - 1] <= int(r["time"]) <= int(r["time"]) + int(r["duration"]) <= at[i] for r in rows)
    assert added == sums(whole), (added - sums(whole), sums(whole) - added)


def stacks(text):
    return collections.Counter({s: int(v) for s, v in (l.rsplit(" ", 1) for l in text.splitlines())})


def test_trees(w):
    """The same holds for whole stacks, with a choice of functions and threads, by both forms of
    names."""
    recorded(w)
    whole = stacks(w.run("convert", "--to", "folded", "t.dat", "-").stdout.decode())
    rows = rows_of(w.run("convert", "--to", "csv", "t.dat", "-").stdout.decode())
    added = collections.Counter()
    for r in ranges_of(rows)[0]:
        added += stacks(w.run("convert", "--to", "folded", "-r", r, "t.dat", "-", status=None).stdout.decode())
    assert +added == +whole, (added - whole, whole - added)
    tid = next(r["tid"] for r in rows if r["name"] == "thread")
    for args in (("--functions", "leaf", "--tids", tid), ("-F", "leaf", "--tid", tid)):
        some = rows_of(w.run("convert", "--to", "csv", *args, "t.dat", "-").stdout.decode())
        assert some and [r for r in rows if r["name"] == "leaf" and r["tid"] == tid] == \
            [dict(r, depth=s["depth"]) for r, s in zip((r for r in rows if r["name"] == "leaf" and r["tid"] == tid), some)], args
        assert len(some) == len([r for r in rows if r["name"] == "leaf" and r["tid"] == tid])


def parts(w, name, size):
    w.run("convert", "-q", "--split-size", size, "t.dat", name)
    base, _, suffix = name.partition(".")
    found = sorted(n for n in os.listdir(w.dir) if re.fullmatch(rf"{base}\.\d\d\d\.{suffix}", n))
    assert len(found) > 2 and found[0] == f"{base}.001.{suffix}" and not os.path.exists(w.path(name)), found
    texts = []
    for n in found:
        with open(w.path(n), "rb") as f:
            texts.append(f.read())
    return texts


def test_sizes(w):
    """Each file is complete and has about the wanted size."""
    recorded(w)
    whole = rows_of(w.run("convert", "--to", "csv", "t.dat", "-").stdout.decode())
    added = collections.Counter()
    for text in parts(w, "out.csv", "20K"):
        assert len(text) < 60000, len(text)
        added += sums(rows_of(text.decode()))
    assert added == sums(whole), (added - sums(whole), sums(whole) - added)
    ns = collections.Counter()
    for text in parts(w, "out.json", "1"):
        for e in json.loads(text)["traceEvents"]:
            if e["ph"] == "X":
                ns[e["name"]] += round(e["dur"] * 1000)
    want = collections.Counter()
    for (name, _, _, what), t in sums(whole).items():
        want[name] += t if what == "duration" else 0
    assert +ns == +want
    for i, text in enumerate(parts(w, "out.pftrace", "16K")):
        text = decode(w, "message Trace { repeated Packet packet = 1; } message Packet { optional uint64 timestamp = 8; "
                         "optional Event track_event = 11; } message Event { optional int32 type = 9; optional uint64 track_uuid = 11; }",
                      "Trace", text)
        open_ = collections.Counter()
        for kind, track in re.findall(r"type: ([12])\n *track_uuid: (\d+)", text):
            open_[track] += 1 if kind == "1" else -1
            assert open_[track] >= 0, i
        assert not +open_, i


def test_refused(w):
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", w.prog, "calls", 2)
    for args, word in ((("--split-size", "1M", "t.dat", "x.folded"), b"whole"), (("--split-size", "1M", "t.dat", "x.ctf"), b"folder"),
                       (("--split-size", "1M", "--to", "csv", "t.dat", "-"), b"files"), (("--split-size", "1M", "t.dat", "x.dat"), b"whole"),
                       (("--split-size", "0", "t.dat", "x.csv"), b"size"), (("--split-size", "1KB", "t.dat", "x.csv"), b"size"),
                       (("--split-size", "9999999999G", "t.dat", "x.csv"), b"size")):
        assert word in w.run("convert", *args, status=2).stderr, args


if __name__ == "__main__":
    main(globals())
