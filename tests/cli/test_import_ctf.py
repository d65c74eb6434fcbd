#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""CTF traces as input: events have the time, CPU, thread and fields that babeltrace2 prints, calls
are made of the events of -finstrument-functions. A damaged trace ends in an error."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import tarfile

from cli_test import main, need
from test_export import recorded

LINE = re.compile(r"^\[(-?\d+)\] (?:\(.*?\) )?(?:\S+ )?(\S+): (?:\{ cpu_id = (\d+) \}, )?(?:\{ vpid = (\d+), vtid = (\d+), procname = \"(.*?)\" \}, )?\{ (.*)\}$")
Event = collections.namedtuple("Event", "time cpu tid comm name text")


def unpack(w):
    with tarfile.open(os.environ["SOURCE_DIR"] + "/tests/data/ctf/lttng-ust.tar.xz") as tar:
        tar.extractall(w.path("ust"))


def babeltrace(w, folder):
    need("babeltrace2")
    text = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", "--fields=trace:procname", w.path(folder)],
                          check=True, stdout=subprocess.PIPE).stdout.decode()
    out = []
    for l in text.splitlines():
        m = LINE.match(l)
        assert m, l
        out.append(Event(int(m[1]), int(m[3] or 0), int(m[5] or 0), m[6] or "", m[2], m[7].strip()))
    return out


def ours(w, folder):
    return [json.loads(l) for l in w.run("convert", "--to", "jsonl", folder, "-").stdout.splitlines()]


def test_events(w):
    """Integers of all bases and orders, floats, strings, arrays, sequences, enumerations: the text
    is babeltrace2's."""
    unpack(w)
    want = babeltrace(w, "ust/events")
    got = [Event(r["time"], r["cpu"], r["tid"], "", r["name"], r.get("text", "")) for r in ours(w, "ust/events")]
    assert len(want) == 23 and sorted(got) == sorted(want), (got[:2], want[:2])


def test_calls(w):
    """Calls of LTTng-UST's -finstrument-functions, of two threads, between events."""
    unpack(w)
    want, open_ = [], collections.defaultdict(list)
    lines = babeltrace(w, "ust/calls")
    for e in lines:
        if e.name.endswith(":func_entry"):
            open_[e.tid].append((e.time, re.match("addr = (0x[0-9A-F]+)", e.text)[1].lower()))
        elif e.name.endswith(":func_exit"):
            begun, addr = open_[e.tid].pop()
            want.append((e.tid, begun, e.time - begun, addr))
    rows = ours(w, "ust/calls")
    assert sorted((r["tid"], r["time"], r["duration"], r["name"]) for r in rows if r["kind"] == "call") == sorted(want) and len(want) > 100
    texts = sorted((e.time, e.cpu, e.tid, e.name, e.text) for e in lines if e.name.startswith("shop:"))
    assert sorted((r["time"], r["cpu"], r["tid"], r["name"], r.get("text", "")) for r in rows if r["kind"] == "event") == texts
    assert {r["comm"] for r in rows} == {"p"}
    w.run("convert", "-q", "ust/calls", "c.dat")
    assert w.run("replay", "c.dat").stdout.count(b"(") == w.run("replay", "ust/calls").stdout.count(b"(") > 100
    assert w.run("report", "ust/calls").stdout.count(b"funcgraph_entry") == len(want)


def test_back(w):
    """Our own export has the calls of the recording that it was made of, by name."""
    recorded(w)
    w.run("convert", "-q", "t.dat", "t.ctf")
    calls = [collections.Counter((r["time"], r["duration"], r["tid"], r["name"]) for r in ours(w, f) if r["kind"] == "call" and not r.get("text"))
             for f in ("t.dat", "t.ctf")]
    assert calls[0] and not calls[0] - calls[1], list((calls[0] - calls[1]).items())[:3]


