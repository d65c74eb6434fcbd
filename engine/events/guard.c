/* SPDX-License-Identifier: MIT */
/*
 * A thread that goes through the probes of a tracepoint with probes of the program's own is counted
 * while it does, in one of two counts by the phase in which it began. guard_synchronize() turns the
 * phase and waits until the old count is zero, twice: whoever could have seen what was there before
 * has left then. A probe must not wait for it. Costs: two atomic additions a call of such a
 * tracepoint; others do not come here. fork: the child counts anew. Tests: tests/engine/events/.
 */
#include "engine/events/guard.h"

#include <errno.h>

#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/lock.h"
#include "engine/events/tracepoint.h"

#define NR_SHARDS 64u

static struct shard {
	uint64_t inside[2];
} __attribute__((aligned(64))) shards[NR_SHARDS];
static uint32_t phase;
static struct lock sync_lock;
static void (*lock_tree)(void);
static void (*release_tree)(void);

static void (*object_is_ready)(const void *address);

void guard_use_lock(void (*take)(void), void (*release)(void), void (*ready)(const void *address))
{
	lock_tree = take;
	release_tree = release;
	object_is_ready = ready;
}

/* Those that are there from the start come before their constructors do: nothing is new. */
static void object_ready(const void *address)
{
	if (object_is_ready)
		object_is_ready(address);
}

VESTIGE_EXPORT const struct vestige_events_api vestige_events_1 = {
	.bytes = sizeof(struct vestige_events_api),
	.object_ready = object_ready,
};

static void *enter(void)
{
	uint64_t *count = &shards[arch_cpu() % NR_SHARDS]
				   .inside[__atomic_load_n(&phase, __ATOMIC_RELAXED) & 1];

	__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
	return count;
}

static void leave(void *entered)
{
	__atomic_fetch_sub((uint64_t *)entered, 1, __ATOMIC_SEQ_CST);
}

static void wait_for(uint32_t p)
{
	uint64_t sum;
	uint32_t i;

	for (;;) {
		for (sum = 0, i = 0; i < NR_SHARDS; i++)
			sum += __atomic_load_n(&shards[i].inside[p], __ATOMIC_SEQ_CST);
		if (!sum)
			return;
		arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
}

static void synchronize(void)
{
	int round;

	lock_take(&sync_lock);
	for (round = 0; round < 2; round++)
		wait_for(__atomic_fetch_add(&phase, 1, __ATOMIC_SEQ_CST) & 1);
	lock_release(&sync_lock);
}

static int probe_register(struct tracepoint *tp, void *func, void *data, int prio)
{
	int err;

	lock_tree();
	err = tracepoint_probe_add(tp, func, data, prio, PROBE_PROGRAM, NULL);
	release_tree();
	return err;
}

static int probe_unregister(struct tracepoint *tp, void *func, void *data)
{
	int err;

	lock_tree();
	err = tracepoint_probe_remove(tp, func, data);
	release_tree();
	return err;
}

void guard_fork(void)
{
	memset(shards, 0, sizeof(shards));
	lock_release(&sync_lock);
}

const struct vestige_tracepoint_api tracepoint_api = {
	.bytes = sizeof(struct vestige_tracepoint_api),
	.probe_register = probe_register,
	.probe_unregister = probe_unregister,
	.synchronize = synchronize,
	.enter = enter,
	.leave = leave,
};
