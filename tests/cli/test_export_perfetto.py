#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Perfetto's protobuf: the kernel's events, wake-ups as flows and marks as counters, decoded by
protoc with the documented field numbers and compared with the CSV of the same recording."""
import collections
import os
import re

from cli_test import main
from test_export import decode

DATA = os.environ["SOURCE_DIR"] + "/tests/data/kernel-v6.dat"
SCHEMA = """
message Trace { repeated TracePacket packet = 1; }
message TracePacket { optional Bundle ftrace_events = 1; optional uint64 timestamp = 8; optional uint32 trusted_packet_sequence_id = 10;
	optional TrackEvent track_event = 11; optional InternedData interned_data = 12; optional uint32 sequence_flags = 13;
	optional TrackDescriptor track_descriptor = 60; }
message Bundle { optional uint32 cpu = 1; repeated FtraceEvent event = 2; }
message FtraceEvent { optional uint64 timestamp = 1; optional uint32 pid = 2; optional Switch sched_switch = 4; optional Power cpu_frequency = 11;
	optional Power cpu_idle = 13; optional Wakeup sched_wakeup = 17; optional Wakeup sched_waking = 20; optional Wakeup sched_wakeup_new = 114; }
message Switch { optional string prev_comm = 1; optional int32 prev_pid = 2; optional int32 prev_prio = 3; optional int64 prev_state = 4;
	optional string next_comm = 5; optional int32 next_pid = 6; optional int32 next_prio = 7; }
message Wakeup { optional string comm = 1; optional int32 pid = 2; optional int32 prio = 3; optional int32 success = 4; optional int32 target_cpu = 5; }
message Power { optional uint32 state = 1; optional uint32 cpu_id = 2; }
message TrackEvent { repeated Annotation debug_annotations = 4; optional int32 type = 9; optional uint64 name_iid = 10; optional uint64 track_uuid = 11;
	repeated string categories = 22; optional string name = 23; optional int64 counter_value = 30; repeated fixed64 flow_ids = 47;
	repeated fixed64 terminating_flow_ids = 48; }
message Annotation { optional string string_value = 6; optional string name = 10; }
message InternedData { repeated EventName event_names = 2; }
message EventName { optional uint64 iid = 1; optional string name = 2; }
message TrackDescriptor { optional uint64 uuid = 1; optional string name = 2; optional Thread thread = 4; optional uint64 parent_uuid = 5;
	optional Counter counter = 8; }
message Thread { optional int32 pid = 1; optional int32 tid = 2; optional string thread_name = 5; }
message Counter { }
"""


def packets(w, recording):
    w.run("convert", "-q", "--to", "perfetto", recording, "out")
    with open(w.path("out"), "rb") as f:
        text = decode(w, SCHEMA, "Trace", f.read())
    assert not re.search(r"^\s*\d+:", text, re.M), "a field that the schema lacks"
    return re.split(r"^packet \{\n", text, flags=re.M)[1:]


def value(text, name, default=None):
    m = re.search(rf"^\s*{name}: (\"?)(.*?)\1$", text, re.M)
    return m[2] if m else default


def test_kernel(w):
    """Each switch and wake-up of the recording, with its CPU, time and fields."""
    got = []
    for p in packets(w, DATA):
        kind = re.search(r"(sched_\w+) \{", p)
        if kind:
            got.append((kind[1], int(value(p, "timestamp")), int(value(p, "cpu"))) + tuple(
                value(p, f) for f in ("prev_comm", "prev_pid", "prev_prio", "next_comm", "next_pid", "next_prio", "comm", "target_cpu")))
    want = []
    for r in w.rows(DATA):
        text = r["text"]
        if r["name"] == "sched:sched_switch":
            m = re.match(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(\d+) prev_state=\S+ ==> next_comm=(.*) next_pid=(\d+) next_prio=(\d+)$", text)
            want.append(("sched_switch", int(r["time"]), int(r["cpu"])) + m.groups() + (None, None))
        elif r["name"] in ("sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new"):
            m = re.match(r"comm=(.*) pid=\d+ prio=\d+ target_cpu=(\d+)$", text)
            want.append((r["name"].partition(":")[2], int(r["time"]), int(r["cpu"])) + (None,) * 6 + (m[1], str(int(m[2]))))
    assert got == want and len({g[0] for g in got}) > 1, (got[:3], want[:3])


def test_flows(w):
    """A flow goes from the first waking of a thread to its next run, on the tracks of the two."""
    tracks, begun, ended = {}, {}, {}
    for p in packets(w, DATA):
        if "track_descriptor" in p:
            tracks[value(p, "uuid")] = int(value(p, "tid", 0))
            continue
        key = int(value(p, "timestamp", 0)), tracks.get(value(p, "track_uuid"))
        for name, flows in (("flow_ids", begun), ("terminating_flow_ids", ended)):
            if value(p, name):
                flows[value(p, name)] = key
    want, waking = collections.Counter(), {}
    for r in w.rows(DATA):
        wakes = re.match(r"comm=.* pid=(\d+) prio", r["text"]) if r["name"].startswith("sched:sched_wak") else None
        runs = re.search(r"next_pid=(\d+) ", r["text"]) if r["name"] == "sched:sched_switch" else None
        if wakes:
            waking.setdefault(int(wakes[1]), (int(r["time"]), int(r["tid"])))
        elif runs and int(runs[1]) in waking:
            want[(waking.pop(int(runs[1])), (int(r["time"]), int(runs[1])))] += 1
    assert collections.Counter((begun[i], e) for i, e in ended.items()) == want and len(want) > 5, (list(ended.items())[:3], list(want)[:3])
    assert len(begun) == len(want) + len(waking)


def test_counters(w):
    """Marks of counters, of two names and two processes; what is no counter stays an event
    alone."""
    marks = (("C|7|queue|3", 10), ("C|7|queue|-1", 11), ("C|8|queue|9", 12), ("C|7|a|b|4", 13), ("C|7|queue", 14), ("C|7|queue|x", 15))
    with open(w.path("t.txt"), "w", encoding="utf-8") as f:
        f.write("# tracer: nop\n" + "".join(f"  prog-7 [000] ..... 1.0000{n}: tracing_mark_write: {t}\n" for t, n in marks))
    names, got, instants = {}, [], 0
    for p in packets(w, "t.txt"):
        if "counter {" in p:
            names[value(p, "uuid")] = value(p, "name")
        elif value(p, "type") == "4":
            got.append((names[value(p, "track_uuid")], value(p, "track_uuid"), int(value(p, "counter_value")), int(value(p, "timestamp"))))
        instants += value(p, "type") == "3"
    assert [(g[0], g[2], g[3]) for g in got] == [("queue", 3, 1000010000), ("queue", -1, 1000011000), ("queue", 9, 1000012000), ("a|b", 4, 1000013000)], got
    assert len({g[1] for g in got}) == 3 and instants == len(marks), (got, instants)


if __name__ == "__main__":
    main(globals())
