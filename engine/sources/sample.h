/* SPDX-License-Identifier: MIT */
/*
 * Samples: a signal (SIGURG) interrupts each thread of the program after each period of its CPU
 * time. With perf there are a thousand a second, only in the program's own code. Without perf they
 * come from timers, at the kernel's ticks.
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
	 * Samples that are missing between this thread's last one and this one: it was in the
	 * kernel, blocked the signal, or the machine was late.
	 */
	uint64_t missed;
};

/* Called in the signal handler: any context. */
struct sample_listener {
	struct source_link link;
	void (*call)(const struct sample *s);
};
/* Its want() fails with -ENODEV: the program is static, or there is no agent. */
extern struct source samples;

/* How samples are made now. Under the tree lock. */
struct sample_how {
	uint32_t hz;  /* at most */
	int perf_err; /* why perf is not used; 0: it is used */
};
struct sample_how sample_how(void);

struct sample_frame {
	uint64_t ip, sp;
};

/*
 * sample_stack() - get the interrupted functions, innermost first. All but the first are given by
 * their return address. Functions of the engine are left out. Unwinds by the tables of exceptions;
 * without tables by frame pointers. Reads only the thread's own stacks. @to: room for @room of
 * them, at least one. In a handler. Return: how many.
 */
uint32_t sample_stack(const void *context, struct sample_frame *to, uint32_t room);

#endif
