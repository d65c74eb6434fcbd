/* SPDX-License-Identifier: MIT */
/* Rows in the table of threads (AREA_TASKS). */
#ifndef VESTIGE_RING_TASK_H
#define VESTIGE_RING_TASK_H

#include "abi/option.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/ring/ring.h"

/* A row that nobody has; UINT32_MAX when the table is full. Any context. */
static inline uint32_t ring_task_row(const struct ring *r)
{
	uint32_t i = fetch_add(&r->task_table->count, 1);

	if (i < r->task_table->capacity && sys_back(&r->tasks[i], sizeof(r->tasks[i])) >= 0)
		return i;
	__atomic_fetch_sub(&r->task_table->count, 1, __ATOMIC_RELAXED);
	return UINT32_MAX;
}

/* Whether threads have names; the option is the top instance's alone. */
static inline int ring_records_comm(void)
{
	return area_option_on(ring_top->buffer->options, AREA_OPTION_RECORD_CMD);
}

/* A thread elsewhere has written something: readers know its name. Under the tree's lock. */
void ring_task_elsewhere(const struct ring *r, int tid, int tgid, const char *comm);

#endif
