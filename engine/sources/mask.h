/* SPDX-License-Identifier: MIT */
/*
 * Whether a thread can take all signals: not while it blocks a signal that it did not block when it
 * was first seen, or while one of its handlers runs.
 */
#ifndef VESTIGE_SOURCES_MASK_H
#define VESTIGE_SOURCES_MASK_H

#include "engine/sources/source.h"

enum mask_state { MASK_BLOCKED = 1, MASK_HANDLER = 2 };

/*
 * The calling thread's state changes from @before to @after (different bits of mask_state).
 * @function: libc's function that changed it, or the handler. @site: its caller, or the instruction
 * at which the signal came.
 */
struct mask_listener {
	struct source_link link;
	void (*call)(uint32_t before, uint32_t after, uint64_t function, uint64_t site);
};
extern struct source mask_changes;

/* The calling thread's state, as far as it is known. Any context. */
uint32_t mask_state(void);

/*
 * Whether the program set SIGSEGV in the calling thread's mask, although the kernel's mask does not
 * have it (region_calls.c). Any context.
 */
int mask_wishes_segv(void);
void mask_wish_segv(int on);

#endif
