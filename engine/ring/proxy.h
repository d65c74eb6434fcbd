/* SPDX-License-Identifier: MIT */
/*
 * Proxy records: records that the agent writes for another thread, about events that the thread
 * cannot record itself: it left its CPU, or it was woken by another process or in an interrupt. The
 * records are in pages of that thread and CPU, beside the thread's own pages, so readers need not
 * treat them differently. One writer at a time, under the tree lock, with all signals blocked.
 */
#ifndef VESTIGE_RING_PROXY_H
#define VESTIGE_RING_PROXY_H

#include "engine/ring/ring_write.h"

/* The thread for which a record is made. Code that asks for the recording thread gets this one. */
struct ring_as {
	int tid, tgid;
	int other; /* a second thread in the event; set_*_pid match either of them */
	uint32_t cpu;
	uint64_t stamp; /* in the area's clock */
	char comm[16];
};

/* NULL: the calling thread makes records for itself, as usual. */
extern __thread const struct ring_as *ring_as __attribute__((tls_model("initial-exec")));

/*
 * ring_reserve_as_other() - as ring_reserve(), but for the thread in ring_as, which is not NULL.
 * Return: 1 and *@slot; 0: recording is off, or no page is free, which is counted.
 */
int ring_reserve_as_other(struct ring *r, struct ring_slot *slot, uint32_t bytes);

/* Count @n proxy records of a CPU that were lost before the agent could read them. */
void ring_count_proxy_lost(struct ring *r, uint32_t cpu, uint64_t n);

/* Publish all pages of proxy records: no more will be written. */
void ring_proxy_flush(void);

/* In a fork's child: forget the pages, which are the parent's. */
void ring_proxy_fork(void);

#endif
