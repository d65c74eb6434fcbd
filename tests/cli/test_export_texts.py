#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Texts of calls for other tools: lcov, systrace and strace agree with profile and with the tools
themselves."""
import collections
import json
import os
import re
import subprocess

from cli_test import Skip, main, need, root

PROGRAM = r"""
#include <pthread.h>
#include <ucontext.h>
#define FN __attribute__((noipa))
volatile long sum;
static ucontext_t back, there;
static char stack[1 << 16];
FN void leaf(int i) { sum += i; }
FN void never(int i) { sum += i; }
FN void beside(void) { for (;;) { leaf(1); swapcontext(&there, &back); } }
FN void visit(void) { leaf(2); swapcontext(&back, &there); }
FN void *thread(void *a) { for (int i = 0; i < 5; i++) leaf(i); return a; }
int main(int argc, char **argv) {
	pthread_t t;
	if (argc > 5) never(argc);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, beside, 0);
	for (int i = 0; i < 3; i++) visit();
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
}
"""
CALLS = {"main": 1, "visit": 3, "beside": 1, "thread": 1, "leaf": 11}


def recorded(w):
    prog = w.compile("p", PROGRAM, "-g")
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", prog)


def test_lcov(w):
    """lcov counts the functions, genhtml shows the source with them."""
    need("lcov")
    need("genhtml")
    recorded(w)
    w.run("convert", "-q", "t.dat", "t.info")
    with open(w.path("t.info")) as f:
        text = f.read()
    assert dict((n, int(c)) for c, n in re.findall(r"^FNDA:(\d+),(.*)$", text, re.M)) == dict(CALLS, never=0), text
    lines = {n: int(l) for l, n in re.findall(r"^FN:(\d+),(.*)$", text, re.M)}
    source = PROGRAM.splitlines()
    assert all(f" {n}(" in source[l - 1] or f" *{n}(" in source[l - 1] for n, l in lines.items()), lines
    p = subprocess.run(["lcov", "--summary", "t.info"], cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    assert re.search(rb"functions\.*: 83\.3% \(5 of 6 functions\)", p.stdout), p.stdout
    subprocess.run(["genhtml", "-q", "-o", "html", "t.info"], cwd=w.dir, check=True)
    pages = [os.path.join(d, n) for d, _, names in os.walk(w.path("html")) for n in names if n.endswith(".c.gcov.html")]
    with open(pages[0]) as f:
        assert re.search(r" 11 : FN void leaf", f.read()), pages
    w.run("record", "-q", "-p", "function", "-o", "f.dat", "--", w.path("p"))
    assert "FNDA:11,leaf\n" in w.run("convert", "--to", "lcov", "f.dat", "-").stdout.decode()
    plain = w.compile("plain", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", "-o", "n.dat", "--", plain)
    p = w.run("convert", "--to", "lcov", "n.dat", "n.info", status=1)
    assert b"-g" in p.stderr and not os.path.exists(w.path("n.info")), p.stderr


LINE = re.compile(r" *(.+)-(\d+) +\( *(\d+)\) \[(\d+)\] (.{5}) (\d+)\.(\d{9}): (\w+): (.*)$")


def test_systrace(w):
    """Marks nest in each thread's row, with profile's calls and times."""
    recorded(w)
    profile = {r["name"]: (r["calls"], r["total"]) for r in json.loads(w.run("profile", "--json", "t.dat").stdout)["functions"]}
    assert {n: c for n, (c, _) in profile.items()} == CALLS
    text = w.run("convert", "--to", "systrace", "t.dat", "-").stdout.decode().splitlines()
    assert text[:2] == ["# tracer: nop", "#"]
    open_, calls, total, rows, last = collections.defaultdict(list), collections.Counter(), collections.Counter(), {}, 0
    for l in text[2:]:
        comm, row, pid, _, _, s, ns, word, mark = LINE.match(l).groups()
        ts = int(s) * 10 ** 9 + int(ns)
        assert comm == "p" and word == "tracing_mark_write" and ts >= last, l
        last = ts
        if mark.startswith("B|"):
            name = re.fullmatch(rf"B\|{pid}\|(.*)", mark)[1]
            open_[row].append((name, ts))
            rows.setdefault(name, set()).add(int(row))
        else:
            assert mark == f"E|{pid}", l
            name, begun = open_[row].pop()
            calls[name] += 1
            total[name] += ts - begun
    assert {n: (calls[n], total[n]) for n in calls} == profile and not any(open_.values())
    assert rows["main"] == rows["visit"] == {int(pid)} and rows["thread"] < rows["leaf"] and len(rows["leaf"]) == 3, rows
    assert max(rows["thread"]) < 2 ** 31 <= min(rows["beside"]), rows


def test_stacks_of_two_processes(w):
    """A coroutine has a row of its own, also where another process has one with that number."""
    prog = w.compile("p", PROGRAM, "-g")
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", "sh", "-c", f"{prog} & {prog} & wait")
    w.run("convert", "-q", "--to", "systrace", "t.dat", "t.txt")
    with open(w.path("t.txt"), encoding="utf-8") as f:
        rows = re.findall(r"-(\d+) .*tracing_mark_write: B\|(\d+)\|(beside|leaf)$", f.read(), re.M)
    beside = [tid for tid, _, name in rows if name == "beside"]
    assert len(beside) == len(set(beside)) == 2 and all(int(tid) > 1 << 31 for tid in beside), rows
    assert [sum(name == "leaf" and tid == of for tid, _, name in rows) for of in beside] == [3, 3], rows


def test_systrace_events(w):
    """Lines of the kernel's events are the kernel's own."""
    data = os.environ["SOURCE_DIR"] + "/tests/data/kernel-v6.dat"
    text = [LINE.match(l).groups() for l in w.run("convert", "--to", "systrace", data, "-").stdout.decode().splitlines()[2:]]
    report = [re.match(r" *(.+)-(\d+) +\[(\d+)\] (\S+) +([\d.]+): (\w+): (.*)$", l)
              for l in w.run("report", "--format=trace", data).stdout.decode().splitlines()]
    want = [m.groups() for m in report if m]
    assert len(want) == len(text) > 100, (len(want), len(text))
    for t, m in zip(text, want):
        assert (*t[:2], *t[3:5], *t[7:]) == (*m[:4], *m[5:]) and abs(float(f"{t[5]}.{t[6]}") - float(m[4])) < 1e-6, (t, m)


SYSCALLS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
static void *thread(void *a) { syscall(SYS_getppid); return a; }
int main(void)
{
	char buf[16];
	struct timespec t = {0, 2000000};
	struct utsname u;
	struct stat st;
	pthread_t other;
	int fd = open("/dev/zero", O_RDONLY);
	syscall(SYS_read, fd, buf, 10);
	syscall(SYS_close, 99);
	lseek(memfd_create("m", 0), 50000000, SEEK_SET);
	uname(&u);
	fstat(0, &st);
	openat(AT_FDCWD, "/nonexistent", 0);
	nanosleep(&t, 0);
	pthread_create(&other, NULL, thread, NULL);
	pthread_join(other, NULL);
	close(fd);
	return 0;
}
"""


