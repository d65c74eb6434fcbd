#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs whose memory may not become executable: by PR_SET_MDWE, or by a filter as systemd's
MemoryDenyWriteExecute= sets it. They are traced at start and by attach, as programs without it."""
import os
import re
import subprocess

from cli_test import BIN, Skip, children_of, main, until
from test_attach_functions import FILLS, PLAIN, Program, enabled, writable_code
from test_toggle import THREADS
from test_unmodified import WAYS

# deny WAY PROGRAM: the program under PR_SET_MDWE or the filter, and without memfd_create() where
# WAY ends in "alone".
DENY = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOW(i) (offsetof(struct seccomp_data, args) + 8 * (i))
#define DO(code, k) BPF_STMT(code, k)
#define IF(nr, arg, bits) DO(BPF_LD | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ, nr, 0, 4), DO(BPF_LD | BPF_ABS, LOW(arg)), \
	DO(BPF_ALU | BPF_AND, bits), BPF_JUMP(BPF_JMP | BPF_JEQ, bits, 0, 1), DO(BPF_RET, SECCOMP_RET_ERRNO | 1)
static int set(struct sock_filter *code, unsigned short n)
{
	const struct sock_fprog p = {n, code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}
int main(int argc, char **argv)
{
	struct sock_filter code[] = {IF(SYS_mmap, 2, 6), IF(SYS_mprotect, 2, 4), IF(SYS_pkey_mprotect, 2, 4),
				     IF(SYS_shmat, 2, 0100000), DO(BPF_RET, SECCOMP_RET_ALLOW)};
	struct sock_filter alone[] = {IF(SYS_memfd_create, 1, 0), DO(BPF_RET, SECCOMP_RET_ALLOW)};

	(void)argc;
	if (strstr(argv[1], "alone") && set(alone, sizeof(alone) / sizeof(*alone)))
		return 78;
	if (strncmp(argv[1], "prctl", 5) ? set(code, sizeof(code) / sizeof(*code)) : prctl(65, 1, 0, 0, 0))
		return 77;
	execvp(argv[2], argv + 2);
	return 127;
}
"""

