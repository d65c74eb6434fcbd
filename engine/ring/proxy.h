/* SPDX-License-Identifier: MIT */
/*
 * Proxy records: the agent writes them for another thread, about events that the thread cannot
 * record itself. It left its CPU; or another process, or an interrupt during it, woke one of our
 * threads. They are in pages of that thread and CPU, beside the thread's own, so readers need not
 * treat them differently. One writer at a time, under the tree's lock, with all signals blocked.
 */
#ifndef VESTIGE_RING_PROXY_H
#define VESTIGE_RING_PROXY_H

#include "engine/ring/ring_write.h"

/* The thread for which a record is being made: code that asks for the recording thread gets it. */
struct ring_as {
	int tid, tgid;
	int other; /* a second thread that it is about: lists of threads match either */
	uint32_t cpu;
	uint64_t stamp; /* in the area's clock */
	char comm[16];
};

/* NULL: the calling thread records for itself, as usual. */
extern __thread const struct ring_as *ring_as __attribute__((tls_model("initial-exec")));

/*
 * ring_reserve_as_other() - as ring_reserve(), for ring_as.
 * Return: 1 and *@slot; 0: recording is off, or there is no page, which is counted.
 */
int ring_reserve_as_other(struct ring *r, struct ring_slot *slot, uint32_t bytes);

/* Records of a CPU were lost before we had them. */
void ring_count_proxy_lost(struct ring *r, uint32_t cpu, uint64_t n);

/* Publish all such pages: there will be no more proxy records. */
void ring_proxy_flush(void);

/* In a fork's child: the pages are the parent's. */
void ring_proxy_fork(void);

#endif
