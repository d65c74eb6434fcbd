/* SPDX-License-Identifier: MIT */
/*
 * A child of vfork() on another CPU than its parent: it has the parent's memory and the thread's
 * own data, but no rseq, so that the CPU that the area of rseq names is the parent's. Exit status
 * 77: there is one CPU alone.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 500

static cpu_set_t all;
static volatile int sum;

__attribute__((noipa)) void leaf(int n)
{
	sum += n;
}

__attribute__((noipa)) void work(int n)
{
	leaf(n);
	getppid();
}

/* To the @nr-th CPU that there is. */
static int go_to(int nr)
{
	cpu_set_t one;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || nr--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		return sched_setaffinity(0, sizeof(one), &one);
	}
	return -1;
}

int main(void)
{
	pid_t child;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return 77;
	go_to(0);
	work(0);
	child = vfork();
	if (!child) {
		go_to(1);
		for (int i = 1; i <= TIMES; i++)
			work(i);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	puts("done");
	return 0;
}
