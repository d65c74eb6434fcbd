/* SPDX-License-Identifier: MIT */
/* Control blocks, for ring.c, whose they are, and ring_thread.c. */
#ifndef VESTIGE_RING_RING_CTL_H
#define VESTIGE_RING_RING_CTL_H

#include "engine/ring/ring.h"

/* Shared by all threads that have no block: its cpu_key of 0 sends them to the slow path. */
extern struct ring_ctl ring_null_ctl;

/*
 * ring_ctl_attach() - the thread's first block in a ring. A handler that comes meanwhile makes a
 * block, too; the first one that is put into ring_ctl stays. @comm: the thread's name, where it may
 * not ask for it. Return: NULL: none is free, which is counted.
 */
struct ring_ctl *ring_ctl_attach(struct ring *r, const char *comm);

/* The block is free for any thread. */
void ring_ctl_free(struct ring_ctl *ctl);

/*
 * ring_ctl_retire() - the block has no page any more: publish the pages that no unfinished writer can
 * still write to, and hold the others back.
 */
void ring_ctl_retire(struct ring_ctl *ctl);

/* The block is no longer busy; the thread has it again. */
void ring_ctl_leave_nested(struct ring_ctl *ctl);

#endif
