#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""CTF: babeltrace2 has the calls and the events of the same recording's CSV, value by value."""
import collections
import json
import lzma
import os
import re
import subprocess

from cli_test import main, need
from test_export import recorded


def babeltrace(w, folder, *flags):
    need("babeltrace2")
    p = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", "--fields=loglevel,trace:procname", *flags, w.path(folder)],
                       check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p.stdout.decode(), p.stderr.decode()


LINE = re.compile(r"^\[(\d+)\] (?:\(.*?\) )?(\S+): \{ cpu_id = (\d+) \}, \{ vpid = (\d+), vtid = (\d+), procname = (\".*?\") \}, \{ (.*) \}$")


def lines(text):
    out = []
    for l in text.splitlines():
        m = LINE.match(l)
        assert m, l
        out.append((int(m[1]), m[2], int(m[4]), int(m[5]), json.loads(m[6]), m[7]))
    return out


def test_calls(w):
    """Begins and ends nest as in the program. Each end has its call's name, thread, length and kind
    of end."""
    recorded(w)
    w.run("convert", "-q", "t.dat", "t.ctf")
    inner = w.path(f"t.ctf/ust/uid/{os.getuid()}/64-bit")
    assert "metadata" in os.listdir(inner) and all(re.fullmatch(r"metadata|channel0_\d+", f) for f in os.listdir(inner))
    text, warned = babeltrace(w, "t.ctf")
    assert not warned, warned
    open_, got = collections.defaultdict(list), []
    for ts, event, _, tid, comm, fields in lines(text):
        if not event.startswith("lttng_ust_cyg_profile"):
            continue
        addr, name, stack = re.match(r"addr = (0x[0-9A-F]+), name = \( (\".*?\") : container = \d+ \), stack = (\d+)", fields).groups()
        key = tid, stack
        if event.endswith("func_entry"):
            open_[key].append((ts, addr))
            continue
        begun, at = open_[key].pop()
        length, how = re.search(r"duration = (\d+), how = \( \"(\w+)\" : container = \d+ \)", fields).groups()
        assert at == addr and ts - begun == int(length), (fields, begun, at)
        got.append((begun, ts - begun, tid, comm, json.loads(name), {"returned": ""}.get(how, how)))
    assert not any(open_.values())
    want = [(int(r["time"]), int(r["duration"]), int(r["tid"]), r["comm"], r["name"], r["text"])
            for r in w.rows("t.dat") if r["kind"] == "call"]
    assert sorted(got) == sorted(want), (got[:5], want[:5])


NAMES = r"""
#define FN __attribute__((noinline, optnone))
volatile long sum;
FN long operator""_km(unsigned long long n) { return sum += n; }
FN void same(int n) { sum += n; }
FN void same(long n) { sum -= n; }
int main() { for (int i = 0; i < 9000; i++) { same(i); same((long)i); } return 3_km < 0; }
"""


def test_names(w):
    """Quotes in names, two functions of one name and several packets are exported right."""
    with open(w.path("n.cc"), "w") as f:
        f.write(NAMES)
    subprocess.run(["clang++", "-O1", "n.cc", "-fpatchable-function-entry=6", "-o", "n"], cwd=w.dir, check=True)
    w.run("record", "-q", "-p", "function_graph", "-o", "n.dat", "--", w.path("n"))
    w.run("convert", "-q", "--to", "ctf", "n.dat", "new/")
    text, warned = babeltrace(w, "new")
    got = collections.Counter((e.partition(":")[2], json.loads(re.search(r'name = \( (".*?(?<!\\)")', f)[1])) for _, e, _, _, _, f in lines(text))
    assert not warned and got == {(e, n): c for e in ("func_entry", "func_exit")
                                  for n, c in (("main", 1), ("same", 18000), ('operator"" _km', 1))}, (got, warned)


def test_events(w):
    """The kernel's events have their fields, CPUs and times as in CSV."""
    data = os.environ["SOURCE_DIR"] + "/tests/data/kernel-v6.dat"
    w.run("convert", "-q", data, "k.ctf")
    text, warned = babeltrace(w, "k.ctf")
    rows = w.rows(data)
    got = lines(text)
    assert not warned and len(got) == len(rows) > 100
    assert [(g[0], g[1], g[2]) for g in got] == [(int(r["time"]), r["name"], int(r["tid"])) for r in rows]
    nr = 0
    for g, r in zip(got, rows):
        if g[1] != "sched:sched_switch":
            continue
        want = re.match(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(\d+) prev_state=\S+ ==> next_comm=(.*) next_pid=(\d+) next_prio=(\d+)$", r["text"]).groups()
        have = re.match(r'prev_comm = "(.*?)", prev_pid = (\d+), prev_prio = (\d+), prev_state = \d+, next_comm = "(.*?)", '
                        r"next_pid = (\d+), next_prio = (\d+)$", g[5]).groups()
        assert want == have, (want, have)
        nr += 1
    assert nr > 10


def test_buffers(w):
    """Of several buffers each event says in its context of which it is."""
    with lzma.open(os.environ["SOURCE_DIR"] + "/tests/data/kernels/amd64-instances-v7.dat.xz") as f, open(w.path("i.dat"), "wb") as to:
        to.write(f.read())
    w.run("convert", "-q", "i.dat", "i.ctf")
    text, _ = babeltrace(w, "i.ctf")
    got = collections.Counter((int(m[1]), m[2], m[3]) for m in re.finditer(
        r"^\[(\d+)\] (?:\(.*?\) )?(\S+): \{ cpu_id = \d+ \}, \{ .*?, buffer = \"(.*?)\" \}, ", text, re.M))
    want = collections.Counter((int(r["time"]), "vestige:function" if r["kind"] == "function" else "vestige:print" if r["kind"] == "print" else r["name"],
                                r["buffer"]) for r in w.rows("i.dat"))
    assert {b for _, _, b in got} == {"", "one", "two"} and got == want, (list((got - want).items())[:3], list((want - got).items())[:3])


def test_folder(w):
    """An existing folder stays as it is, and a failed export leaves nothing."""
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", w.prog, "calls", 2)
    os.makedirs(w.path("full/x"))
    os.mkdir(w.path("empty"))
    for args, word in ((("t.dat", "full"), b"exists"), (("t.dat", "t.dat"), b"exists"), (("-t", "1us", "t.dat", "y"), b"time-filter"),
                       (("-F", "nosuch", "t.dat", "y"), b"no call"), (("t.dat", "nosuch/y"), b"No such file")):
        p = w.run("convert", "--to", "ctf", *args, status=1)
        assert word in p.stderr, (args, p.stderr)
    assert b"is a folder" in w.run("convert", "--to", "ctf", "t.dat", "-", status=2).stderr
    assert sorted(os.listdir(w.dir)) == ["calls", "calls.c", "empty", "full", "t.dat"], os.listdir(w.dir)
    assert os.listdir(w.path("full")) == ["x"]
    w.run("convert", "-q", "-F", "mid", "--to", "ctf", "t.dat", "empty")
    names = collections.Counter(re.search(r'name = \( "(\w+)"', l[5])[1] for l in lines(babeltrace(w, "empty")[0]))
    assert names == {"mid": 4, "leaf": 8}, names


if __name__ == "__main__":
    main(globals())
