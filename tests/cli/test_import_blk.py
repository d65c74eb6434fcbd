#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""blktrace's files as input of the commands: each event has blkparse's time, CPU, process and text,
of recordings of other machines."""
import json
import lzma
import os
import re
import tarfile

from cli_test import main

DATA = os.environ["SOURCE_DIR"] + "/tests/data/blk"
NAMES = {"Q": "block_bio_queue", "M": "block_bio_backmerge", "F": "block_bio_frontmerge", "G": "block_getrq", "R": "block_rq_requeue",
         "D": "block_rq_issue", "C": "block_rq_complete", "P": "block_plug", "U": "block_unplug", "UT": "block_unplug_timer",
         "I": "block_rq_insert", "X": "block_split", "A": "block_bio_remap"}
LINE = re.compile(r" *(\d+),(\d+) +(\d+) +\d+ +(\d+)\.(\d{9}) +(\d+) +([A-Z]+) +([A-Z]+) (.*)$")


def unpack(w, name):
    with tarfile.open(f"{DATA}/{name}.tar.xz") as tar:
        tar.extractall(w.dir)
    return name


def blkparse(w, folder):
    """(ns, CPU, thread, name, text) by the text of blkparse."""
    with lzma.open(w.path(f"{folder}/blkparse.txt.xz"), "rt") as f:
        lines = [LINE.match(l.rstrip("\n")) for l in f if re.match(r" *\d+,\d+ +\d+ +\d+ +\d", l)]
    assert len(lines) > 50 and all(lines)
    return [(int(m[4]) * 10**9 + int(m[5]), int(m[3]), int(m[6]), NAMES[m[7]], f"{m[1]},{m[2]} {m[8]} {m[9]}") for m in lines]


def rows_of(w, *names):
    rows = [json.loads(l) for l in w.run("convert", "--to", "jsonl", *names, "-").stdout.splitlines()]
    assert all(r["kind"] == "event" for r in rows)
    zero = min(r["time"] for r in rows if r["name"] != "blk_message")
    return [(r["time"] - zero, r["cpu"], r["tid"], r["name"], r["text"]) for r in rows if r["name"] != "blk_message"]


def test_as_blkparse(w):
    """Both byte orders; errors and requeues; a process whose name comes after its first records has
    it in all of them."""
    for name, base in (("amd64-mixed", "mixed"), ("amd64-bad", "bad"), ("s390x-fs", "fs")):
        unpack(w, name)
        got, want = rows_of(w, f"{name}/{base}.blktrace.0"), blkparse(w, name)
        assert sorted(got) == sorted(want), (name, sorted(set(got) - set(want))[:3], sorted(set(want) - set(got))[:3])


def test_commands(w):
    """report, sql, script and a trace.dat made of it have the same events; a stream is taken,
    too."""
    unpack(w, "amd64-mixed")
    file = "amd64-mixed/mixed.blktrace.0"
    want = blkparse(w, "amd64-mixed")
    issued = [r for r in want if r[3] == "block_rq_issue"]
    report = w.run("report", "-q", file).stdout.decode()
    assert len(re.findall(r" block_rq_issue: +8,0 ", report)) == len(issued), report[:400]
    count = json.loads(w.run("sql", "--json", file, "select count(*) as n, min(name) as a from events where name = 'block_rq_issue'").stdout)
    assert str(len(issued)) in json.dumps(count), count
    w.run("convert", "-q", file, "b.dat")
    assert len(re.findall(rb" block_rq_issue: +8,0 ", w.run("report", "-q", "b.dat").stdout)) == len(issued)
    merged = b"".join(sorted(_records(w.path("amd64-mixed")), key=lambda r: int.from_bytes(r[8:16], "little")))
    with open(w.path("stream"), "wb") as f:
        f.write(merged)
    assert sorted(rows_of(w, "stream")) == sorted(want)
    first = json.loads(w.run("convert", "--to", "jsonl", "stream", "-").stdout.splitlines()[0])
    assert first["time"] == min(int.from_bytes(r[8:16], "little") for r in _records(w.path("amd64-mixed")) if r[31] >> 2 & 1 == 0), first


def _records(folder):
    for cpu in (0, 1):
        with open(f"{folder}/mixed.blktrace.{cpu}", "rb") as f:
            data = f.read()
        while data:
            n = 48 + int.from_bytes(data[46:48], "little")
            yield data[:n]
            data = data[n:]


def test_damaged(w):
    """What is behind damage is left out with a note; a file without any good record is refused."""
    unpack(w, "amd64-mixed")
    data = b"".join([r for r in _records(w.path("amd64-mixed"))][:30])
    old = b"\x06" + data[1:]
    for name, bytes_, status, word in (("cut", data[:-7], 0, b"is cut"), ("bad", data + b"x" * 48, 0, f"no record of blktrace at byte {len(data)}".encode()),
                                       ("old", old, 1, b"records of version 6")):
        with open(w.path(name), "wb") as f:
            f.write(bytes_)
        p = w.run("report", name, status=status)
        assert word in p.stderr, (name, p.stderr)


if __name__ == "__main__":
    main(globals())
