/* SPDX-License-Identifier: MIT */
/*
 * When a thread can take no signal: it blocks some that it did not block when it was first looked
 * at, or one of its handlers runs.
 */
#ifndef VESTIGE_SOURCES_MASK_H
#define VESTIGE_SOURCES_MASK_H

#include "engine/sources/source.h"

enum mask_state { MASK_BLOCKED = 1, MASK_HANDLER = 2 };

/*
 * The calling thread's state changes from @before to @after (bits of mask_state, not the same).
 * @function: the function of libc that changed it, or the handler. @site: its caller, or where the
 * signal came.
 */
struct mask_listener {
	struct source_link link;
	void (*call)(uint32_t before, uint32_t after, uint64_t function, uint64_t site);
};
extern struct source mask_changes;

/* The calling thread's state, as far as it is known. Any context. */
uint32_t mask_state(void);

/*
 * Whether the calling thread's mask has SIGSEGV to the program, where the kernel's has it not
 * (region_calls.c). Any context.
 */
int mask_wishes_segv(void);
void mask_wish_segv(int on);

#endif
