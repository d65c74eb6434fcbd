/* SPDX-License-Identifier: MIT */
/* Control blocks, shared by ring.c, which owns them, and ring_thread.c. */
#ifndef VESTIGE_RING_RING_CTL_H
#define VESTIGE_RING_RING_CTL_H

#include "engine/ring/ring.h"

/* Shared by all threads that have no block: its cpu_key of 0 sends them to the slow path. */
extern struct ring_ctl ring_null_ctl;

/*
 * ring_ctl_attach() - give the thread its first block in a ring. A handler may do the same
 * meanwhile; the block that is put into ring_ctl first stays. @comm: the name of a thread that may
 * make no system call. Return: the block; NULL: none is free, which is counted.
 */
struct ring_ctl *ring_ctl_attach(struct ring *r, const char *comm);

/* Free the block for any thread. */
void ring_ctl_free(struct ring_ctl *ctl);

/*
 * ring_ctl_retire() - the block gives up its page: publish the pages to which no unfinished writer
 * can write, and hold the others back.
 */
void ring_ctl_retire(struct ring_ctl *ctl);

/* The block is no longer busy, and is the thread's again. */
void ring_ctl_leave_nested(struct ring_ctl *ctl);

#endif
