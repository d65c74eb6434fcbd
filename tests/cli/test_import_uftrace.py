#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""uftrace's folders as input: the calls are equal to `uftrace dump`'s, by name, thread and time to
the nanosecond."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess

from cli_test import main, need

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define FN __attribute__((noipa))
volatile long sum;
FN int leaf(int i) { sum += i; return i; }
FN int deep(int n) { leaf(n); if (n) deep(n - 1); return leaf(n + 1); }
FN void text(const char *s) { sum += s[0]; }
FN void *thread(void *a) { for (int i = 0; i < 20; i++) deep(i % 5); return a; }
int main(int argc, char **argv)
{
	pthread_t t;
	if (argc > 1) { /* the program that the child runs */
		deep(2);
		return 0;
	}
	pthread_create(&t, NULL, thread, NULL);
	for (int i = 0; i < 20; i++) deep(i % 3);
	text("Ftrace!-----------------------------");
	pthread_join(t, NULL);
	if (!fork()) {
		deep(1);
		execl(argv[0], argv[0], "again", NULL);
		_exit(1);
	}
	wait(NULL);
	return 0;
}
"""
ENTRY, EXIT = 0, 1


def recorded(w, name, *flags):
    """A folder that uftrace recorded. Skips without uftrace."""
    need("uftrace")
    w.compile("p", PROGRAM, "-pg", "-fpatchable-function-entry=0")
    env = {k: v for k, v in w.env.items() if k not in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS")}
    subprocess.run(["uftrace", "record", "--no-pager", "-d", name, *flags, "./p"], cwd=w.dir, env=env, check=True,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)


def dumped(w, name):
    """Calls that begin and end, and events, by uftrace: (thread, name, begin, length), (thread,
    name, time)."""
    text = subprocess.run(["uftrace", "dump", "--no-pager", "-d", name], cwd=w.dir, check=True, stdout=subprocess.PIPE).stdout.decode()
    calls, events, stacks = [], [], collections.defaultdict(list)
    for at, ns, tid, kind, what in re.findall(r"^ *(\d+)\.(\d{9}) +(\d+): \[(entry|exit |event)\] (.*?)\([0-9a-f]+\)", text, re.M):
        ts, stack = int(at) * 10**9 + int(ns), stacks[tid]
        if kind == "entry":
            stack.append((what, ts))
        elif kind == "event":
            if what not in ("linux:task-name", "linux:task-exit", "linux:task-new"):
                events.append((int(tid), what, ts))
        elif stack:
            begun = stack.pop()
            assert begun[0] == what, (begun, what)
            calls.append((int(tid), what, begun[1], ts - begun[1]))
    return sorted(calls), sorted(events)


def ours(w, name):
    rows = [json.loads(l) for l in w.run("convert", "--to", "jsonl", name, "-").stdout.splitlines()]
    return (sorted((r["tid"], r["name"], r["time"], r["duration"]) for r in rows if r["kind"] == "call" and not r.get("open")),
            sorted((r["tid"], r["text"], r["time"]) for r in rows if r["kind"] == "print"))


def same(w, name):
    calls, events = dumped(w, name)
    got = ours(w, name)
    assert calls and got[0] and set(calls) <= set(got[0]), (sorted(set(calls) - set(got[0]))[:5], got[0][:5])
    left = [c for c in got[0] if c not in set(calls)]     # open at an exec or at the end
    assert all(c[1] in ("main", "execl", "fork") for c in left), left
    assert got[1] == events, (got[1][:5], events[:5])
    return calls, events


def test_calls(w):
    """Threads, a fork, an exec and switches are read by every command, also from a trace.dat made
    of the folder."""
    recorded(w, "u")
    calls, events = same(w, "u")
    counts = collections.Counter(c[1] for c in calls)
    assert counts["leaf"] == 2 * counts["deep"] and counts["thread"] == 1, counts
    assert any("sched-out" in e[1] for e in events), events
    rows = {r["name"]: r["calls"] for r in json.loads(w.run("profile", "--json", "u").stdout)["functions"]}
    assert rows["leaf"] == counts["leaf"], rows
    w.run("convert", "-q", "u", "u.dat")
    assert {r["name"]: r["calls"] for r in json.loads(w.run("profile", "--json", "u.dat").stdout)["functions"]} == rows
    assert len(re.findall(rb"leaf\(\)", w.run("replay", "u").stdout)) == counts["leaf"]
    assert b"p-" in w.run("report", "--format=trace", "u").stdout


def test_arguments(w):
    """Arguments behind a record are skipped, whatever their bytes are. uftrace's own events are
    there."""
    recorded(w, "u", "-A", "leaf@arg1/i32", "-R", "leaf@retval/i32", "-A", "text@arg1/s", "-T", "deep@read=proc/statm", "--no-event")
    calls, events = same(w, "u")
    assert {e[1] for e in events} == {"read:proc/statm", "diff:proc/statm"}, events
    assert b"arguments and return values of" in w.run("profile", "u").stderr


def record(ts, kind, depth, addr):
    return struct.pack("<QQ", ts, kind | 5 << 3 | depth << 6 | addr << 16)


def written(w, files):
    at = w.path("made")
    shutil.rmtree(at, ignore_errors=True)
    os.mkdir(at)
    for name, data in files.items():
        with open(f"{at}/{name}", "wb") as f:
            f.write(data)
    return "made"


HEAD = b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0x363, 0, 1024, 0, 0)
GOOD = {
    "info": HEAD,
    "task.txt": b'SESS timestamp=1.000000001 pid=7 sid=1 exename="/x/prog"\nTASK timestamp=1.000000002 tid=7 pid=7\n',
    "sid-1.map": b"400000-405000 r-xp 00000000 00:00 0   /x/prog build-id:aa\n",
    "prog.sym": b"# path name: /x/prog\n# build-id: aa\n0000000000001050 T main\n0000000000001070 T leaf\n0000000000001090 ? __func_end\n",
    "7.dat": b"".join([record(2000000000, ENTRY, 0, 0x401054), record(2000000010, ENTRY, 1, 0x401074), record(2000000030, EXIT, 1, 0x401074),
                       record(2000000040, ENTRY, 1, 0x4010a0), record(2000000050, EXIT, 0, 0x401054)]),
}


def test_arguments_like_records(w):
    """An argument of four bytes has any bytes behind it, and can look like a time. Then the time of
    the record behind it looks like the second half of an event."""
    end = (2000000000 >> 16) + 1 << 16 | 5 << 3 | 3  # as the second half: an event without data, depth 0
    more = 1 << 2
    data = b"".join([record(2000000000, ENTRY, 0, 0x401054), record(2000000010, ENTRY | more, 1, 0x401074), struct.pack("<Q", 2000000015),
                     record(end, EXIT, 1, 0x401074), record(end + 10, EXIT, 0, 0x401054)])
    assert ours(w, written(w, dict(GOOD, **{"7.dat": data}))) == (
        [(7, "leaf", 2000000010, end - 2000000010), (7, "main", 2000000000, end + 10 - 2000000000)], [])


def test_hostile(w):
    """Cut and damaged files give a part of the calls or a one-line error. A call without an end
    ends with the call around it."""
    name = written(w, GOOD)
    assert ours(w, name)[0] == [(7, "<4010a0>", 2000000040, 10), (7, "leaf", 2000000010, 20), (7, "main", 2000000000, 50)], ours(w, name)
    for which, step in (("7.dat", 8), ("info", 13), ("task.txt", 25), ("sid-1.map", 19), ("prog.sym", 40)):
        for n in range(0, len(GOOD[which]), step):
            p = w.run("profile", written(w, dict(GOOD, **{which: GOOD[which][:n]})), status=None)
            assert p.returncode in (0, 1) and p.stderr.count(b"\n") <= 2, (which, n, p.stderr)
    for change, word in (({"info": HEAD[:14] + b"\2" + HEAD[15:]}, b"byte order"), ({"info": HEAD[:8] + b"\3" + HEAD[9:]}, b"version 3"),
                         ({"7.dat": bytes(16)}, b"a record is missing"), ({"task.txt": b""}, b"no record"),
                         ({"task.txt": b"SESS timestamp=1.0 pid=7 sid=../x\n"}, b"wrong session"), ({"info": b"hello"}, b"no known tool"),
                         ({"perf-cpu0.dat": bytes(16)}, b"a record of 0 bytes")):
        p = w.run("profile", written(w, dict(GOOD, **change)), status=1)
        assert word in p.stderr and p.stderr.count(b"\n") == 1, (change, p.stderr)
    name = written(w, GOOD)
    os.unlink(w.path("made/7.dat"))
    os.mkfifo(w.path("made/7.dat"))
    assert b"not a regular file" in w.run("profile", name, status=1).stderr


if __name__ == "__main__":
    main(globals())
