/* SPDX-License-Identifier: MIT */
/*
 * Beside calls.c: before main() it makes an instance for each tracer that BENCH_INSTANCES names,
 * and writes its own id to the file that BENCH_PID names (set_ftrace_pid, set_ftrace_notrace_pid).
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vestige/vestige.h"

#define QUIET __attribute__((patchable_function_entry(0), no_instrument_function))

static QUIET void put(const char *file, const char *text)
{
	if (vestige_write(file, text, strlen(text)) < 0) {
		perror(file);
		exit(1);
	}
}

static QUIET __attribute__((constructor)) void set_up(void)
{
	char names[256] = "", name[16], path[64], *tracer, *rest = names;
	const char *file = getenv("BENCH_PID");
	int i = 0;

	if (getenv("BENCH_INSTANCES"))
		strncpy(names, getenv("BENCH_INSTANCES"), sizeof(names) - 1);
	while ((tracer = strsep(&rest, " ")) && *tracer) {
		snprintf(name, sizeof(name), "i%d", i++);
		snprintf(path, sizeof(path), "instances/%s/current_tracer", name);
		if (vestige_instance_create(name)) {
			perror(name);
			exit(1);
		}
		put(path, tracer);
	}
	if (file) {
		snprintf(name, sizeof(name), "%d", getpid());
		put(file, name);
	}
}
