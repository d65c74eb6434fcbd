#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each exported format of calls has the calls and times that `vestige profile` prints for the same
recording."""
import collections
import csv
import gzip
import io
import json
import os
import re
import subprocess
import xml.etree.ElementTree

from cli_test import main, need

# C++ names with blanks, quotes of XML and commas; a recursion; a throw through two calls
PROGRAM = r"""
#include <pthread.h>
#include <stdexcept>
#define FN __attribute__((noinline, optnone))
volatile long sum;
template <class A, class B> struct pair_of { FN static void first(A a, B b) { sum += a + b; } };
FN long again(int n) { return n ? again(n - 1) + sum : 1; }
FN void thrower(int n) { if (n > 2) throw std::runtime_error("no"); sum += n; }
FN void catcher() { for (int i = 0; i < 5; i++) try { thrower(i); } catch (...) { sum++; } }
FN void *thread(void *a) { for (int i = 0; i < 20; i++) pair_of<int, long>::first(i, i); return a; }
int main()
{
	pthread_t t;
	pthread_create(&t, nullptr, thread, nullptr);
	again(9);
	catcher();
	pthread_join(t, nullptr);
}
"""
FORMATS = ["callgrind", "chrome", "csv", "dot", "flame", "folded", "jsonl", "order", "perfetto", "pprof", "speedscope"]


def recorded(w):
    """A recording, and its profile: {name: (calls, self, total)}."""
    with open(w.path("p.cc"), "w") as f:
        f.write(PROGRAM)
    subprocess.run(["clang++", "-O1", "p.cc", "-fpatchable-function-entry=6", "-o", "p", "-lpthread"], cwd=w.dir, check=True)
    w.run("record", "-q", "-p", "function_graph", "-e", "signal", "-o", "t.dat", "--", w.path("p"))
    rows = json.loads(w.run("profile", "--json", "t.dat").stdout)["functions"]
    return {r["name"]: (r["calls"], r["self"], r["total"]) for r in rows}


def made(w, name, *flags):
    w.run("convert", "-q", "--to", name, *flags, "t.dat", "out")
    with open(w.path("out"), "rb") as f:
        return f.read()


def sums(rows):
    out = collections.Counter()
    for name, value in rows:
        out[name] += value
    return dict(out)


def own_times(profile):
    return {n: own for n, (_, own, _) in profile.items() if own}


def test_to_a_suffix(w):
    """--to takes a format's name, and a suffix as of the output's name."""
    recorded(w)
    for name, suffix in ("flame", "svg"), ("dot", "gv"), ("jsonl", "jsonl"), ("firefox", "firefox.json"):
        assert made(w, name) == made(w, suffix), suffix
    assert b"not a format of --list" in w.run("convert", "--to", "vg", "t.dat", "out", status=2).stderr


def test_stacks(w):
    """In folded stacks, speedscope and pprof the innermost function of each stack has the time."""
    profile = recorded(w)
    blank = {n.replace(" ", "_"): t for n, t in own_times(profile).items()}
    lines = [l.rsplit(" ", 1) for l in made(w, "folded").decode().splitlines()]
    assert sums((s.split(";")[-1], int(v)) for s, v in lines) == blank, lines
    assert any(s.startswith("p;main;again;again;again") for s, _ in lines), lines
    d = json.loads(made(w, "speedscope"))
    names = [f["name"] for f in d["shared"]["frames"]]
    assert sums((names[s[-1]], v) for p in d["profiles"] for s, v in zip(p["samples"], p["weights"])) == own_times(profile)
    assert all(sum(p["weights"]) == p["endValue"] for p in d["profiles"]) and len(d["profiles"]) == 2


def decode(w, schema, message, data):
    """protoc's text of a message, by a schema with the documented field numbers."""
    need("protoc")
    with open(w.path("schema.proto"), "w") as f:
        f.write('syntax = "proto2";\n' + schema)
    return subprocess.run(["protoc", f"--decode={message}", "schema.proto"], cwd=w.dir, input=data, check=True,
                          stdout=subprocess.PIPE).stdout.decode()


