/* SPDX-License-Identifier: MIT */
/*
 * The gate of a ring, see ring.h. A thread that has opened the gate has its number in its outermost
 * control block. A new gate has a new number, so it is closed for all threads. Only the slow path
 * (ring.c) reads the number; a cpu_key of 0 sends the thread there. fork: the child's blocks are
 * new, so the gate is closed for its thread. Tests: tests/unit/test_ring.c.
 */
#include "arch_barrier.h"
#include "engine/ring/ring_write.h"

void ring_set_gate(struct ring *r, int on)
{
	if (on && !++r->last_gate)
		r->last_gate = 1;
	store_relaxed(&r->gate, on ? r->last_gate : 0);
	ring_invalidate();
}

/* The calling thread's outermost block, made if there is none yet; NULL: no block is free. */
static struct ring_ctl *own_block(struct ring *r)
{
	if (!ring_block(r)->tid)
		ring_ready(r, 8);
	return ring_block(r)->tid > 0 ? ring_outermost(ring_block(r)) : NULL;
}

/* A key of 0 sends the next call to the slow path, which finds the gate open. */
void ring_gate_open(struct ring *r)
{
	struct ring_ctl *ctl = own_block(r);

	if (ctl)
		store_relaxed(&ctl->gate_open, load_relaxed(&r->gate));
}

/* A signal handler between the stores finds the gate closed, so it does not set the key again. */
void ring_gate_close(struct ring *r)
{
	struct ring_ctl *ctl = own_block(r);

	if (!ctl || !ctl->gate_open)
		return;
	store_relaxed(&ctl->gate_open, 0);
	barrier();
	for (; ctl; ctl = ctl->nested)
		store_relaxed(&ctl->cpu_key, 0);
}
