#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""report and profile read recordings of `record` and of the kernel."""
import json
import os
import re
import subprocess

from cli_test import BIN, Skip, main, need

DATA = os.path.join(os.environ["SOURCE_DIR"], "tests", "data")
LINE = re.compile(r"^ *(.+)-(\d+) +\[(\d+)\] \S{5} +(\d+\.\d{6}): (\S+) <-(\S+)$")


def record(w, *args, name="trace.dat"):
    w.run("record", "-o", name, "--", w.prog, *args)


def lines(p):
    return [l for l in p.stdout.decode().splitlines() if not l.startswith("#")]


def test_function_lines(w):
    record(w, "calls", "500")
    p = w.run("report", "--format=trace")
    assert p.stdout.startswith(b"# tracer: function\n#\n# entries-in-buffer/entries-written: "), p.stdout[:99]
    found = [LINE.match(l) for l in lines(p)]
    assert all(found), [l for l, f in zip(lines(p), found) if not f][:3]
    entries = int(re.search(rb"written: (\d+)/", p.stdout).group(1))
    assert len(found) == entries == 1 + 1 + 500 + 1000 + 1, entries
    stamps = [f.group(4) for f in found]
    assert stamps == sorted(stamps, key=float)
    pairs = [(f.group(5), f.group(6)) for f in found]
    assert pairs[1:5] == [("first", "main"), ("mid", "main"), ("leaf", "mid"), ("leaf", "mid")], pairs[:6]
    assert pairs[-1] == ("last", "main") and all(f.group(1) == "calls" for f in found)
    # the same file by every way to name it
    assert w.run("report", "--format=trace", "-i", "trace.dat").stdout == w.run("report", "--format=trace", "--input=trace.dat").stdout == p.stdout