def test_pprof(w):
    profile = recorded(w)
    text = decode(w, """
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Location location = 4;
	repeated Function function = 5; repeated string string_table = 6; optional int64 duration_nanos = 10;
	optional int64 default_sample_type = 14; }
message ValueType { optional int64 type = 1; optional int64 unit = 2; }
message Sample { repeated uint64 location_id = 1 [packed=true]; repeated int64 value = 2 [packed=true]; repeated Label label = 3; }
message Label { optional int64 key = 1; optional int64 str = 2; }
message Location { optional uint64 id = 1; optional uint64 address = 3; repeated Line line = 4; }
message Line { optional uint64 function_id = 1; }
message Function { optional int64 id = 1; optional int64 name = 2; optional int64 system_name = 3; optional int64 filename = 4; }
""", "Profile", gzip.decompress(made(w, "pprof")))
    strings = [json.loads(s) for s in re.findall(r"^string_table: (.*)$", text, re.M)]
    assert strings[0] == "" and strings[1:5] == ["calls", "count", "time", "nanoseconds"], strings
    assert not re.search(r"^\s*\d+:", text, re.M), "a field that the schema lacks"
    names = {int(i): strings[int(n)] for i, n in re.findall(r"function \{\n  id: (\d+)\n  name: (\d+)", text)}
    at = {int(i): int(f) for i, f in re.findall(r"location \{\n  id: (\d+)\n.*?function_id: (\d+)", text, re.S)}
    own, calls = collections.Counter(), collections.Counter()
    for sample in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S):
        first = names[at[int(re.search(r"location_id: (\d+)", sample)[1])]]
        n, ns = map(int, re.findall(r"value: (\d+)", sample))
        own[first] += ns
        calls[first] += n
    assert {n: (calls[n], own[n]) for n in calls} == {n: (c, s) for n, (c, s, _) in profile.items()}


def test_perfetto(w):
    """Begins and ends of each track nest, with profile's calls and times."""
    profile = recorded(w)
    text = decode(w, """
message Trace { repeated TracePacket packet = 1; }
message TracePacket { optional uint64 timestamp = 8; optional uint32 trusted_packet_sequence_id = 10;
	optional TrackEvent track_event = 11; optional InternedData interned_data = 12; optional uint32 sequence_flags = 13;
	optional TrackDescriptor track_descriptor = 60; }
message TrackEvent { repeated Annotation debug_annotations = 4; optional int32 type = 9; optional uint64 name_iid = 10;
	optional uint64 track_uuid = 11; optional string name = 23; }
message Annotation { optional string string_value = 6; optional string name = 10; }
message InternedData { repeated EventName event_names = 2; }
message EventName { optional uint64 iid = 1; optional string name = 2; }
message TrackDescriptor { optional uint64 uuid = 1; optional string name = 2; optional Thread thread = 4; optional uint64 parent_uuid = 5; }
message Thread { optional int32 pid = 1; optional int32 tid = 2; optional string thread_name = 5; }
""", "Trace", made(w, "perfetto"))
    names, open_, calls, total = {}, collections.defaultdict(list), collections.Counter(), collections.Counter()
    packets = [p for p in re.split(r"^packet \{\n", text, flags=re.M)[1:]]
    assert "sequence_flags: 1" in packets[0] and len(re.findall("thread_name", text)) >= 2
    for p in packets:
        for iid, name in re.findall(r"iid: (\d+)\n\s*name: (\".*\")", p.split("track_event")[0] + p.split("interned_data")[-1]):
            names.setdefault(int(iid), json.loads(name))
        event = re.search(r"track_event \{\n(.*?)^  \}", p, re.M | re.S)
        if not event or not re.search(r"type: [12]", event[1]):
            continue
        track, ts = re.search(r"track_uuid: (\d+)", event[1])[1], int(re.search(r"timestamp: (\d+)", p)[1])
        if "type: 1" in event[1]:
            open_[track].append((int(re.search(r"name_iid: (\d+)", event[1])[1]), ts))
        else:
            iid, begun = open_[track].pop()
            calls[names[iid]] += 1
            if iid not in [i for i, _ in open_[track]]:
                total[names[iid]] += ts - begun
    assert not any(open_.values())
    assert {n: (calls[n], total[n]) for n in calls} == {n: (c, t) for n, (c, _, t) in profile.items()}


