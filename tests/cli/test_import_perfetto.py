#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Perfetto's traces as input: exported calls are the same when imported; messages that protoc
writes by the documented schema are read."""
import os
import subprocess
import zlib

from cli_test import main, need
from test_import import PROGRAM, folded, lines_of, profile

SCHEMA = """syntax = "proto2";
message Trace { repeated TracePacket packet = 1; }
message TracePacket { optional Bundle ftrace_events = 1; optional ClockSnapshot clock_snapshot = 6; optional uint64 timestamp = 8;
	optional uint32 trusted_packet_sequence_id = 10; optional TrackEvent track_event = 11; optional InternedData interned_data = 12;
	optional uint32 sequence_flags = 13; optional uint32 timestamp_clock_id = 58; optional Defaults trace_packet_defaults = 59;
	optional TrackDescriptor track_descriptor = 60; }
message Bundle { optional uint32 cpu = 1; }
message ClockSnapshot { repeated Clock clocks = 1; }
message Clock { optional uint32 clock_id = 1; optional uint64 timestamp = 2; optional bool is_incremental = 3;
	optional uint64 unit_multiplier_ns = 4; }
message Defaults { optional TrackEvent track_event_defaults = 11; optional uint32 timestamp_clock_id = 58; }
message TrackEvent { repeated Annotation debug_annotations = 4; optional int32 type = 9; optional uint64 name_iid = 10;
	optional uint64 track_uuid = 11; repeated string categories = 22; optional string name = 23; }
message Annotation { optional string string_value = 6; optional string name = 10; }
message InternedData { repeated Name event_names = 2; }
message Name { optional uint64 iid = 1; optional string name = 2; }
message TrackDescriptor { optional uint64 uuid = 1; optional string name = 2; optional Process process = 3; optional Thread thread = 4;
	optional uint64 parent_uuid = 5; }
message Process { optional int32 pid = 1; optional string process_name = 6; }
message Thread { optional int32 pid = 1; optional int32 tid = 2; optional string thread_name = 5; }
"""
# two sequences with the same iids, one whose clock counts on in microseconds; a track that is no
# thread's; the state anew
TEXT = """
packet { trusted_packet_sequence_id: 1 sequence_flags: 1
	clock_snapshot { clocks { clock_id: 6 timestamp: 5000000 } clocks { clock_id: 64 timestamp: 5000 is_incremental: true unit_multiplier_ns: 1000 } }
	trace_packet_defaults { timestamp_clock_id: 64 track_event_defaults { track_uuid: 100 } } }
packet { trusted_packet_sequence_id: 1 track_descriptor { uuid: 100 thread { pid: 7 tid: 8 thread_name: "worker" } } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 1 track_descriptor { uuid: 200 name: "a queue" parent_uuid: 100 } }
packet { trusted_packet_sequence_id: 1 timestamp: 10 interned_data { event_names { iid: 1 name: "outer" } event_names { iid: 2 name: "inner" } }
	track_event { type: 1 name_iid: 1 } }
packet { trusted_packet_sequence_id: 2 timestamp: 5000000 interned_data { event_names { iid: 1 name: "task" } }
	track_event { type: 1 name_iid: 1 track_uuid: 200 } }
packet { trusted_packet_sequence_id: 1 timestamp: 5 track_event { type: 1 name_iid: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 2 track_event { type: 3 name: "here" debug_annotations { name: "text" string_value: "x=1" } } }
packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: 3 name: "bare" } }
packet { trusted_packet_sequence_id: 1 timestamp: 2 track_event { type: 2 } }
packet { trusted_packet_sequence_id: 1 timestamp: 1 track_event { type: 2 } }
packet { trusted_packet_sequence_id: 1 sequence_flags: 1 }
packet { trusted_packet_sequence_id: 1 timestamp: 6000000 interned_data { event_names { iid: 1 name: "other" } }
	track_event { type: 1 name_iid: 1 track_uuid: 100 } }
