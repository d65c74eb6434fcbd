/* SPDX-License-Identifier: MIT */
/*
 * Samples: each thread of the program is interrupted for each so much of its own CPU time, by a
 * signal (SIGURG). Where perf may be asked that is a thousand times a second, in the program's own
 * code alone; elsewhere by timers, with the clock of the kernel's ticks.
 */
#ifndef VESTIGE_SOURCES_SAMPLE_H
#define VESTIGE_SOURCES_SAMPLE_H

#include <signal.h>

#include "engine/sources/source.h"

#define SAMPLE_SIGNAL SIGURG
#define SAMPLE_HZ     1000u

struct sample {
	const void *context; /* what was interrupted: for sample_stack() */
	/*
	 * Samples that should have been between this thread's last one and this: it was in the
	 * kernel, blocked the signal, or the machine was late.
	 */
	uint64_t missed;
};

/* In the handler: any context. */
struct sample_listener {
	struct source_link link;
	void (*call)(const struct sample *s);
};
/* -ENODEV: the program is static, or there is no agent. */
extern struct source samples;

/* How it is done now. Under the tree's lock. */
struct sample_how {
	uint32_t hz;  /* at most */
	int perf_err; /* why perf is not asked; 0: it is */
};
struct sample_how sample_how(void);

struct sample_frame {
	uint64_t ip, sp;
};

/*
 * sample_stack() - the functions that were interrupted, innermost first; all but the first by the
 * address behind a call. Those of the engine are left out. By the tables of exceptions, where there
 * are none by frame pointers. Nothing is read but the thread's own stacks. @to: @room of them,
 * one at least.
 * Return: how many. In a handler.
 */
uint32_t sample_stack(const void *context, struct sample_frame *to, uint32_t room);

#endif