def test_rows(w):
    """CSV, JSON lines and Chrome's JSON have each call and each event."""
    profile = recorded(w)
    table = list(csv.DictReader(io.StringIO(made(w, "csv").decode())))
    lines = [json.loads(l) for l in made(w, "jsonl").decode().splitlines()]
    for rows in (table, lines):
        calls = [r for r in rows if r["kind"] == "call"]
        assert sums((r["name"], int(r["self"])) for r in calls) == {n: s for n, (_, s, _) in profile.items()}
        assert collections.Counter(r["name"] for r in calls) == {n: c for n, (c, _, _) in profile.items()}
        assert [r["name"] for r in calls if r.get("text") == "unwound"] == ["thrower"] * 2
        assert {r["object"] for r in calls} == {"p"}
    events = json.loads(made(w, "chrome"))["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    assert sums((e["name"], round(e["dur"] * 1000)) for e in slices if e["name"] != "again") == \
        {n: t for n, (_, _, t) in profile.items() if n != "again"}
    assert collections.Counter(e["name"] for e in slices) == {n: c for n, (c, _, _) in profile.items()}
    for tid in {e["tid"] for e in slices}:
        ends = []
        for e in sorted((e for e in slices if e["tid"] == tid), key=lambda e: (e["ts"], -e["dur"])):
            # whole nanoseconds: a sum of fractions may be a little more than the next call's start
            while ends and ends[-1] <= round(e["ts"] * 1000):
                ends.pop()
            end = round(e["ts"] * 1000) + round(e["dur"] * 1000)
            assert not ends or end <= ends[-1], (e, ends)
            ends.append(end)


def test_functions(w):
    """Calls without times are exported as rows, without a tree."""
    w.run("record", "-q", "-p", "function", "-o", "f.dat", "--", w.prog, "calls", 3)
    rows = w.rows("f.dat")
    got = collections.Counter(r["name"] for r in rows if r["kind"] == "function")
    assert got["leaf"] == 6 and got["mid"] == 3 and got["main"] == 1, got
    assert all(r["text"] == "mid" for r in rows if r["name"] == "leaf")
    p = w.run("convert", "--to", "folded", "f.dat", "-", status=1)
    assert b"function_graph" in p.stderr and not p.stdout, p.stderr


def test_callgrind(w):
    need("callgrind_annotate")
    profile = recorded(w)
    made(w, "callgrind")
    text = subprocess.run(["callgrind_annotate", "--threshold=100", "--tree=none", "out"], cwd=w.dir, check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    got = {n: int(v.replace(",", "")) for v, n in re.findall(r"^ *([\d,]+) \([^)]*\) +\?\?\?:(.*?) \[p\]$", text, re.M)}
    assert got == own_times(profile), (got, profile)
    assert f"{sum(own_times(profile).values()):,} (100.0%)  PROGRAM TOTALS" in text, text
    text = subprocess.run(["callgrind_annotate", "--threshold=100", "--inclusive=yes", "--tree=calling", "out"], cwd=w.dir,
                          check=True, stdout=subprocess.PIPE).stdout.decode()
    assert re.search(rf"{profile['catcher'][2]:,} \([^)]*\) +> +\?\?\?:catcher \(1x\)", text), text


def test_pictures(w):
    """Pictures are well-formed with each function, and boxes of the flame graph lie within the
    boxes below."""
    profile = recorded(w)
    root = xml.etree.ElementTree.fromstring(made(w, "flame"))
    boxes = [g for g in root.iter("{http://www.w3.org/2000/svg}g")]
    names = {g.get("data-n") for g in boxes}
    assert {"all", "main", "catcher"} <= names <= {"all", *profile} | {n for n in names if "(" in n}, names
    at = collections.defaultdict(list)
    for g in boxes:
        at[int(g.get("data-d"))].append((float(g.get("data-x")), float(g.get("data-x")) + float(g.get("data-w"))))
    for row in range(1, max(at) + 1):
        assert all(any(a - 1e-3 <= x and y <= b + 1e-3 for a, b in at[row - 1]) for x, y in at[row]), row
    text = made(w, "dot").decode()
    for name, (calls, _, _) in profile.items():
        assert re.search(rf'label="{re.escape(name)}\\n.*\\n{calls} calls?"', text), (name, text)
    edge = re.search(r'(f\d+) -> (f\d+) \[label="9\\n', text)
    assert edge and edge[1] == edge[2], text
    assert made(w, "order").decode().split()[0] == "main"


def test_choice(w):
    """Flags choose calls, and the file name's suffix the format. Impossible choices are errors with
    a reason."""
    recorded(w)
    rows = w.run("convert", "-F", "catcher", "--to", "folded", "t.dat", "-").stdout.decode()
    assert rows and all(re.match(r"p;catcher[; ]", l) for l in rows.splitlines()), rows
    for suffix, name in (("json", "chrome"), ("speedscope.json", "speedscope"), ("svg", "flame"), ("pb.gz", "pprof")):
        w.run("convert", "-q", "t.dat", f"x.{suffix}")
        with open(w.path(f"x.{suffix}"), "rb") as f:
            assert f.read() == made(w, name), suffix
    w.run("convert", "-q", "-i", "t.dat", "-o", "x.csv")
    for args, status, word in ((("-F", "x", "t.dat", "y.dat"), 2, b"whole recording"), (("t.dat", "-"), 2, b"is a file"),
                               (("--no-native", "t.dat", "y.csv"), 2, b"dat6"), (("--srcline", "t.dat", "y.csv"), 2, b"lines"),
                               (("-F", "nosuch", "t.dat", "y.csv"), 1, b"no call"), (("t.dat",), 2, b"output"),
                               (("-t", "1us", "t.dat", "y.pftrace"), 1, b"time-filter"), (("nosuch", "y.csv"), 1, b"No such file"),
                               (("t.dat", "/nosuch/y.csv"), 1, b"/nosuch"), (("t.dat", "x.csv", "z"), 2, b"input")):
        p = w.run("convert", *args, status=status)
        assert word in p.stderr, (args, p.stderr)
        assert not os.path.exists(w.path("y.csv")) and not os.path.exists(w.path("y.dat")), args
    with open("/dev/full", "w") as full:
        p = subprocess.run([os.environ["VESTIGE_BIN"], "convert", "--to", "csv", w.path("t.dat"), "-"], stdout=full,
                           stderr=subprocess.PIPE, check=False)
    assert p.returncode == 1 and b"No space left" in p.stderr, p.stderr


if __name__ == "__main__":
    main(globals())
