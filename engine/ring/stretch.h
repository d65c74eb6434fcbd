/* SPDX-License-Identifier: MIT */
/*
 * A copy of the records of one stretch of time, of one thread or of all, for a tracer of latencies.
 * It is in the pages that are otherwise the snapshot's. Recording goes on, and no record leaves the
 * ring: stretches of several threads may overlap.
 *
 *	if (!stretch_begin(r)) {
 *		stretch_empty(r);
 *		stretch_call(r, ..);	the call that began it
 *		stretch_copy(r, ..);
 *		stretch_end(r);
 *	}
 */
#ifndef VESTIGE_RING_STRETCH_H
#define VESTIGE_RING_STRETCH_H

#include "engine/ring/ring.h"

/*
 * stretch_begin() - one caller at a time from here to stretch_end(). Return: 0; -ENODEV: there is
 * no memory for it; -EBUSY: a signal handler interrupted the same, or another thread did not end it
 * for long. Any context; another thread's end is waited for by sched_yield().
 */
int stretch_begin(struct ring *r);
void stretch_end(struct ring *r);

/* Drop the stretch that was kept before; readers wait until stretch_end(). */
void stretch_empty(struct ring *r);

/*
 * stretch_copy() - add the records with stamps from @from to @to, both included. @tid: of this
 * thread alone; 0: of all. Return: how many pages; 0: nothing was recorded. Oldest ones are left
 * out where there is no memory. Any context. Costs a look at each page of the ring.
 */
uint32_t stretch_copy(struct ring *r, int tid, uint64_t from, uint64_t to);

/*
 * stretch_call() - add a RECORD_CALL, of the calling thread, that was not recorded when it was due.
 * @stamp: when; @cpu: where; @context: as ring_context() said then. Any context.
 */
void stretch_call(struct ring *r, uint64_t stamp, uint32_t cpu, uint32_t context, uint64_t ip,
		  uint64_t parent_ip);

/* stretch_drop() - nothing is kept. Under the tree lock. Return: as stretch_begin(). */
int stretch_drop(struct ring *r);

#endif
