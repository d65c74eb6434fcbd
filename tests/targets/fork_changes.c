/* SPDX-License-Identifier: MIT */
/*
 * fork_changes CHILDREN: forks while another thread writes control files all the time: tracers,
 * filters on a thousand functions, events' triggers, instances' worth of memory. Each child writes
 * its own settings, calls `counted` CALLS times and prints `PID CALLS`; a child that finds a write
 * without effect, or hangs, ends by abort() or SIGALRM, and then so does the parent.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vestige/vestige.h"

#include "target.h"

#define CALLS 100

/* clang-format off */
#define ONE(n) static NOINLINE void f_##n(void) { __asm__ volatile("# " #n); }
#define CALL(n) f_##n();
#define TEN(do, n) do(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7) do(n##8) do(n##9)
#define HUNDRED(do, n) TEN(do, n##0) TEN(do, n##1) TEN(do, n##2) TEN(do, n##3) TEN(do, n##4) TEN(do, n##5) \
	TEN(do, n##6) TEN(do, n##7) TEN(do, n##8) TEN(do, n##9)
#define ALL(do) HUNDRED(do, 1) HUNDRED(do, 2) HUNDRED(do, 3) HUNDRED(do, 4) HUNDRED(do, 5) HUNDRED(do, 6) \
	HUNDRED(do, 7) HUNDRED(do, 8) HUNDRED(do, 9)

ALL(ONE)

static NOTRACE void call_all(void)
{
	ALL(CALL)
}
/* clang-format on */

static NOINLINE void counted(void)
{
	__asm__ volatile("");
}

static int stop;

static NOTRACE void put(const char *file, const char *text)
{
	if (vestige_write(file, text, strlen(text)) < 0) {
		fprintf(stderr, "%s: %s: %s\n", file, text, strerror(errno));
		abort();
	}
}

static NOTRACE void *changes(void *arg)
{
	static const char *const writes[][2] = {
		{"set_ftrace_filter", "f_1* f_2* counted"},
		{"current_tracer", "function"},
		{"set_ftrace_filter", "f_3*"},
		{"set_event", "sched:sched_process_fork"},
		{"events/sched/sched_process_exit/trigger", "hist:keys=pid:name=one"},
		{"current_tracer", "function_graph"},
		{"set_ftrace_filter", "f_9* counted"},
		{"events/sched/sched_process_exit/trigger", "!hist:keys=pid:name=one"},
		{"set_event", "!sched:sched_process_fork"},
		{"current_tracer", "nop"},
		{"set_ftrace_notrace", "f_99*"},
		{"current_tracer", "function"},
		{"set_ftrace_notrace", "!f_99*"},
	};
	unsigned int i;

	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
		put(writes[i % (sizeof(writes) / sizeof(*writes))][0],
		    writes[i % (sizeof(writes) / sizeof(*writes))][1]);
	return arg;
}

static NOTRACE void child(void)
{
	char line[64];
	int i, n;

	alarm(60);
	put("current_tracer", "nop");
	call_all();
	put("set_ftrace_filter", "!*");
	put("set_ftrace_notrace", "!*");
	put("set_ftrace_filter", "counted f_500");
	put("current_tracer", "function");
	call_all();
	for (i = 0; i < CALLS; i++)
		counted();
	put("current_tracer", "nop");
	call_all();
	counted();
	n = snprintf(line, sizeof(line), "%d %d\n", (int)getpid(), CALLS);
	if (write(1, line, (size_t)n) != n)
		abort();
	_exit(0);
}

NOTRACE int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 10, status, i;
	pthread_t thread;
	pid_t pid;

	if (pthread_create(&thread, NULL, changes, NULL))
		return 1;
	for (i = 0; i < children; i++) {
		call_all();
		pid = fork();
		if (!pid)
			child();
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		if (status) {
			fprintf(stderr, "child %d: status %x\n", (int)pid, (unsigned int)status);
			return 1;
		}
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return 0;
}
