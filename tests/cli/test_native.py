#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""All commands print the same of a trace.dat with its native block and without it (a byte cut
off)."""
import bisect
import collections
import json
import os
import re
import shutil
import signal
import subprocess

from cli_test import BIN, Skip, children_of, main, until

SOURCE = os.environ["SOURCE_DIR"]
TAIL = 56
MAGIC = b"VESNATIV"

PRINTS = r"""
#include <vestige/vestige.h>
#define FN __attribute__((noipa))
FN int inner(int i) { trace_printk("inner %d", i); return i; }
FN int outer(int i) { int r = inner(i); trace_printk("between\n"); return r + inner(i + 1); }
int main(void) { int n = 0; for (int i = 0; i < 300; i++) n += outer(i); return n == 0; }
"""

GRAPH = (["report", "--format=trace"], ["report", "--format=trace", "-O", "funcgraph-proc", "-O", "funcgraph-tail", "-O", "funcgraph-abstime"],
         ["report", "--format=trace", "--cpu", "0"], ["replay"], ["replay", "--cpu", "0"], ["replay", "-D", "2"],
         ["replay", "-r", "~2s"], ["graph"], ["graph", "--threads"], ["graph", "--json"], ["profile"],
         ["profile", "--threads"], ["profile", "--by", "thread"], ["profile", "--json", "--callers"],
         ["profile", "--cpu", "0"])
FUNCTION = (["report", "--format=trace"], ["report", "--format=trace", "--cpu", "0"], ["profile"], ["profile", "--callers", "--json"])


def is_native(path):
    with open(path, "rb") as f:
        f.seek(-TAIL, os.SEEK_END)
        return f.read(8) == MAGIC


def same(w, commands, name="trace.dat"):
    """Check that a command prints the same with the block and without it, except for a message that
    the block is missing."""
    whole, cut = w.path(name), w.path("cut.dat")
    assert is_native(whole)
    shutil.copy(whole, cut)
    os.truncate(cut, os.path.getsize(cut) - 1)
    for command in commands:
        a, b = (w.run(*command, "-i", path, status=None) for path in (whole, cut))
        err = b.stderr.replace(cut.encode(), whole.encode())
        assert (a.returncode, a.stdout, a.stderr) == (b.returncode, b.stdout, err), \
            (command, difference(a.stdout, b.stdout), a.stderr, err)
        assert a.returncode == 0 and (len(a.stdout) > 100 or "--cpu" in command), (command, a.stdout, a.stderr)
    os.unlink(cut)


def difference(a, b):
    for n, (x, y) in enumerate(zip(a.split(b"\n"), b.split(b"\n"))):
        if x != y:
            return n, x, y
    return len(a), len(b)


def both(w, *program, flags=()):
    w.run("record", "-q", "-p", "function_graph", *flags, "--", *program)
    same(w, GRAPH)
    w.run("record", "-q", *flags, "--", *program)
    same(w, FUNCTION)


def test_calls(w):
    both(w, w.prog, "calls", 60000)  # long enough to be read ahead


def test_version_6(w):
    both(w, w.prog, "calls", 300, flags=("--file-version", "6"))


def test_threads(w):
    both(w, w.prog, "threads")


def test_processes(w):
    both(w, w.prog, "fork", 20)


def test_exec(w):
    both(w, w.prog, "exec", w.prog, "calls", 5)


def test_losses(w):
    both(w, w.prog, "calls", 500000, flags=("-b", "64"))
    assert json.loads(w.run("profile", "--json").stdout)["lost"] is not None


def test_only_the_newest(w):
    both(w, w.prog, "calls", 400000, flags=("-m", "1024"))


def test_long_calls(w):
    w.run("record", "-q", "-p", "function_graph", "--tracing-thresh", "1us", "--", w.prog, "fork", 30)
    same(w, GRAPH[:1] + GRAPH[3:4] + GRAPH[7:8] + GRAPH[10:11])


def test_prints(w):
    program = w.compile("prints", PRINTS, f"-I{SOURCE}/include", "-D_GNU_SOURCE")
    both(w, program)
    assert w.run("report", "--format=trace").stdout.count(b"inner: inner ") == 600


def test_events(w):
    """Events of a program are the same, alone and between calls, also fields that are code
    addresses."""
    folder = f"{SOURCE}/tests/targets/events"
    subprocess.run(["gcc", "-O1", "-D_GNU_SOURCE", "-fpatchable-function-entry=6", f"-I{SOURCE}/include",
                    f"-I{folder}", "-o", w.path("calc"), f"{folder}/calc.c"], check=True)
    for tracer, commands in (("function_graph", GRAPH), ("function", FUNCTION), ("nop", FUNCTION[:1])):
        w.run("record", "-q", "-p", tracer, "-e", "calc", "--", w.path("calc"), input=b"go\n" * 20)
        same(w, commands)
        assert w.run("report", "--format=trace").stdout.count(b"calc_sum: ") >= 20


def test_stacks_and_throws(w):
    """Throws, jumps, coroutines, tail calls and signals on other stacks are the same (program of
    the nesting oracle)."""
    if not shutil.which("g++"):
        raise Skip("g++ is not installed")
    for level in ("-O0", "-O2"):
        subprocess.run(["g++", "-std=c++17", level, "-fpatchable-function-entry=6", f"-I{SOURCE}/include", "-o",
                        w.path("nesting"), f"{SOURCE}/tests/targets/graph/nesting.cc", "-lpthread"], check=True)
        w.run("record", "-q", "-p", "function_graph", "--", w.path("nesting"), stdin=subprocess.DEVNULL)
        assert b"unwound" in w.run("replay").stdout
        same(w, GRAPH)


def test_left_out(w):
    """--no-native writes the same file without the block. extract writes no block, recover does."""
    w.run("record", "-q", "--no-native", "-o", "without.dat", "--", w.prog, "calls", 20)
    assert not is_native(w.path("without.dat"))
    assert w.run("report", "--format=trace", "without.dat").stdout.count(b"mid <-main") == 20
    r = subprocess.Popen([BIN, "record", "-q", "-o", "killed.dat", w.prog, "spin"], cwd=w.dir, env=w.env,
                         stdout=subprocess.PIPE)
    assert r.stdout.readline() == b"ready\n"
    spool = f"killed.dat.spool.{r.pid}"
    child = children_of(r.pid)[0]
    until(lambda: b"leaf" in w.run("report", "--format=trace", spool, status=None).stdout)
    r.kill()
    r.wait()
    r.stdout.close()
    os.kill(child, signal.SIGKILL)
    w.run("recover", "-o", "recovered.dat", spool)
    assert is_native(w.path("recovered.dat"))
    same(w, FUNCTION, "recovered.dat")
    os.unlink(w.path(spool))
    until(lambda: not os.path.exists(f"/proc/{child}"))
    w.run("clean")


def by_text(report):
    """The times in us of each line of a report, by the line's other text."""
    lines = collections.defaultdict(list)
    for line in report.splitlines()[1:]:
        who, s, us, what = re.match(rb"(.*) (\d+)\.(\d{6}): +(.*)$", line).groups()
        lines[who, what].append(int(s) * 1000000 + int(us))
    return lines


