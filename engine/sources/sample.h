/* SPDX-License-Identifier: MIT */
/*
 * Samples: a signal (SIGURG) interrupts each thread of the program after each period of its CPU
 * time. With perf that is a thousand times a second, only in the program's own code; without, by
 * timers, at the kernel's ticks.
 */
#ifndef VESTIGE_SOURCES_SAMPLE_H
#define VESTIGE_SOURCES_SAMPLE_H

#include <signal.h>

#include "engine/sources/source.h"

#define SAMPLE_SIGNAL SIGURG
#define SAMPLE_HZ     1000u

struct sample {
	const void *context; /* the interrupted context, for sample_stack() */
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

/* The way in which samples are made now. Under the tree's lock. */
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
 * address behind a call. Functions of the engine are left out. Walks by the tables of exceptions;
 * without tables by frame pointers. Nothing is read but the thread's own stacks. @to: @room of
 * them, one at least.
 * Return: how many. In a handler.
 */
uint32_t sample_stack(const void *context, struct sample_frame *to, uint32_t room);

#endif
