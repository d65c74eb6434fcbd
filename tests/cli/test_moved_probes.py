#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Probes work at instructions that a redirect moves, whichever of the two comes or goes first,
while threads run there. Each hit is counted, the program's results stay the same, and its own
backtraces are complete."""
import re

from cli_test import main, until
from test_attach_functions import PLAIN, Program, enabled

# The jump takes the first three instructions (5 bytes) of each. The program counts its calls.
CALLS = r"""
#define _GNU_SOURCE
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#define F(n) __asm__(".text\n.p2align 5,0xcc\n.type f" #n ",@function\n.globl f" #n "\nf" #n ":\n.cfi_startproc\n" \
	"pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6,-16\nmovq %rsp,%rbp\n.cfi_def_cfa_register 6\n" \
	"pushq %rbx\n.cfi_offset 3,-24\nmovq %rdi,%rbx\nleaq " #n "(%rbx,%rbx,2),%rax\npopq %rbx\npopq %rbp\n" \
	".cfi_def_cfa 7,8\nret\n.cfi_endproc\n.size f" #n ",.-f" #n "\n"); \
	long f##n(long);
#define ALL(X) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17)
ALL(F)
#define P(n) f##n,
static long (*const fs[])(long) = {ALL(P)};
#define NR (sizeof(fs) / sizeof(*fs))
static volatile int over, going;
static volatile long lost;
struct counts { long f[NR], wrong; } __attribute__((aligned(128)));
static struct counts counts[4];
extern char __start_workers[], __stop_workers[];
static void look(int sig)
{
	void *frames[32];
	int n, i;

	(void)sig;
	if (over)	/* a thread that ends has left work() */
		return;
	n = backtrace(frames, 32);
	for (i = 0; i < n; i++)
		if ((char *)frames[i] >= __start_workers && (char *)frames[i] < __stop_workers)
			return;
	lost++;
}
__attribute__((noinline, section("workers"))) static void *work(void *arg)
{
	struct counts *c = arg;

	while (!going)
		;
	for (; !over; usleep(100))
		for (unsigned i = 0; i < 8 * NR; i++) {
			c->f[i % NR]++;
			c->wrong += fs[i % NR](i) != 3 * i + 10 + i % NR;
		}
	return NULL;
}
int main(void)
{
	const struct itimerval often = {{0, 2000}, {0, 2000}};
	struct sigaction sa = {.sa_handler = look, .sa_flags = SA_RESTART};
	pthread_t t[4];
	sigset_t prof;
	void *frames[2];
	char c;

	backtrace(frames, 2);
	sigaction(SIGPROF, &sa, NULL);
	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, &counts[i]);
	pthread_sigmask(SIG_BLOCK, &prof, NULL);
	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) == 1)
		going = 1;
	if (TIMERS)
		setitimer(ITIMER_PROF, &often, NULL);
	if (read(0, &c, 1) == 1)
		over = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < NR; i++)
		printf("f%d %ld\n", 10 + i, counts[0].f[i] + counts[1].f[i] + counts[2].f[i] + counts[3].f[i]);
	printf("wrong %ld lost %ld\n", counts[0].wrong + counts[1].wrong + counts[2].wrong + counts[3].wrong, lost);
	fflush(stdout);
	return read(0, &c, 1) < 0;
}
"""


class Calls(Program):
    def __init__(self, w, timers=1):
        w.compile("calls", CALLS, PLAIN, "-O1", "-fcf-protection=none", f"-DTIMERS={timers}")
        super().__init__(w, "./calls")
        self.w = w
        w.run("attach", self.pid)

    def say(self):
        self.p.stdin.write(b"\n")
        self.p.stdin.flush()

    def set(self, name, value, *flags):
        self.w.run("set", *flags, "-P", self.pid, name, value)

    def define(self, name, place):
        self.set("kprobe_events", f"p:{name} {place}", "-a")

    def switch(self, name, on):
        self.set(f"events/kprobes/{name}/enable", str(int(on)))

    def trace(self, tracer, *functions):
        flags = [x for f in functions for x in ("-l", f)]
        self.w.run("start", "-P", self.pid, "-p", tracer, *flags)
        assert enabled(self.w, self.pid) == set(functions), (functions, enabled(self.w, self.pid))

    def hits(self):
        """{event: (hits, misses)}"""
        out = self.w.run("get", "-P", self.pid, "kprobe_profile").stdout.decode()
        return {m[0]: (int(m[1]), int(m[2])) for m in re.findall(r"(\w+) +(\d+) +(\d+)", out)}

    def moves(self):
        """Wait until each probe that is on has more hits."""
        before = self.hits()
        until(lambda: all(n == (0, 0) or n[0] > before[name][0] for name, n in self.hits().items()))

    def result(self):
        """{function: calls} when the threads have ended; the program still runs."""
        self.say()
        lines = [self.p.stdout.readline().decode() for _ in range(9)]
        assert lines[-1] == "wrong 0 lost 0\n", lines
        return {name: int(n) for name, n in (line.split() for line in lines[:-1])}


def test_probe_first(w):
    """Probes come first, then redirects come and are switched: each call hits each probe exactly
    once."""
    with Calls(w) as p:
        for f in 10, 11, 12:
            p.define(f"a{f}", f"f{f}+1")
            p.switch(f"a{f}", 1)
        p.define("first", "f13")        # the instruction, as nothing is traced there yet
        p.define("behind", "f10+5")     # not moved
        p.switch("first", 1)
        p.switch("behind", 1)
        p.say()
        for tracer in "function", "function_graph", "function":
            p.moves()
            p.trace(tracer, "f10", "f11", "f13")
            p.moves()
        p.trace("function", "f12")
        p.moves()
        p.set("current_tracer", "nop")
        p.moves()
        calls = p.result()
        hits = p.hits()
        for name, f in ("a10", "f10"), ("a11", "f11"), ("a12", "f12"), ("first", "f13"), ("behind", "f10"):
            assert sum(hits[name]) == calls[f], (name, hits, calls)
        p.say()
    w.run("clean")


def test_redirect_first(w):
    """Redirects come first, then probes at the instructions that they have moved."""
    with Calls(w) as p:
        p.trace("function", "f10", "f11", "f12")
        p.define("a10", "f10+1 d=%di")
        p.define("a11", "f11+1")
        p.define("whole", "f12")
        for name in "a10", "a11", "whole":
            p.switch(name, 1)
        p.say()
        p.moves()
        p.trace("function_graph", "f10", "f12")
        p.moves()
        p.set("current_tracer", "nop")
        p.moves()
        calls = p.result()
        hits = p.hits()
        for name, f in ("a10", "f10"), ("a11", "f11"), ("whole", "f12"):
            assert sum(hits[name]) == calls[f], (name, hits, calls)
        shown = w.run("show", "-P", p.pid).stdout.decode()
        places = set(re.findall(r"a10: \((\S+)\) d=(\S+)", shown))
        assert places == {("f10+0x1/0x20", hex(8 * n)) for n in range(8)}, (places, shown[:2000])
        p.say()
    w.run("clean")


def test_toggle(w):
    """Both are switched in all four orders while four threads with timers run, with the engine
    detached in between: the program's code is as built again."""
    with Calls(w) as p:
        p.say()
        for n in range(12):
            for f in 10, 11:
                p.define(f"a{f}", f"f{f}+1")
                p.define(f"b{f}", f"f{f}+4")
            probes = ["a10", "a11"] + (["b10"] if n & 4 else [])
            steps = [lambda: p.trace("function_graph" if n & 1 else "function", "f10", "f11", "f12"),
                     lambda: [p.switch(name, 1) for name in probes]]
            back = [lambda: p.set("current_tracer", "nop"), lambda: [p.switch(name, 0) for name in probes]]
            for step in steps[::1 if n & 1 else -1] + [p.moves] + back[::1 if n & 2 else -1]:
                step()
            hits = p.hits()
            assert hits["a10"][0] and hits["a11"][0], hits
            if n % 3 == 2:
                w.run("detach", "-q", p.pid)
                w.run("attach", p.pid)
            else:
                p.set("kprobe_events", "")
        p.result()
        p.say()
    w.run("clean")


if __name__ == "__main__":
    raise SystemExit(main(globals()))