def is_near(t, times):
    """Whether one of the sorted @times is @t. The clock is measured a last time at the end of a
    recording, which a cut file does not have: its times differ in the last digit."""
    at = bisect.bisect_left(times, t - 1)
    return at < len(times) and times[at] <= t + 1


def test_cut(w):
    """A native file that is cut anywhere: each command says so and how many records there are;
    those are the file's."""
    w.run("record", "-q", "--native", "-p", "function", "-o", "whole", "--", w.prog, "calls", 20000)
    with open(w.path("whole"), "rb") as f:
        data = f.read()
    p = w.run("report", "whole")
    assert p.stderr == b""
    whole = by_text(p.stdout)
    at, bounds = int.from_bytes(data[12:16], "little"), []
    while at < len(data):
        bounds.append((at, int.from_bytes(data[at + 4:at + 8], "little")))
        at += 32 + int.from_bytes(data[at + 16:at + 24], "little")
    assert at == len(data) and {kind for _, kind in bounds} >= {1, 4, 5, 6}, bounds
    lengths = {len(data) * i // 6 for i in range(1, 6)} | {b + more for b, _ in bounds for more in (0, 9, 40)}
    end = next(b for b, kind in bounds if kind == 4)
    seen = set()
    for length in sorted(n for n in lengths if bounds[0][0] < n < len(data)):
        with open(w.path("cut"), "wb") as f:
            f.write(data[:length])
        p = w.run("report", "cut", status=None)
        err = p.stderr.decode()
        if p.returncode:
            assert p.returncode == 1 and "no record of it can be read" in err and p.stdout == b"", (length, err)
            continue
        m = re.fullmatch(r"vestige: .*cut (ends in the middle of [a-z' ]+|has no end, as its recorder was stopped or still runs): (\d+) records are read( \(`vestige recover` takes [^)]*\))?\n", err)
        if length in dict(bounds) and length > end:
            assert not err, err
            continue
        assert m, (length, err)
        lines = by_text(p.stdout)
        assert sum(map(len, lines.values())) == int(m[2]), (length, err)
        for text, times in lines.items():
            assert len(times) <= len(whole[text]), (length, err, text)
            assert all(is_near(t, whole[text]) for t in times), (length, err, text)
        seen.add((m[1], bool(lines)))
        if lines:
            assert w.run("convert", "-q", "cut", "cut.csv").stderr.decode() == err
            assert w.run("sql", "cut", "SELECT 1").stderr.decode() == err
    # a recording that takes long has clock pairs between its records
    assert {s for s, some in seen if some} - {"ends in the middle of clock pairs"} == {"ends in the middle of pages of records", "ends in the middle of a chunk",
        "ends in the middle of a process's tables", "ends in the middle of its end", "ends in the middle of its symbols", "has no end, as its recorder was stopped or still runs"}, seen


HALVES = r"""
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#define FN __attribute__((noipa))
static __thread jmp_buf back;
volatile int sum;
FN void leaf(int i) { sum += i; }
FN void jumped(int i) { sum -= i; }
FN void jumps(int i) { leaf(i); jumped(i); }
FN void deep(int n, unsigned int x) { leaf(n); if (x & 64) jumps(n); if (n) deep(n - 1, x * 69069 + 1); leaf(n); }
FN void leaves(void) { longjmp(back, 1); }
FN void *work(void *a)
{
	unsigned int x = 7;
	for (int i = 0; i < atoi(a); i++) {
		x = x * 69069 + 1;
		deep(x >> 27, x);
		if (x >> 20 == 5 && !setjmp(back)) leaves();
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[3];
	int nr = atoi(argv[1]);
	for (int i = 0; i < nr; i++) pthread_create(&t[i], NULL, work, argv[2]);
	if (!nr) work(argv[2]);
	for (int i = 0; i < nr; i++) pthread_join(t[i], NULL);
	return 0;
}
"""


def test_halves(w):
    """On two CPUs, where two threads read a recording, profile and graph print what they do on
    one."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip("there is one CPU")
    prog = w.compile("halves", HALVES)
    for threads in (0, 1, 3):
        w.run("record", "-q", "--native", "-p", "function_graph", "-b", "20000", "-o", "halves.dat", "--", prog, threads,
              9000 if threads < 2 else 3000)
        for argv in (["profile"], ["profile", "--json", "--callers"], ["profile", "--by", "thread"], ["profile", "-t", "1us"],
                     ["graph"], ["graph", "--threads", "--json"], ["graph", "deep"]):
            two = w.run(*argv, "halves.dat")
            one = w.run(*argv, "halves.dat", preexec_fn=lambda: os.sched_setaffinity(0, cpus[:1]))
            assert two.stdout == one.stdout and two.stderr == one.stderr, (threads, argv)


def test_other_readers(w):
    """Other readers see the kernel's format, and do not complain about the block behind it."""
    if not shutil.which("trace-cmd"):
        raise Skip("trace-cmd is not installed")

    def by_trace_cmd(*args):
        p = subprocess.run(["trace-cmd", *args], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           check=False)
        assert p.returncode == 0, (args, p.stderr)
        return p

    for version in ("6", "7"):
        w.run("record", "-q", "--file-version", version, "-p", "function_graph", "--", w.prog, "calls", 3000)
        with open(w.path("trace.dat"), "rb") as f:
            data = f.read()
        bare = data[:int.from_bytes(data[-TAIL + 24:-TAIL + 32], "little") - (16 if version == "7" else 0)]
        with open(w.path("bare.dat"), "wb") as f:
            f.write(bare)
        for args in (("report",), ("dump", "--all")):
            a, b = (by_trace_cmd(*args, "-i", name) for name in ("trace.dat", "bare.dat"))
            # dump --all walks from section to section and names those that it does not know
            text = re.sub(rb"(Unknown section id 30309: vestige pages)?\t\[Section 30309 .*\n", b"", a.stdout)
            text = text.replace(b"[11 sections]", b"[10 sections]").replace(b"trace.dat", b"bare.dat")
            assert text == b.stdout and a.stderr == b.stderr, (args, difference(text, b.stdout), a.stderr)
        by_trace_cmd("convert", "--file-version", "6", "-i", "trace.dat", "-o", "converted.dat")
        assert not is_native(w.path("converted.dat"))
        assert w.run("replay", "converted.dat").stdout == w.run("replay", "trace.dat").stdout


if __name__ == "__main__":
    main(globals())
