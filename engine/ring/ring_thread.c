/* SPDX-License-Identifier: MIT */
/*
 * A thread and its control blocks, outside of the slow path (ring.c): its first block, its name, a
 * jump out of the slow path, a sandbox in which it may not read the clock, its end. Any context, in
 * the thread itself. fork: see ring.h. Tests: tests/unit/test_ring.c, tests/engine/fire.
 */
#include "engine/ring/ring_ctl.h"

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/ring/proxy.h"
#include "engine/ring/srcu.h"
#include "engine/ring/task.h"

#define MAX_STACK_BYTES (UINT64_C(1) << 30)

/*
 * The thread's block in a ring; NULL: it has none. For an instance between ring_enter() and
 * ring_leave().
 */
static struct ring_ctl *own_block(uint32_t i)
{
	struct ring_ctl *ctl = ring_ctl[i];

	if (ctl->tid <= 0 || (i && ring_gen[i] != load_relaxed(&rings[i].gen)))
		return NULL;
	return ctl;
}

/*
 * It is not known how far the slow path had got: either its page is complete, or no writer will use
 * it again. Readers can read it in both cases. No stack is so large that a frame far below @sp
 * could be on the same one.
 */
void ring_jump(uint64_t sp)
{
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		struct ring_ctl *ctl, *left = NULL;

		if (i && !own_block(i))
			continue;
		ctl = ring_ctl[i];
		if (ctl->tid > 0 && rings[i].swapping == (uint32_t)ctl->tid &&
		    sp - rings[i].swapping_at < MAX_STACK_BYTES)
			rings[i].swapping = 0;
		for (ctl = ctl->below; ctl; ctl = ctl->below)
			if (ctl->busy && sp - ctl->busy_at < MAX_STACK_BYTES)
				left = ctl;
		if (!left)
			continue;
		left->cpu_key = left->event_key = 0;
		ring_ctl_leave_nested(left);
	}
}

enum ring_interrupted ring_interrupted(void)
{
	enum ring_interrupted what = srcu_nest(SRCU_RING) ? RING_WRITER : RING_NOTHING;
	const struct ring_ctl *ctl;
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		for (ctl = own_block(i); ctl; ctl = ctl->below) {
			if (ctl->busy)
				return RING_SLOW_PATH;
			if (ctl->nest)
				what = RING_WRITER;
		}
	}
	return what;
}

void ring_thread_start(const char *comm)
{
	if (!ring_ctl[0]->tid)
		ring_ctl_attach(ring_top, comm);
}

const char *ring_thread_comm(void)
{
	const struct ring_ctl *ctl = ring_ctl[0];

	if (unlikely(ring_as != NULL))
		return ring_as->comm;
	return ctl->tid > 0 && ctl->task != UINT32_MAX ? ring_top->tasks[ctl->task].comm : "";
}

int ring_thread_id(void)
{
	if (unlikely(ring_as != NULL))
		return ring_as->tid;
	return ring_ctl[0]->tid > 0 ? ring_ctl[0]->tid : sys_own_tid();
}

void ring_thread_rename(const char *name)
{
	int may_ask = !sys_is_forbidden();
	struct srcu_thread *inside = ring_records_comm() && (may_ask || name) ? ring_enter() : NULL;
	uint32_t i;

	for (i = 0; inside && i < RING_MAX; i++) {
		const struct ring_ctl *ctl = own_block(i);
		char *comm;

		if (!ctl || ctl->task == UINT32_MAX)
			continue;
		comm = rings[i].tasks[ctl->task].comm;
		if (may_ask)
			sys_get_comm(comm);
		else
			str_copy(comm, sizeof(rings[i].tasks->comm), name);
	}
	if (inside)
		ring_leave(inside);
}

/* Free a block and those for handlers that interrupted it. */
static void release(struct ring_ctl *ctl)
{
	while (ctl) {
		struct ring_ctl *nested = ctl->nested;

		ctl->nest = 0; /* a writer that has not finished never will */
		ring_ctl_retire(ctl);
		ring_ctl_free(ctl);
		ctl = nested;
	}
}

/*
 * The thread leaves its blocks, and continues with @next, which is no real block. Its block in
 * ring_top is left last.
 */
static void leave_blocks(struct ring_ctl *next)
{
	struct srcu_thread *inside = ring_ctl[0]->tid > 0 ? ring_enter() : NULL;
	struct ring_ctl *ctl;
	uint32_t i;

	for (i = RING_MAX; i-- > 0;) {
		ctl = own_block(i);
		/* a handler that makes a record from here on gets a new block, which stays */
		ring_ctl[i] = next;
		barrier();
		if (!i && inside)
			ring_leave(inside);
		if (ctl && next->tid >= 0 && ctl->task != UINT32_MAX)
			rings[i].tasks[ctl->task].end_stamp = ring_clock();
		if (ctl)
			release(ctl);
	}
}

void ring_thread_forbid(void)
{
	leave_blocks(&ring_forbidden_ctl);
	srcu_thread_share(1);
}

void ring_thread_allow(void)
{
	uint32_t i;

	for (i = 0; i < RING_MAX; i++)
		if (ring_ctl[i] == &ring_forbidden_ctl)
			ring_ctl[i] = &ring_null_ctl;
	srcu_thread_share(0);
}

void ring_thread_end(void)
{
	if (ring_ctl[0]->tid < 0)
		return;
	ring_thread_rename(NULL);
	leave_blocks(&ring_null_ctl);
}
