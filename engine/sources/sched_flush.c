/* SPDX-License-Identifier: MIT */
/*
 * See sched_flush.h. Before a process leaves its memory without exit(), the records that have come
 * from the kernel until then are written. A vfork's child has its parent's memory, and the parent's
 * agent goes on. Not seen: execl() and its kind, calls within libc, and a killed process; these
 * lose the last milliseconds. fork: the child goes on. Tests: tests/engine/events/switches.
 */
#include "engine/sources/sched_flush.h"

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/core/tree_lock.h"
#include "engine/process/area.h"
#include "engine/sources/sched_perf.h"
#include "engine/sources/process.h"

/* If the thread itself holds the lock, a handler has interrupted it: nothing is written. */
static void leave(void)
{
	if (!area || sys_is_forbidden() || !area_is_own() || !tree_lock_try(TREE_LAST_NS))
		return;
	sched_perf_drain();
	tree_lock_release();
}

void sched_flush_see(int on)
{
	static struct process_end_listener listener = {.call = leave};
	static int seen;

	/* readers have the agent write late records while there are any */
	if (area)
		store_relaxed(&area->late_records, (uint32_t) !!on);
	/*
	 * a static program's calls are not seen: it loses the last records, as a killed process
	 * does
	 */
	if (on != seen && !source_switch(&process_leaves, &listener.link, on))
		seen = on;
}