KERNEL = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace { major = 1; minor = 8; byte_order = be; packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
env { domain = "kernel"; };
clock { name = k; freq = 500000000; offset_s = 100; offset = 7; };
typealias integer { size = 64; align = 8; signed = false; map = clock.k.value; } := stamp_t;
stream { id = 0; event.header := struct { uint32_t id; stamp_t t; };
  packet.context := struct { uint64_t content_size; uint64_t packet_size; uint32_t cpu_id; }; };
event { name = "sched_switch"; id = 0; stream_id = 0; fields := struct { string _prev_comm; uint32_t _prev_tid;
  integer { size = 5; align = 1; signed = true; } _prio; integer { size = 3; align = 1; signed = false; } _state;
  string _next_comm; uint32_t _next_tid; }; };
event { name = "irq"; id = 1; stream_id = 0; fields := struct { enum : uint32_t { A = 0, B = 1 ... 9 } _tag;
  variant <_tag> { struct { uint32_t x; } A; string B; } _v; }; };
"""


def kernel(w, name, last=b""):
    """A kernel's trace as LTTng has it without contexts: big-endian, bit fields, a variant."""
    def event(number, cycles, body):
        return struct.pack(">IQ", number, cycles) + body

    os.makedirs(w.path(f"{name}/kernel"))
    with open(w.path(f"{name}/kernel/metadata"), "w", encoding="utf-8") as f:
        f.write(KERNEL)
    for cpu, tid in ((0, 70), (3, 71)):
        body = event(1, 1000 + cpu, struct.pack(">II", 0, 5))
        body += event(0, 1010 + cpu, b"swapper\0" + struct.pack(">I", 0) + bytes([0b11110_010]) + f"task{tid}\0".encode() + struct.pack(">I", tid))
        body += event(1, 1020 + cpu, struct.pack(">I", 4) + b"text\0") + last
        size = 8 * (28 + len(body))
        with open(w.path(f"{name}/kernel/channel_{cpu}"), "wb") as f:
            f.write(struct.pack(">IIQQI", 0xC1FC1FC1, 0, size, size, cpu) + body)


def test_kernel(w):
    """Without contexts an event's thread is the one that its CPU was switched to. Times are the
    clock's, in ns."""
    kernel(w, "k")
    want = [(2 * e.time, e.cpu, e.name, e.text) for e in babeltrace(w, "k")]
    rows = ours(w, "k")
    assert sorted((r["time"], r["cpu"], r["name"], r["text"]) for r in rows) == sorted(want) and len(want) == 6, (rows, want)
    assert [(r["cpu"], r["tid"], r["comm"]) for r in rows if r["name"] == "irq" and "text" in r["text"]] == [(0, 70, "task70"), (3, 71, "task71")]
    assert 'tag = ( "B" : container = 4 ), v = { "text" }' in [r["text"] for r in rows] and any("prio = -2, state = 2" in r["text"] for r in rows), rows


def test_damaged(w):
    kernel(w, "good")
    for name, change, word in (("cut", lambda f: os.truncate(f + "/channel_0", 60), b"a CTF trace"),
                               ("text", lambda f: open(f + "/metadata", "a", encoding="utf-8").write("event {"), b"a CTF trace"),
                               ("none", lambda f: [os.unlink(f"{f}/channel_{c}") for c in (0, 3)], b"no record that is understood")):
        shutil.copytree(w.path("good"), w.path(name))
        change(w.path(f"{name}/kernel"))
        p = w.run("convert", "--to", "jsonl", name, "-", status=1)
        assert word in p.stderr and b"metadata" not in p.stdout, (name, p.stderr)
    # version 2.0 of the library reads a packet of metadata that is cut for ever
    os.mkdir(w.path("endless"))
    with open(w.path("endless/metadata"), "wb") as f:
        f.write(struct.pack("<I16sIII5B", 0x75D11D57, bytes(16), 0, 8000, 8000, 0, 0, 0, 1, 8) + b"/* CTF 1.8 */\n")
    p = w.run("convert", "--to", "jsonl", "endless", "-", status=1)
    assert b"a CTF trace, but cannot be read: babeltrace2's library" in p.stderr, p.stderr
    os.mkdir(w.path("empty"))
    assert b"no known tool" in w.run("convert", "--to", "csv", "empty", "-", status=1).stderr


if __name__ == "__main__":
    main(globals())
