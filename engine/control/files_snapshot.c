/* SPDX-License-Identifier: MIT */
/*
 * The file `snapshot`: 0 frees it, 1 takes one (and has the memory for it first, as much as the buffer
 * has), any other number empties it. What it reads as, the outside prints. errno as the kernel's (6.12).
 * Under the tree's lock; nothing for fork: the child has none. Tests: tests/engine/fire/snapshot.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/control/tree.h"
#include "engine/core/trace_array.h"

#define TRIES 100

int snapshot_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	struct ring *r = at->tr->ring;
	uint64_t v;
	int err = tree_number(text, n, &v), tries;

	(void)truncate;
	if (!err && !v && at->cpu != UINT32_MAX)
		err = -EINVAL;
	if (!err && v == 1)
		err = trace_array_alloc_snapshot(at->tr);
	if (err)
		return err;
	for (tries = 0; tries < TRIES; tries++) {
		err = v == 1 ? ring_snapshot(r, at->cpu)
		      : v    ? ring_snapshot_clear(r, at->cpu)
			     : ring_snapshot_free(r);
		/* a hook takes one at this moment */
		if (err != -EBUSY)
			break;
		arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return err;
}
