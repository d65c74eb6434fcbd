#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Imports of 200 MB within 160 MB of memory: the records are sorted in files without names."""
import os
import subprocess

from cli_test import BIN, is_sanitized, main

INPUT = 200 << 20
LIMIT_KB = 160 << 10  # 256 MB are promised for any size
PIECE = 2000  # records that are written at once


def lines_of_ftrace(i, ns):
    return "  prog-%d [%03d] d..2. %d.%09d: sched_wakeup: comm=other pid=%d prio=120 target_cpu=%03d behind it a longer text number=%d\n" \
        % (100 + i % 9, i % 4, ns // 10**9, ns % 10**9, i % 100, i % 4, i)


def lines_of_chrome(i, ns):
    us, tid = "%d.%03d" % (ns // 1000, ns % 1000), 1 + i % 7
    return ('{"ph":"X","name":"outer%d","cat":"lib","pid":1,"tid":%d,"ts":%s,"dur":0.4},\n'
            '{"ph":"B","name":"inner%d","pid":1,"tid":%d,"ts":%s},\n'
            '{"ph":"E","pid":1,"tid":%d,"ts":%d.%03d},\n') % (i % 500, tid, us, i % 30, tid + 20, us, tid + 20, (ns + 300) // 1000, (ns + 300) % 1000)


def generated(w, name, head, lines):
    """The later half of the time comes first in the file. Return: the number of calls of
    lines()."""
    size = sum(len(lines(i, 10**12 + i)) for i in range(1000)) / 1000
    nr = int(INPUT / size) // (2 * PIECE) * 2 * PIECE
    with open(w.path(name), "w") as f:
        f.write(head)
        for begin in [*range(nr // 2, nr, PIECE), *range(0, nr // 2, PIECE)]:
            f.write("".join(lines(i, 10**12 + 1700 * i) for i in range(begin, begin + PIECE)))
    return nr


def converted(w, name):
    """A row of CSV after another, and in the end a look at the largest memory that it had."""
    temporary = w.path("tmp")
    os.makedirs(temporary, exist_ok=True)
    p = subprocess.Popen([BIN, "convert", "-q", "--to", "csv", w.path(name), "-"], stdout=subprocess.PIPE, env=dict(w.env, TMPDIR=temporary))
    p.stdout.readline()
    deleted = 0
    for n, row in enumerate(p.stdout):
        if not n:  # while it still runs
            deleted = sum("(deleted)" in os.readlink(f"/proc/{p.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{p.pid}/fd"))
        yield row
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = status
    assert status == 0, status
    print(f"{name}: {os.path.getsize(w.path(name)) >> 20} MB, at most {used.ru_maxrss >> 10} MB of memory")
    assert used.ru_maxrss <= LIMIT_KB or is_sanitized(), used.ru_maxrss
    assert deleted and not os.listdir(temporary), (deleted, os.listdir(temporary))


def test_texts(w):
    """Each event of an ftrace text comes, in order of time, with its text."""
    nr = generated(w, "f.txt", "# tracer: nop\n", lines_of_ftrace)
    n = 0
    for row in converted(w, "f.txt"):
        assert row.startswith(b"event,%d," % (10**12 + 1700 * n)) and row.endswith(b"number=%d,\n" % n), (n, row)
        n += 1
    assert n == nr, (n, nr)


def test_calls(w):
    """Each call of Chrome's JSON comes, whether its length is given or its end is an event of its
    own."""
    nr = generated(w, "c.json", "[\n", lines_of_chrome)
    found = {b"400": 0, b"300": 0}
    times = [0, 0]
    for row in converted(w, "c.json"):
        kind, ts, duration, _, depth, *_ = row.split(b",")
        found[duration] += 1
        assert kind == b"call" and depth == b"0", row
        times[duration == b"300"] += int(ts)
    want = nr * 10**12 + 1700 * nr * (nr - 1) // 2
    assert found == {b"400": nr, b"300": nr} and times == [want, want], (found, nr, times, want)


def test_names(w):
    """A Perfetto trace whose sequence forgets its names before each event: no more than the last
    ones are in memory."""
    def field(number, value):
        return bytes([number << 3, value]) if isinstance(value, int) else bytes([number << 3 | 2, len(value)]) + value
    # its sequence, FLAG_CLEARED, a name of iid 1, an instant of it
    packet = field(10, 1) + field(13, 1) + field(8, 5) + field(12, field(2, field(1, 1) + field(2, b"once"))) + field(11, field(9, 3) + field(10, 1))
    nr = 3000000
    with open(w.path("p.pftrace"), "wb") as f:
        for _ in range(nr // 10000):
            f.write(10000 * field(1, packet))
    assert sum(row.split(b",")[8] == b"once" for row in converted(w, "p.pftrace")) == nr


main(globals())
