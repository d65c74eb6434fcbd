/* SPDX-License-Identifier: MIT */
/*
 * Records that the agent writes for another thread, of what that thread cannot tell itself: that it left
 * its CPU, or, of another process or an interrupt amid it, that it woke one of ours. They lie in pages of that thread and that CPU, beside the thread's own, so that readers know
 * of nothing special. One writer at a time, under the tree's lock, with all signals blocked.
 */
#ifndef VESTIGE_RING_FOREIGN_H
#define VESTIGE_RING_FOREIGN_H

#include "engine/ring/ring_write.h"

/* Whose record is being made; what asks for the thread that records means this one. */
struct ring_as {
	int tid, tgid;
	int other; /* whom it is about as well, where a list of threads is asked */
	uint32_t cpu;
	uint64_t stamp; /* in the area's clock */
	char comm[16];
};

/* NULL: the calling thread records what is its own, as always. */
extern __thread const struct ring_as *ring_as __attribute__((tls_model("initial-exec")));

/*
 * ring_reserve_as_other() - as ring_reserve(), for ring_as.
 * Return: 1 and *@slot; 0: recording is off, or there is no page, which is counted.
 */
int ring_reserve_as_other(struct ring *r, struct ring_slot *slot, uint32_t bytes);

/* Records of a CPU were lost before we had them. */
void ring_count_foreign_lost(struct ring *r, uint32_t cpu, uint64_t n);

/* Publish all such pages: nobody records for others any more. */
void ring_foreign_flush(void);

/* In a fork's child: the pages are the parent's. */
void ring_foreign_fork(void);

#endif
