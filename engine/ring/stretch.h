/* SPDX-License-Identifier: MIT */
/*
 * A copy of the records of one stretch of time, of one thread or of all, for a latency tracer. It
 * is in the pages that are otherwise the snapshot's. Recording goes on, and no record is removed
 * from the ring: stretches of several threads may overlap.
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
 * stretch_begin() - lock until stretch_end(). Return: 0; -ENODEV: there is no memory for it;
 * -EBUSY: a signal handler interrupted a stretch_begin(), or another thread holds the lock for
 * long. Any context; waits by sched_yield().
 */
int stretch_begin(struct ring *r);
void stretch_end(struct ring *r);

/* Drop the kept stretch; readers wait until stretch_end(). */
void stretch_empty(struct ring *r);

/*
 * stretch_copy() - add the records with stamps from @from to @to, both included. @tid: of this
 * thread alone; 0: of all. Return: the number of pages; 0: nothing was recorded. Without memory the
 * oldest ones are left out. Any context. Costs a look at each page of the ring.
 */
uint32_t stretch_copy(struct ring *r, int tid, uint64_t from, uint64_t to);

/*
 * stretch_call() - add a RECORD_CALL of the calling thread that was not recorded in time. @stamp,
 * @cpu: when and where it was made; @context: ring_context() at that time. Any context.
 */
void stretch_call(struct ring *r, uint64_t stamp, uint32_t cpu, uint32_t context, uint64_t ip,
		  uint64_t parent_ip);

/* stretch_drop() - drop the kept stretch. Under the tree lock. Return: as stretch_begin(). */
int stretch_drop(struct ring *r);

#endif