packet { trusted_packet_sequence_id: 1 timestamp: 6000700 track_event { type: 2 track_uuid: 100 } }
packet { trusted_packet_sequence_id: 2 timestamp: 5000300 track_event { type: 2 track_uuid: 200 } }
packet { trusted_packet_sequence_id: 3 timestamp: 1 ftrace_events { cpu: 1 } }
"""


def encoded(w, text):
    need("protoc")
    with open(w.path("s.proto"), "w") as f:
        f.write(SCHEMA)
    return subprocess.run(["protoc", "--encode=Trace", "s.proto"], cwd=w.dir, input=text.encode(), check=True, stdout=subprocess.PIPE).stdout


def written(w, data):
    with open(w.path("a.pftrace"), "wb") as f:
        f.write(data)
    return "a.pftrace"


def test_back(w):
    """Exported calls have the same times, threads and names when imported."""
    prog = w.compile("p", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", prog)
    w.run("convert", "-q", "t.dat", "t.pftrace")
    assert profile(w, "t.pftrace") == profile(w, "t.dat")
    assert folded(w, "t.pftrace") == folded(w, "t.dat")
    data = os.environ["SOURCE_DIR"] + "/tests/data/kernel-v6.dat"
    w.run("convert", "-q", data, "k.pftrace")
    count = [len(lines_of(w.run("report", "--format=trace", f).stdout.decode())) for f in (data, "k.pftrace")]
    assert count[0] == count[1] > 100, count


def test_schema(w):
    """Incremental clocks, defaults, names by sequence and generation, and tracks are read."""
    p = w.run("convert", "--to", "folded", written(w, encoded(w, TEXT)), "-")
    got = dict((s, int(v)) for s, v in (l.rsplit(" ", 1) for l in p.stdout.decode().splitlines()))
    assert got == {"worker;outer": 6000, "worker;outer;inner": 5000, "worker;other": 700, "a_queue;task": 300}, got
    assert b"1 packets of the kernel's records" in p.stderr, p.stderr
    report = w.run("report", "--format=trace", "a.pftrace").stdout.decode()
    assert "/* here: x=1 */" in report and "/* bare */" in report and "worker-8" in report, report


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def packed(number, data):
    """A packet that has packets: compressed_packets is field 50, zstd_compressed_packets 133."""
    inner = varint(number << 3 | 2) + varint(len(data)) + data
    return b"\x0a" + varint(len(inner)) + inner


def zstd(data):
    need("zstd")
    return subprocess.run(["zstd", "-q", "-c"], input=data, check=True, stdout=subprocess.PIPE).stdout


def test_compressed(w):
    """Packets by zlib and by zstd are the same as plain ones; damage and bombs end with one
    line."""
    plain = encoded(w, TEXT)
    want = w.run("convert", "-q", "--to", "jsonl", written(w, plain), "-").stdout
    for number, pack in ((50, zlib.compress), (133, zstd)):
        assert w.run("convert", "-q", "--to", "jsonl", written(w, packed(number, pack(plain))), "-").stdout == want, number
        for data, word in ((pack(plain)[:-9], b"is damaged"), (b"no stream", b"is damaged"), (pack(bytes(65 << 20)), b"more than 64 MiB"),
                           (pack(plain[:-3]), b"is damaged")):
            p = w.run("profile", written(w, plain + packed(number, data)), status=1)
            assert word in p.stderr and p.stderr.count(b"\n") == 1, (number, p.stderr)
        # one level of them
        p = w.run("profile", written(w, plain + packed(number, pack(packed(number, pack(plain))))))
        assert b"2 packets of the kernel's records" in p.stderr, p.stderr


def test_hostile(w):
    """A cut trace, or one with a changed byte, gives its calls or a one-line error."""
    good = encoded(w, TEXT)
    for n in range(1, len(good), 1 + len(good) // 12):
        for data in (good[:n], good[:n] + bytes([good[n] ^ 0xff]) + good[n + 1:]):
            p = w.run("profile", written(w, data), status=None)
            assert p.returncode in (0, 1) and p.stderr.count(b"\n") <= 3, (n, p.stderr)
    head = encoded(w, 'packet { sequence_flags: 1 }')
    for tail, word in ((b"\x0a\xff\xff\xff\xff\xff\x7f", b"a packet is missing"), (b"\x0a\x02\x62\x7f", b"is damaged"), (head, b"no record")):
        p = w.run("profile", written(w, head + tail), status=1)
        assert word in p.stderr and b"Perfetto" in p.stderr, (tail, p.stderr)


if __name__ == "__main__":
    main(globals())
