/* SPDX-License-Identifier: MIT */
/*
 * The file `snapshot`: 0 frees the snapshot, 1 takes one (the first one also allocates as much
 * memory as the buffer has), any other number empties it. The tools print it. errno as the kernel's
 * (6.12). Under the tree lock; nothing for fork: the child has none. Tests:
 * tests/engine/fire/snapshot.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/control/tree.h"
#include "engine/core/trace_array.h"
#include "engine/core/tracer.h"

#define TRIES 100

static int snapshot_set(const struct tree_at *at, uint64_t v)
{
	struct ring *r = at->tr->ring;
	int err = 0, tries;

	if (at->tr->current && at->tr->current->use_max_tr)
		return -EBUSY;
	if (!v && at->cpu != UINT32_MAX)
		err = -EINVAL;
	if (v == 1)
		err = trace_array_alloc_snapshot(at->tr);
	if (err)
		return err;
	for (tries = 0; tries < TRIES; tries++) {
		err = v == 1 ? tracer_snapshot(at->tr, at->cpu)
		      : v    ? ring_snapshot_clear(r, at->cpu)
			     : ring_snapshot_free(r);
		/* -EBUSY: a hook takes a snapshot at this moment */
		if (err != -EBUSY)
			break;
		arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return err;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"snapshot", 0640, .kind = TREE_RENDERED, .set = snapshot_set,
	 .help = "1: what is recorded is put aside here and the buffer is empty; 2: empties it, 0: frees it"},
	{"snapshot", 0640, .scope = TREE_CPU, .kind = TREE_RENDERED, .set = snapshot_set,
	 .help = "the snapshot of this CPU"},
	{"snapshot_raw", 0444, .scope = TREE_CPU, .kind = TREE_RENDERED,
	 .help = "the same as the kernel's binary pages"},
};
/* clang-format on */
TREE_FILES(rows);
