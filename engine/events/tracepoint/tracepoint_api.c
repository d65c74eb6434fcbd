/* SPDX-License-Identifier: MIT */
/*
 * See tracepoint_api.h. If a tracepoint has probe functions of the program, a thread calls its
 * probe functions in a section of SRCU_PROBES (ring/srcu.h), so that
 * tracepoint_synchronize_unregister() can wait for it. Calls of other tracepoints do not come here.
 * fork: the child is in the section that its parent's thread was in. Costs: bench "events". Tests:
 * tests/engine/events/static.
 */
#include "engine/events/tracepoint/tracepoint_api.h"

#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/core/tree_lock.h"
#include "engine/events/tracepoint/tracepoint.h"
#include "engine/ring/srcu.h"
#include "engine/sources/branch.h"

static void (*object_is_ready)(const void *address);

void tracepoint_api_on_ready(void (*ready)(const void *address))
{
	object_is_ready = ready;
}

/*
 * An object's constructor reports that the object is relocated. Objects that were loaded at the
 * start have been read already.
 */
static void object_ready(const void *address)
{
	if (object_is_ready)
		object_is_ready(address);
}

VESTIGE_EXPORT const struct vestige_events_api vestige_events_1 = {
	.bytes = sizeof(struct vestige_events_api),
	.object_ready = object_ready,
	.branch = branch_ran,
};

static void *enter(void)
{
	return srcu_read_lock(SRCU_PROBES);
}

static void leave(void *entered)
{
	srcu_read_unlock(SRCU_PROBES, entered);
}

/*
 * When this returns, the caller may free what a probe function uses. So it waits until all probe
 * functions have returned, except the one that calls it, which would wait for its own end.
 */
static void synchronize(void)
{
	while (synchronize_srcu(SRCU_PROBES) == -ETIMEDOUT)
		;
}

static int probe_register(struct tracepoint *tp, void *func, void *data, int prio)
{
	int err = tree_lock_take();

	if (err)
		return err;
	err = tracepoint_probe_add(tp, func, data, prio, PROBE_PROGRAM, NULL);
	tree_lock_release();
	return err;
}

static int probe_unregister(struct tracepoint *tp, void *func, void *data)
{
	int err = tree_lock_take();

	if (err)
		return err;
	err = tracepoint_probe_remove(tp, func, data);
	tree_lock_release();
	return err;
}

const struct vestige_tracepoint_api tracepoint_api = {
	.bytes = sizeof(struct vestige_tracepoint_api),
	.probe_register = probe_register,
	.probe_unregister = probe_unregister,
	.synchronize = synchronize,
	.enter = enter,
	.leave = leave,
};
