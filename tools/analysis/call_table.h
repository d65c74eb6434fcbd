/* SPDX-License-Identifier: MIT */
/* A table of a call tree's counts: one row for each function, thread or object. */
#ifndef VESTIGE_TOOLS_CALL_TABLE_H
#define VESTIGE_TOOLS_CALL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "tools/analysis/call_tree.h"
#include "tools/reader/tasks.h"

enum call_table_by { TABLE_BY_FUNCTION, TABLE_BY_THREAD, TABLE_BY_OBJECT };

struct call_row {
	const char *name; /* of the function or object; NULL: no symbol, or a thread, or program */
	const char *module; /* TABLE_BY_FUNCTION: NULL the main program */
	uint64_t ip;	    /* TABLE_BY_FUNCTION */
	int32_t tid;	    /* TABLE_BY_THREAD, and with @by_thread; else 0 */
	const char *comm;   /* of all threads of this name, in place of tid; else NULL */
	uint64_t calls;
	/*
	 * Time of the calls with the calls beneath them. Recursive calls count once. For a thread:
	 * time of its outermost calls.
	 */
	uint64_t total;
	uint64_t self;	    /* without the calls beneath, while the stack ran */
	uint64_t suspended; /* the same while it did not: call_tree_suspended() */
	uint64_t sum;	    /* of the times of all calls: avg = sum / calls */
	uint64_t min, max;
	uint64_t p50, p90, p99; /* of a call's time; TABLE_BY_FUNCTION without threads alone */
};

struct call_table {
	struct call_row *rows;
	size_t nr;
	uint64_t calls, self, suspended; /* of all rows */
};

/* Keys of call_table_sort(). The greatest first, except for the name. */
enum call_sort {
	SORT_SELF,
	SORT_TOTAL,
	SORT_SUSPENDED,
	SORT_CALLS,
	SORT_AVG,
	SORT_MIN,
	SORT_MAX,
	SORT_P50,
	SORT_P90,
	SORT_P99,
	SORT_NAME,
	SORT_TID,
	SORT_NR
};

extern const char *const call_sort_names[SORT_NR + 1]; /* the last NULL */

/*
 * call_table_make() - count @t's nodes by row.
 * A tree with threads gives a row for each function of each thread.
 * Return: 0 or -ENOMEM with fail() set; freed with call_table_free(). Names are borrowed.
 */
int call_table_make(const struct call_tree *t, enum call_table_by by, struct call_table *out);
void call_table_free(struct call_table *table);

/* Sort by @nr keys, the first one first; rows with equal keys are sorted by name. */
void call_table_sort(struct call_table *table, const enum call_sort *keys, unsigned int nr);

/*
 * call_table_join() - make one row of the rows of one name: overloads whose names are short, static
 * functions. It has no percentiles. The table is then sorted by SORT_NAME.
 */
void call_table_join(struct call_table *table);

/*
 * call_table_name_threads() - in place of its thread each row gets the thread's name; for
 * call_table_join(), which makes one row of the threads of one name.
 */
void call_table_name_threads(struct call_table *table, const struct tasks *tasks);

/* The row of the same name, module and thread, NULL none. @table sorted by SORT_NAME alone. */
const struct call_row *call_table_find(const struct call_table *table, const struct call_row *row);

#endif
