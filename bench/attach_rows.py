# SPDX-License-Identifier: MIT
"""`vestige attach`: its time, and how long the program is stopped, by number of threads."""
import os
import re
import subprocess
import time

import harness
from harness import VESTIGE, compiled, empty_areas, pairs, row

# Threads that sleep and compute.
VICTIM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *work(void *arg)
{
	for (volatile long n = 0;; n = 0) {
		while (n < 10000)
			n++;
		usleep(2000);
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;

	for (int i = 1; i < atoi(argv[argc - 1]); i++)
		pthread_create(&t, NULL, work, NULL);
	puts("ready");
	fflush(stdout);
	work(NULL);
}
"""


def once(program, threads, areas):
    with subprocess.Popen([program, str(threads)], stdout=subprocess.PIPE, env={**os.environ, "VESTIGE_DIR": areas}) as p:
        p.stdout.readline()
        begun = time.monotonic()
        said = subprocess.run([VESTIGE, "attach", "-v", str(p.pid)], stderr=subprocess.PIPE, text=True, check=True).stderr
        took = 1e3 * (time.monotonic() - begun)
        begun = time.monotonic()
        subprocess.run([VESTIGE, "detach", "-q", str(p.pid)], check=True, env={**os.environ, "VESTIGE_DIR": areas})
        back = 1e3 * (time.monotonic() - begun)
        p.kill()
        p.wait()
    empty_areas()
    return took, float(re.search(r"stood still for ([\d.]+) ms", said)[1]), back


def bench_attach():
    source = f"{harness.folder}/victim.c"
    with open(source, "w", encoding="utf-8") as f:
        f.write(VICTIM)
    program = compiled("victim", ["-O2", "-pthread"], source)
    for threads in 1, 8, 64:
        best = [min(one) for one in zip(*(once(program, threads, f"{harness.folder}/areas") for _ in range(pairs(15))))]
        row(f"attach, {threads} threads", f"{best[0]:.0f} ms")
        row(f"attach, {threads} threads: the one that loads the engine is stopped", f"{best[1]:.1f} ms",
            "< 5 ms" if threads == 8 else "", best[1] < 5 if threads == 8 else None)
        row(f"detach, {threads} threads", f"{best[2]:.0f} ms")