def test_as_trace_cmd(w):
    need("trace-cmd")
    record(w, "threads")
    theirs = subprocess.run(["trace-cmd", "report", "-O", "parent=1", "trace.dat"], cwd=w.dir,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
    theirs = [re.sub(r" +", " ", l.replace("function:", "").replace("<-- ", "<-")).strip()
              for l in theirs.splitlines()[1:]]
    ours = [re.sub(r" +", " ", re.sub(r"(\[\d+\]) \S{5}", r"\1", l)).strip() for l in lines(w.run("report", "--format=trace"))]
    assert ours == theirs
    assert any(l.startswith("alpha-") for l in ours) and any(l.startswith("beta-") for l in ours)


LONG = r"""
#include <time.h>
#define FN __attribute__((noipa))
static void wait_ns(long ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}
FN void of_1s(void) { wait_ns(1010000000); }
FN void of_100ms(void) { wait_ns(110000000); }
FN void of_1ms(void) { wait_ns(1100000); }
FN void of_100us(void) { wait_ns(110000); }
FN void of_10us(void) { wait_ns(11000); }
int main(void) { of_1s(); of_100ms(); of_1ms(); of_100us(); of_10us(); return 0; }
"""


def test_marks_of_long_calls(w):
    """report marks a call longer than a second by $, as trace-cmd does; the kernel's text has more
    marks. On one CPU: see test_leaf_on_two_cpus."""
    need("trace-cmd")
    w.run("record", "-q", "-p", "function_graph", "--", w.compile("long", LONG),
          preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
    theirs = subprocess.run(["trace-cmd", "report", "trace.dat"], cwd=w.dir, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=True).stdout.decode()
    ours = w.run("report").stdout.decode()
    assert [l.rstrip() for l in ours.splitlines()] == [l.rstrip() for l in theirs.splitlines()]
    assert re.search(r"\$ \d+ us +\| +wait_ns\(\);", ours) and re.search(r"# \d{6}\.\d{3} us +\| +wait_ns\(\);", ours), ours
    kernels = w.run("report", "--format=trace").stdout.decode()
    assert re.search(r"@ \d+\.\d+ us +\| +(\} /\* )?wait_ns\b", kernels), kernels


MOVES = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#define FN __attribute__((noipa))
static void go(int cpu)
{
	cpu_set_t s;
	CPU_ZERO(&s);
	CPU_SET(cpu, &s);
	if (sched_setaffinity(0, sizeof(s), &s)) exit(1);
}
FN void leaf(int cpu) { if (cpu >= 0) go(cpu); }
FN void mid(int a, int b) { leaf(a); leaf(-1); leaf(b); leaf(-1); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 50; i++) mid(atoi(argv[1 + i % 2]), atoi(argv[1 + i / 2 % 2]));
	return argc - 3;
}
"""


def test_leaf_on_two_cpus(w):
    """A leaf call that returns on another CPU is one line, and lines are in order of time.
    trace-cmd has them in another order there, so the lines are compared with its raw records."""
    need("trace-cmd")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip("needs two CPUs")
    w.run("record", "-q", "-p", "function_graph", "--", w.compile("moves", MOVES), cpus[0], cpus[1])
    raw = subprocess.run(["trace-cmd", "report", "-R", "trace.dat"], cwd=w.dir, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True).stdout.decode()
    records = re.findall(r"\[(\d+)\] +([\d.]+): funcgraph_(entry|exit): +func=(\w+) ", raw)
    want, moved, skip = [], 0, False
    for r, after in zip(records, [*records[1:], (None,) * 4]):
        leaf = r[2] == "entry" and after[2] == "exit" and after[3] == r[3]
        if not skip:
            want.append((*r, leaf))
        moved += leaf and after[0] != r[0]
        skip = leaf
    found = re.findall(r"\[(\d+)\] +([\d.]+): funcgraph_(entry|exit): [^|]*\|( *)(\w*)(\(\);)?", w.run("report").stdout.decode())
    assert [(cpu, t, kind, bool(leaf)) for cpu, t, kind, _, _, leaf in found] == [(cpu, t, kind, leaf) for cpu, t, kind, _, leaf in want]
    assert [name for _, _, kind, _, name, _ in found if kind == "entry"] == [name for _, _, kind, name, _ in want if kind == "entry"]
    assert moved > 10, moved


def test_cpus(w):
    record(w, "threads")
    whole = lines(w.run("report", "--format=trace"))
    by_cpu = {}
    for l in whole:
        by_cpu.setdefault(int(LINE.match(l).group(3)), []).append(l)
    for cpu, want in by_cpu.items():
        p = w.run("report", "--format=trace", "--cpu", cpu)
        assert lines(p) == want
        assert f"written: {len(want)}/{len(want)} " in p.stdout.decode()
        hits = json.loads(w.run("profile", "--json", "--cpu", cpu).stdout)["hits"]
        assert hits == len(want)
    nr = int(re.search(rb"#P:(\d+)", w.run("report", "--format=trace").stdout).group(1))
    assert lines(w.run("report", "--format=trace", "--cpu", f"0-{nr - 1}")) == whole


def test_wrong_cpus(w):
    """A value that is no list is a wrong flag, a CPU that the recording has not is an error; both
    before any output."""
    record(w, "calls", "1")
    for command in (["report"], ["report", "--format=trace"], ["replay"], ["profile"], ["convert", "trace.dat", "out.csv"]):
        for bad in "x", "0-", "1,x", "3-1", ",0":
            p = w.run(*command, "--cpu", bad, status=2)
            assert p.stdout == b"" and p.stderr.decode() == (
                f"vestige: {command[0]}: --cpu: not a list of CPUs, as in 0,2-3: {bad} (see vestige {command[0]} --help)\n"), p
        for bad in "9999", "99999999":
            p = w.run(*command, "--cpu", bad, status=1)
            assert p.stdout == b"" and p.stderr.decode().startswith(f"vestige: the trace has no CPU {bad}; its CPUs are 0 to "), p


def test_kernel_files(w):
    texts = [w.run("report", "--format=trace", os.path.join(DATA, n)).stdout
             for n in ("kernel-v6.dat", "kernel-v7.dat", "kernel-v7-zstd.dat")]
    assert texts[0] == texts[1] == texts[2]
    text = texts[0].decode()
    assert text.startswith("# tracer: nop\n#\n# entries-in-buffer/entries-written: 162/162   #P:2\n"), text[:99]
    assert "            bash-26343   [001] ...1.  1721.837269: sched_wake_idle_without_ipi: cpu=0\n" in text
    p = w.run("profile", os.path.join(DATA, "kernel-v6.dat"))
    assert b"no function calls" in p.stderr


def test_errors(w):
    with open(w.path("noise"), "wb") as f:
        f.write(bytes(range(256)) * 40)
    with open(os.path.join(DATA, "kernel-v7-zstd.dat"), "rb") as f:
        whole = f.read()
    with open(w.path("cut.dat"), "wb") as f:
        f.write(whole[:len(whole) // 2])
    os.mkdir(w.path("folder"))
    for command in ("report", "profile"):
        for name in ("none.dat", "noise", "cut.dat", "folder"):
            err = w.run(command, name, status=1).stderr
            assert err.count(b"\n") == 1 and err.startswith(b"vestige: ") and name.encode() in err, err
        err = w.run(command, status=1).stderr
        assert b"trace.dat" in err, err
        several = [["one", "two"], ["-i", "one", "two"]] if command == "profile" else []
        for bad in (["--nosuch"], ["-i"], *several, ["--cpu"], ["-Z"]):
            p = w.run(command, *bad, status=2)
            assert p.stdout == b"" and b"--help" in p.stderr and p.stderr.count(b"\n") == 1, p.stderr
    for bad in (["--top", "0"], ["--top", "x"], ["--top", "-1"], ["--sort", "size"]):
        assert b"--help" in w.run("profile", *bad, status=2).stderr
    record(w, "calls", "1")
    for command in ("report", "profile"):
        with open("/dev/full", "w") as full:
            p = subprocess.run([BIN, command], cwd=w.dir, stdout=full, stderr=subprocess.PIPE)
        assert p.returncode == 1 and b"cannot write" in p.stderr, p


def test_broken_pipe(w):
    """A closed pipe gives no error message, whether SIGPIPE ends us or is ignored."""
    record(w, "calls", "20000")
    for ignored in (False, True):
        p = subprocess.Popen([BIN, "report", "--format=trace"], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             restore_signals=not ignored)
        assert p.stdout.readline() == b"# tracer: function\n"
        p.stdout.close()
        assert p.stderr.read() == b""
        assert p.wait() in (0, -13), p.returncode
        p.stderr.close()


def test_profile(w):
    record(w, "calls", "400")
    p = w.run("profile")
    head, dashes, *rows = p.stdout.decode().splitlines()
    assert head.split() == ["Function", "Hit", "Share"] and p.stderr == b""
    rows = [r.split() for r in rows]
    assert rows == [["leaf", "800", "66.5", "%"], ["mid", "400", "33.3", "%"], ["first", "1", "0.1", "%"],
                    ["last", "1", "0.1", "%"], ["main", "1", "0.1", "%"]], rows
    assert [r.split()[0] for r in w.run("profile", "--sort", "name").stdout.decode().splitlines()[2:]] == \
        ["first", "last", "leaf", "main", "mid"]
    top = w.run("profile", "--top", "1", "--callers").stdout.decode().splitlines()[2:]
    assert [t.split()[:2] for t in top] == [["leaf", "800"], ["<-mid", "800"]], top
    j = json.loads(w.run("profile", "--json", "--callers").stdout)
    assert j["hits"] == 1203 and j["lost"] == 0
    leaf = j["functions"][0]
    assert leaf["name"] == "leaf" and leaf["hits"] == 800 and leaf["module"] is None
    assert [(c["name"], c["hits"]) for c in leaf["callers"]] == [("mid", 800)]


main(globals())
