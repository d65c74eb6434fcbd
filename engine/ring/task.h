/* SPDX-License-Identifier: MIT */
/* Rows in the table of threads (AREA_TASKS). */
#ifndef VESTIGE_RING_TASK_H
#define VESTIGE_RING_TASK_H

#include "abi/option.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/ring/ring.h"

#define TASK_ROWS_AT_ONCE (4096u / (uint32_t)sizeof(struct area_task))

/* Back the first @nr rows, and the rest of the page. Any context. Return: 0 or -errno. */
static inline int ring_task_back(struct ring *r, uint32_t nr)
{
	uint32_t to = (nr + TASK_ROWS_AT_ONCE - 1) / TASK_ROWS_AT_ONCE * TASK_ROWS_AT_ONCE, backed;
	int err = 0;

	if (to > r->task_table->capacity)
		to = r->task_table->capacity;
	while (!err && (backed = load_relaxed(&r->tasks_backed)) < nr) {
		if (backed >= to)
			return -ENOSPC;
		err = sys_back(&r->tasks[backed], (to - backed) * sizeof(*r->tasks));
		if (err >= 0)
			compare_and_store(&r->tasks_backed, backed, to);
	}
	return err;
}

/*
 * Claim a free row; UINT32_MAX: the table is full or there is no memory. Any context. The memory is
 * backed before the claim: a row that is counted stays its claimer's.
 */
static inline uint32_t ring_task_row(struct ring *r)
{
	uint32_t i;

	do {
		i = load_relaxed(&r->task_table->count);
		if (ring_task_back(r, i + 1) < 0)
			return UINT32_MAX;
	} while (!compare_and_store(&r->task_table->count, i, i + 1));
	return i;
}

/* Whether the names of threads are recorded; the option is the top instance's alone. */
static inline int ring_records_comm(void)
{
	return area_option_on(ring_top->buffer->options, AREA_OPTION_RECORD_CMD);
}

/*
 * A thread of another process has written a record: make its name known to readers. Under the tree
 * lock.
 */
void ring_task_elsewhere(struct ring *r, int tid, int tgid, const char *comm);

#endif
