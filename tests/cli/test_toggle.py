#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""2,600 functions that were built without any flag, switched on and off while four threads with
timers run in them: what they compute is as without. STRESS=20, as `make soak` has it: 10,000
times."""
import os

from cli_test import main, until
from test_attach_functions import PLAIN, Program

NR = 2600
TIMES = 500 * int(os.environ.get("STRESS", "0")) or 12

THREADS = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>
static volatile int over;
static volatile long hits;
static long rounds[4];
__attribute__((noipa)) long within(long n) { return f7(n) ^ f8(n); }
static void tick(int sig)
{
	hits += within(sig) != (f7(sig) ^ f8(sig));
}
static void *work(void *arg)
{
	long wrong = 0, n = 0, first = 0, sum, i;

	for (; !over || n < 2; n++) {
		for (sum = i = 0; i < NR; i++)
			sum = sum * 31 + fs[i](i);
		if (!n)
			first = sum;
		wrong += sum != first;
	}
	*(long *)arg = n;
	return (void *)wrong;
}
int main(void)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}};
	struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_RESTART};
	pthread_t t[4];
	void *wrong;
	long sum = 0;
	char c;

	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, &rounds[i]);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) < 0)
		;
	over = 1;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &wrong);
		sum += (long)wrong;
	}
	printf("wrong %ld %ld\n", sum, hits);
	return 0;
}
"""


def source():
    """Functions that begin in several ways, some of which call others."""
    bodies = ["return n * {0} + 1;", "volatile long a[4] = {{n, {0}}}; return a[n & 1] + a[2];",
              "return n % 3 ? n + {0} : f{1}(n + 1) + 2;", "static long k[8] = {{{0}, 3}}; return k[n & 7] ^ n;"]
    out = []
    for i in range(NR):
        body = bodies[i % len(bodies) if i > 9 else 0].format(i, i - 1)
        out.append(f"__attribute__((noipa)) long f{i}(long n) {{ {body} }}\n")
    return "".join(out) + f"#define NR {NR}\nstatic long (*const fs[NR])(long) = {{{', '.join(f'f{i}' for i in range(NR))}}};\n" + THREADS


def test_toggle(w):
    """All of them, by both tracers."""
    w.compile("many", source(), PLAIN, "-O1", "-fcf-protection=none")
    with Program(w, "./many") as p:
        w.run("attach", p.pid)
        w.run("set", "-P", p.pid, "buffer_size_kb", "64")
        for n in range(TIMES):
            tracer = "function_graph" if n & 1 else "function"
            w.run("set", "-P", p.pid, "current_tracer", tracer)
            if n < 2:
                lines = w.run("get", "-P", p.pid, "enabled_functions").stdout.decode().splitlines()
                assert len([line for line in lines if line.startswith("f")]) > 0.97 * NR, len(lines)
                until(lambda: b" f2" in w.run("show", "-P", p.pid).stdout)
            w.run("set", "-P", p.pid, "current_tracer", "nop")
        assert p.end() == (0, "wrong 0 0\n")
    w.run("clean")


if __name__ == "__main__":
    raise SystemExit(main(globals()))
