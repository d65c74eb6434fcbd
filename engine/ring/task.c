/* SPDX-License-Identifier: MIT */
/*
 * Rows of AREA_TASKS for threads of other processes for which the tools wrote records. Only the
 * last MAX_ELSEWHERE are kept, so that they do not use up the rows of the process's own threads.
 * Under the tree lock. fork: the child has another table. Tests: tests/tracefs/test_files.py.
 */
#include "engine/ring/task.h"

#include "engine/base/compiler.h"
#include "engine/base/mem.h"

#define MAX_ELSEWHERE 64u

static struct {
	const struct area_task *tasks; /* the ring's table for which the rows below are */
	uint32_t nr;		       /* rows that were added */
	uint32_t row[MAX_ELSEWHERE];
} elsewhere[RING_MAX] BIG_ZEROS;

/* Whether the thread is in the table; a thread of another process also with that name. */
static int is_known(const struct ring *r, int tid, int tgid, const char *comm)
{
	uint32_t nr = load_acquire(&r->task_table->count), i;

	for (i = 0; i < nr && i < r->task_table->capacity; i++) {
		const struct area_task *t = &r->tasks[i];

		if (load_acquire(&t->tid) == tid &&
		    (tgid == r->area->pid || str_equal(t->comm, comm)))
			return 1;
	}
	return 0;
}

void ring_task_elsewhere(struct ring *r, int tid, int tgid, const char *comm)
{
	uint32_t at = elsewhere[r->index].nr % MAX_ELSEWHERE, row;
	struct area_task *t;

	if (!ring_records_comm() || is_known(r, tid, tgid, comm))
		return;
	if (elsewhere[r->index].tasks != r->tasks) {
		elsewhere[r->index].tasks = r->tasks;
		elsewhere[r->index].nr = at = 0;
	}
	row = elsewhere[r->index].nr < MAX_ELSEWHERE ? ring_task_row(r)
						     : elsewhere[r->index].row[at];
	if (row == UINT32_MAX)
		return;
	elsewhere[r->index].row[at] = row;
	elsewhere[r->index].nr++;
	t = &r->tasks[row];
	store_release(&t->tid, 0);
	t->tgid = tgid;
	t->start_stamp = ring_clock();
	str_copy(t->comm, sizeof(t->comm), comm);
	store_release(&t->tid, tid);
}