def test_strace(w):
    """System calls and results are those that strace prints, and a sleep has its length."""
    need("strace")
    prog = w.compile("s", SYSCALLS)
    w.run("record", "-q", "-e", "syscalls", "-o", "s.dat", "--", prog)
    w.run("convert", "-q", "s.dat", "s.strace")
    with open(w.path("s.strace")) as f:
        ours = f.read()
    subprocess.run(["strace", "-f", "-T", "-e", "openat,read,close,lseek,memfd_create,uname,newfstatat,fstat,clock_nanosleep,getppid,exit_group", "-o", "real", prog],
                   cwd=w.dir, check=True)
    with open(w.path("real")) as f:
        real = f.read()
    want = [(n, r) for n, r in re.findall(r"^\d+ +(\w+)\(.*\) += ([^<\n]*?)(?: <[\d.]+>)?$", real, re.M)]
    want = want[[i for i, l in enumerate(real.splitlines()) if "/dev/zero" in l][0]:]
    lines = [re.match(r"(\d+) +(\d+\.\d{9}) (\w+)\((.*)\) = (.*?)(?: <(\d+\.\d{9})>)?$", l) for l in ours.splitlines()]
    assert all(lines), ours
    names = {n for n, _ in want}
    got = [m for m in lines if m[3] in names]
    first = next(i for i, m in enumerate(got) if got[i + 1][3] == "read" and got[i + 1][5] == "10")
    got = got[first:]
    parent = [(n, r) for n, r in want if n != "getppid"]
    assert [(m[3], m[5]) for m in got if m[3] != "getppid"] == parent, (ours, real)
    assert len({m[1] for m in got}) == 2 and [m[3] for m in got if m[1] != got[0][1]] == ["getppid"], ours
    # the arguments that are numbers, and the descriptor of no folder
    assert re.search(r"lseek\((\d+, 50000000), ", ours)[1] == re.search(r"lseek\((\d+, 50000000), ", real)[1], (ours, real)
    assert re.search(r"openat\(AT_FDCWD, .*ENOENT", ours) and "= 50000000 <" in ours, ours
    slept = next(m for m in got if m[3] == "clock_nanosleep")
    assert float(slept[6]) >= 0.002 and got[1][4].split(", ")[0] == "3" and got[1][4].split(", ")[2] == "10", ours
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", w.prog, "calls", 2)
    p = w.run("convert", "--to", "strace", "t.dat", "-", status=1)
    assert b"-e syscalls" in p.stderr or b"no call" in p.stderr, p.stderr


def test_strace_buffers(w):
    """The kernel's records of the same calls have lines of their own, which end with the buffer's
    name."""
    root()
    if not os.path.exists("/sys/kernel/tracing/events/syscalls/sys_enter_lseek"):
        raise Skip("the kernel has no events of system calls")
    w.run("record", "-q", "-k", "-F", "-e", "syscalls:sys_enter_lseek", "-e", "syscalls:sys_exit_lseek", "-e", "prog:syscalls", "-o", "b.dat",
          "--", w.compile("s", SYSCALLS))
    lines = w.run("convert", "--to", "strace", "b.dat", "-").stdout.decode().splitlines()
    calls = [re.match(r"(\d+) +\d+\.\d{9} (.*?)(?: <\d+\.\d{9}>)?( buffer=kernel)?$", l).groups() for l in lines]
    seek = [c for c in calls if "50000000" in c[1]]
    assert sorted(c[2] or "" for c in seek) == ["", " buffer=kernel"] and seek[0][:2] == seek[1][:2], lines
    assert "= 50000000" in seek[0][1] and [c[1] for c in calls if c[1].endswith(" = ?")] == ["exit_group(0) = ?"], lines


if __name__ == "__main__":
    main(globals())
