/* SPDX-License-Identifier: MIT */
/*
 * Sorts more records than fit in memory: full buffers are sorted and written as runs to a file
 * without a name. The runs are merged when they are read. If all records fit, no file is made.
 * Records have one size and no pointers. Memory: @memory bytes while records come, 64 KiB a run
 * afterwards.
 * Tests: tests/unit/test_sorter.c, tests/cli/test_export_firefox.py.
 */
#ifndef VESTIGE_TOOLS_SORTER_H
#define VESTIGE_TOOLS_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/base/spill.h"

struct sorter_run;

struct sorter {
	size_t bytes; /* of a record */
	int (*compare)(const void *a, const void *b);
	char *buf;
	size_t nr_buf, room_buf, max_buf; /* records */
	uint64_t nr;
	struct spill file; /* the runs */
	struct sorter_run *runs;
	size_t nr_runs, room_runs;
	uint32_t *heap; /* runs that have a record, the least one first */
	size_t nr_heap;
	bool taken; /* sorter_next() gave the first one of the heap */
	int err;    /* of sorter_next(), with fail() set */
};

/*
 * sorter_init() - an empty sorter; freed with sorter_clear().
 * @bytes: of a record. @compare: as for qsort(); the order of equal records is not kept.
 * @memory: bytes, at least a record. @beside: as spill_init() has it.
 */
void sorter_init(struct sorter *s, size_t bytes, int (*compare)(const void *, const void *),
		 size_t memory, const char *beside);
void sorter_clear(struct sorter *s);

/* Copy a record, before sorter_end(). Return: 0 or -errno with fail() set. */
int sorter_add(struct sorter *s, const void *rec);

/* No more records come: sorter_next() may be called. Return: 0 or -errno with fail() set. */
int sorter_end(struct sorter *s);

/*
 * sorter_next() - the next record. sorter_peek() - the same record without a step forward.
 * Return: it, borrowed until the next call of a function of this file; NULL: the end, or s->err is
 * set.
 */
const void *sorter_next(struct sorter *s);
const void *sorter_peek(struct sorter *s);

/* Remember the read position. Go back to it, any number of times: 0 or -errno with fail() set. */
void sorter_mark(struct sorter *s);
int sorter_back(struct sorter *s);

#endif