# For each byte of its input the functions are called 5, 7 and 11 times; `f`: a child goes on with
# the input.
STEPS = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) long five(long n)
{
	volatile long a[4] = {n, 2, 3};

	return a[n & 3] + 1;
}
__attribute__((noipa)) long seven(long n) { return n % 3 ? n + 5 : five(n) + n; }
__attribute__((noipa)) long eleven(long n) { return n * 7 + 1; }
int main(void)
{
	long sum = 0, i, steps = 0;
	int status = 0;
	char c;

	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1) {
		if (c == 'f' && fork()) {
			wait(&status);
			return status != 0;
		}
		for (i = 0; i < 11; i++) {
			sum += i < 5 ? five(i) : 0;
			sum += i < 7 ? seven(3 * i + 1) : 0;
			sum += eleven(i);
		}
		printf("%ld steps\n", ++steps);
		fflush(stdout);
	}
	printf("sum %ld\n", sum);
	return 0;
}
"""
WANT = {"five": 5, "seven": 7, "eleven": 11}
BUILT = "-fpatchable-function-entry=5"


def deny(w):
    """The launcher, and the ways that this kernel has."""
    w.compile("deny", DENY, PLAIN)
    ways = [n for n in ("prctl", "filter") if not subprocess.run(["./deny", n, "true"], cwd=w.dir, check=False).returncode]
    if "prctl" not in ways:
        print("no PR_SET_MDWE")
    if not ways:
        raise Skip("neither PR_SET_MDWE nor filters")
    return ways


def calls_in(text, what):
    return {n: len(re.findall(what % n, text, re.M)) for n in WANT}


def test_start(w):
    """record: each kind of function's entry, and functions with sites, as often as the program
    counts."""
    ways = deny(w)
    w.compile("ways", WAYS, PLAIN, "-O1", "-fcf-protection=none")
    w.compile("built", STEPS, BUILT)
    plain = subprocess.run(["./ways"], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout
    own = {n: int(c) for n, c in re.findall(r"^(\w+) (\d+)$", plain.decode(), re.M) if n not in ("sum", "looped", "into")}
    for way in ways:
        for tracer in "function", "function_graph":
            for program, fed, out, want in (("./ways", b"", plain, own), ("./built", b"ab", None, {n: 2 * c for n, c in WANT.items()})):
                p = subprocess.run(["./deny", way, BIN, "record", "-q", "-p", tracer, program], cwd=w.dir, env=w.env, input=fed,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=True)
                assert out in (None, p.stdout) and b"\nsum " in b"\n" + p.stdout, (way, tracer, p.stdout)
                seen = w.counts()
                assert {n: seen.get(n, 0) for n in want} == want, (way, tracer, seen, want)
    w.nothing_left()


def step(p, n):
    p.p.stdin.write(b"x")
    p.p.stdin.flush()
    assert p.p.stdout.readline() == b"%d steps\n" % n


def test_attach(w):
    """By attach: exact counts of both tracers, of a probe and of its return, and system calls; no
    memory is writable and executable then. It sleeps and wakes."""
    if os.geteuid():
        raise Skip("filters are root's to read")
    for way in deny(w):
        for flags in ((BUILT,), (PLAIN, "-O2", "-fcf-protection=none")):
            # a filter may forbid ptrace(): there threads do not stop, and what needs more than one
            # store is left out
            want = WANT if flags[0] == BUILT or way == "prctl" else None
            w.compile("steps", STEPS, *flags)
            with Program(w, "./deny", way, "./steps") as p:
                w.run("attach", "-q", p.pid)
                for n, (tracer, what) in enumerate((("function", r": %s <-main"), ("function_graph", r"^.*\b%s\(\)")) * 2):
                    w.run("start", "-P", p.pid, "-p", tracer, "-l", "five", "-l", "seven", "-l", "eleven", status=0 if want else None)
                    step(p, 3 * n + 1)
                    seen = calls_in(w.run("show", "-P", p.pid).stdout.decode(), what)
                    assert seen == (want or seen), (way, flags, tracer, seen)
                    w.run("set", "-P", p.pid, "dynamic_events", f"p:in{n} seven\nr:out{n} eleven\n")
                    w.run("start", "-P", p.pid, "-p", "nop", "-e", f"kprobes:in{n}", "-e", f"kprobes:out{n}", "-e", "syscalls:sys_enter_write")
                    step(p, 3 * n + 2)
                    text = w.run("show", "-P", p.pid).stdout.decode()
                    assert (text.count(f" in{n}: "), text.count(f" out{n}: "), text.count(" sys_write(")) == (7, 11, 1), text
                    assert not writable_code(p.pid), writable_code(p.pid)
                    w.run("detach", "-q", p.pid)
                    step(p, 3 * n + 3)
                    w.run("attach", "-q", p.pid)
                with open(f"/proc/{p.pid}/maps", encoding="utf-8") as f:
                    assert "vestige-text" in f.read()
                assert "code that changes is a copy" in w.run("get", "-P", p.pid, "vestige_status").stdout.decode()
                assert p.end()[0] == 0
            w.run("clean")


def test_fork(w):
    """A child has its own text: what is switched in one process is as it was in the other."""
    if os.geteuid():
        raise Skip("filters are root's to read")
    for way in deny(w):
        w.compile("steps", STEPS, BUILT)
        with Program(w, "./deny", way, "./steps") as p:
            w.run("start", "-P", p.pid, "-p", "function", "-l", "five", "-l", "seven", "-l", "eleven")
            p.p.stdin.write(b"f")
            p.p.stdin.flush()
            assert p.p.stdout.readline() == b"1 steps\n"
            child, = children_of(p.pid)
            for n in range(10):
                w.run("set", "-P", child, "trace", "\n")
                w.run("set", "-P", p.pid, "current_tracer", "function" if n & 1 else "nop")
                step(p, n + 2)
                seen = calls_in(w.run("show", "-P", child).stdout.decode(), r": %s <-main")
                assert seen == WANT, (way, n, seen)
            w.run("set", "-P", child, "current_tracer", "nop")
            assert enabled(w, child) == set() and enabled(w, p.pid) == set(WANT), (enabled(w, child), enabled(w, p.pid))
            assert p.end()[0] == 0
        w.run("clean")


NR, TIMES = 60, 50


def source():
    bodies = ["return n * {0} + 1;", "volatile long a[4] = {{n, {0}}}; return a[n & 1] + a[2];",
              "return n % 3 ? n + {0} : f{1}(n + 1) + 2;", "static long k[8] = {{{0}, 3}}; return k[n & 7] ^ n;"]
    out = [f"__attribute__((noipa)) long f{i}(long n) {{ {bodies[i % 4 if i > 9 else 0].format(i, i - 1)} }}\n" for i in range(NR)]
    return "".join(out) + f"#define NR {NR}\nstatic long (*const fs[NR])(long) = {{{', '.join(f'f{i}' for i in range(NR))}}};\n" + THREADS


def test_toggle(w):
    """On and off some hundred times, under four threads with timers: what they compute is as
    without."""
    if os.geteuid():
        raise Skip("filters are root's to read")
    for way in deny(w):
        for flags in ((BUILT,), (PLAIN, "-O1", "-fcf-protection=none")):
            w.compile("many", source(), *flags)
            with Program(w, "./deny", way, "./many") as p:
                w.run("attach", "-q", p.pid)
                w.run("set", "-P", p.pid, "buffer_size_kb", "64")
                for n in range(TIMES):
                    tracer = "function_graph" if n & 1 else "function"
                    w.run("set", "-P", p.pid, "current_tracer", tracer)
                    if n < 2:
                        on = [f for f in enabled(w, p.pid) if f.startswith("f")]
                        assert len(on) > (0.97 * NR if way == "prctl" or flags[0] == BUILT else 0), (way, flags, on)
                        until(lambda: b" f2" in w.run("show", "-P", p.pid).stdout)
                    w.run("set", "-P", p.pid, "current_tracer", "nop")
                assert not writable_code(p.pid)
                assert p.end() == (0, "wrong 0 0\n")
            w.run("clean")


def test_threads_are_in_them(w):
    """Instructions move while threads are among them, and a handler goes back to them."""
    if "prctl" not in deny(w):
        raise Skip("no PR_SET_MDWE")
    fills = {f"fill{a}{b}" for a in range(1, 5) for b in range(8)}
    w.compile("fills", FILLS, PLAIN, "-O2", "-fcf-protection=none")
    with Program(w, "./deny", "prctl", "./fills") as p:
        for n in range(10):
            w.run("start", "-P", p.pid, "-p", "function_graph" if n & 1 else "function", "-l", "fill*")
            assert enabled(w, p.pid) == fills, enabled(w, p.pid)
            w.run("detach", "-q", p.pid)
        assert p.end() == (0, "wrong 0\n")
    w.run("clean")


def test_no_copy(w):
    """Without memfd_create(), too, no function is switched on: the reason is said, and a process
    runs on."""
    ways = deny(w)
    w.compile("steps", STEPS, BUILT)
    for way in ways:
        p = subprocess.run(["./deny", way + "-alone", BIN, "record", "-p", "function", "./steps"], cwd=w.dir, env=w.env, input=b"a",
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=False)
        assert p.returncode == 125 and b"cannot start here: its text cannot be made writable (PR_SET_MDWE" in p.stderr, p
        if os.geteuid():
            continue
        with Program(w, "./deny", way + "-alone", "./steps") as p:
            if way == "prctl":
                w.run("attach", "-q", p.pid)
                said = w.run("start", "-P", p.pid, "-p", "function", "-l", "five", status=1).stderr.decode()
                assert "cannot be made writable (PR_SET_MDWE" in said, said
            else:
                said = w.run("attach", p.pid, status=1).stderr.decode()
                assert "forbids what the engine needs (mprotect)" in said, said
            step(p, 1)
            assert p.end()[0] == 0
        w.run("clean")


if __name__ == "__main__":
    raise SystemExit(main(globals()))
