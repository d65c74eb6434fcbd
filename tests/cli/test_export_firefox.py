#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Firefox profiler's format: each column is whole, each number points at a row, and times agree
with `vestige profile`."""
import collections
import decimal
import json

from cli_test import main
from test_export import recorded

# the columns of a table; those that point at another one, and at which
TABLES = {
    "frameTable": ("address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID", "line", "column"),
    "funcTable": ("name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber", "columnNumber"),
    "resourceTable": ("lib", "name", "host", "type"),
    "stackTable": ("prefix", "frame"),
    "samples": ("stack", "time", "weight"),
    "markers": ("category", "data", "endTime", "name", "phase", "startTime"),
    "nativeSymbols": ("libIndex", "address", "name", "functionSize"),
}
POINTERS = (("frameTable", "func", "funcTable"), ("funcTable", "resource", "resourceTable"), ("stackTable", "prefix", "stackTable"),
            ("stackTable", "frame", "frameTable"), ("samples", "stack", "stackTable"))
META = {"preprocessedProfileVersion": 54, "version": 24, "startTime": 0, "processType": 0, "symbolicated": True}


def made(w, *flags):
    w.run("convert", "-q", *flags, "t.dat", "t.firefox.json")
    with open(w.path("t.firefox.json"), encoding="utf-8") as f:
        return json.load(f, parse_float=decimal.Decimal)


def ns(ms):
    v = decimal.Decimal(ms) * 1000000
    assert v == int(v), ms
    return int(v)


def check(d):
    assert {k: d["meta"][k] for k in META} == META, d["meta"]
    kinds = {s["name"] for s in d["meta"]["markerSchema"]}
    for t in d["threads"]:
        for table, columns in TABLES.items():
            for c in columns:
                assert len(t[table][c]) == t[table]["length"], (table, c)
        for table, column, to in POINTERS:
            assert all(v is None or 0 <= v < t[to]["length"] for v in t[table][column]), (table, column)
        assert all(p is None or p < i for i, p in enumerate(t["stackTable"]["prefix"]))
        strings = len(t["stringArray"])
        assert all(v < strings for table in ("funcTable", "resourceTable", "markers") for v in t[table]["name"])
        assert all(m["type"] in kinds for m in t["markers"]["data"])
        assert t["samples"]["weightType"] == "tracing-ms"
        spans = [(ns(a), ns(a) + ns(n)) for a, n in zip(t["samples"]["time"], t["samples"]["weight"])]
        assert all(a < b for a, b in spans) and all(x[1] == y[0] for x, y in zip(spans, spans[1:])), spans[:9]


def path(t, stack):
    out = []
    while stack is not None:
        out.append(t["stringArray"][t["funcTable"]["name"][t["frameTable"]["func"][t["stackTable"]["frame"][stack]]]])
        stack = t["stackTable"]["prefix"][stack]
    return out[::-1]


def times(d):
    """Own and total time of each function."""
    own, total = collections.Counter(), collections.Counter()
    for t in d["threads"]:
        for stack, weight in zip(t["samples"]["stack"], t["samples"]["weight"]):
            names = path(t, stack)
            for n in set(names):
                total[n] += ns(weight)
            if names:
                own[names[-1]] += ns(weight)
    return dict(own), dict(total)


def test_times(w):
    """Own times are exact. The order is the trace's; names and objects are the recording's."""
    profile = recorded(w)
    d = made(w)
    check(d)
    own, _ = times(d)
    assert own == {n: t for n, (_, t, _) in profile.items() if t}, own
    rows = [json.loads(l) for l in w.run("convert", "--to", "jsonl", "t.dat", "-").stdout.splitlines()]
    calls = [r for r in rows if r["kind"] == "call"]
    first = min(r["time"] for r in rows)
    for t in d["threads"]:
        mine = [r for r in calls if str(r["tid"]) == t["tid"]]
        starts = {r["time"] - first for r in mine} | {r["time"] + r["duration"] - first for r in mine}
        assert {ns(a) for a in t["samples"]["time"]} <= starts, t["tid"]
    mains = [t for t in d["threads"] if t["isMainThread"]]
    assert len(mains) == 1 and mains[0]["tid"] == mains[0]["pid"] and len(d["threads"]) == 2, mains
    assert {t["pid"] for t in d["threads"]} == {mains[0]["pid"]}
    assert path(mains[0], max(range(mains[0]["stackTable"]["length"]), key=lambda s: len(path(mains[0], s))))[:3] == ["main", "again", "again"]
    assert mains[0]["stringArray"][mains[0]["resourceTable"]["name"][0]] == "p"


def test_flags(w):
    """Flags choose the exported calls."""
    recorded(w)
    d = made(w, "-F", "again")
    check(d)
    assert set(times(d)[1]) == {"again"}, times(d)
    assert b"no call" in w.run("convert", "-q", "-t", "100s", "t.dat", "x.firefox.json", status=1).stderr


def test_markers(w):
    """Events are markers with their time and text, also in a recording without calls."""
    w.run("record", "-q", "-e", "signal", "-o", "t.dat", "--", w.prog, "fork", 2)
    d = made(w)
    check(d)
    rows = [json.loads(l) for l in w.run("convert", "--to", "jsonl", "t.dat", "-").stdout.splitlines()]
    first = min(r["time"] for r in rows)
    got = sorted((int(t["tid"]), ns(a) + first, t["stringArray"][n], d["text"]) for t in d["threads"]
                 for a, n, d in zip(*(t["markers"][c] for c in ("startTime", "name", "data"))))
    assert got == sorted((r["tid"], r["time"], r["name"], r["text"]) for r in rows), (got[:3], rows[:3])


if __name__ == "__main__":
    main(globals())
