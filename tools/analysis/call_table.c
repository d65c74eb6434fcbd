/* SPDX-License-Identifier: MIT */
/* See call_table.h. Tests: tests/unit/test_call_tree.c. */
#include "tools/analysis/call_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

const char *const call_sort_names[SORT_NR + 1] = {
	[SORT_SELF] = "self", [SORT_TOTAL] = "total", [SORT_CALLS] = "calls",
	[SORT_AVG] = "avg",   [SORT_MIN] = "min",     [SORT_MAX] = "max",
	[SORT_P50] = "p50",   [SORT_P90] = "p90",     [SORT_P99] = "p99",
	[SORT_NAME] = "name", [SORT_TID] = "tid",     [SORT_SUSPENDED] = "suspended",
};

/* The key of a node's row. */
struct key {
	int32_t tid;
	uint32_t number; /* of the function or object */
	uint32_t node;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

struct making {
	const struct call_tree *t;
	enum call_table_by by;
	uint32_t *objects; /* by function; modules are interned, so that pointers differ */
	const char **modules;
	uint32_t nr_modules;
};

static int number_objects(struct making *m)
{
	uint32_t nr = call_filter_nr(m->t->filter);

	m->objects = calloc(nr + 1u, sizeof(*m->objects));
	m->modules = calloc(nr + 1u, sizeof(*m->modules));
	if (!m->objects || !m->modules)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		const struct call_function *fn = call_filter_function(m->t->filter, i);
		const char *module = fn->name ? fn->module : "unknown";
		uint32_t k = 0;

		while (k < m->nr_modules && m->modules[k] != module)
			k++;
		if (k == m->nr_modules)
			m->modules[m->nr_modules++] = module;
		m->objects[i] = k;
	}
	return 0;
}

static int32_t thread_of(const struct call_tree *t, uint32_t n)
{
	while (n && !t->nodes[n].thread)
		n = t->nodes[n].parent;
	return n ? (int32_t)t->nodes[n].function : 0;
}

static uint32_t number_of(const struct making *m, uint32_t n)
{
	uint32_t function = m->t->nodes[n].function;

	if (m->by == TABLE_BY_OBJECT)
		return m->objects[function];
	return m->by == TABLE_BY_FUNCTION ? function : 0;
}

/* Is the time of node @n part of the time of a node above it that has the same row? */
static bool counted_above(const struct making *m, uint32_t n)
{
	const struct call_node *nodes = m->t->nodes;
	uint32_t up = nodes[n].parent;

	if (m->by == TABLE_BY_FUNCTION)
		return nodes[n].same != 0;
	if (m->by == TABLE_BY_THREAD)
		return up && !nodes[up].thread;
	for (; up && !nodes[up].thread; up = nodes[up].parent)
		if (m->objects[nodes[up].function] == m->objects[nodes[n].function])
			return true;
	return false;
}

static void new_row(const struct making *m, struct call_row *row, const struct key *key)
{
	*row = (struct call_row){.tid = key->tid, .min = UINT64_MAX};
	if (m->by == TABLE_BY_FUNCTION) {
		const struct call_function *fn = call_filter_function(m->t->filter, key->number);

		row->name = fn->name;
		row->module = fn->module;
		row->ip = fn->ip;
		if (m->t->spreads && !m->t->by_thread && key->number < m->t->nr_spreads) {
			const struct percentiles *s = &m->t->spreads[key->number];

			row->p50 = percentiles_at(s, 50);
			row->p90 = percentiles_at(s, 90);
			row->p99 = percentiles_at(s, 99);
		}
	} else if (m->by == TABLE_BY_OBJECT) {
		row->name = m->modules[key->number];
	}
}

/*
 * A percentile is the middle of a bucket, which may be less than the minimum or more than the
 * maximum.
 */
static uint64_t between(uint64_t v, const struct call_row *row)
{
	return v < row->min ? row->min : v > row->max ? row->max : v;
}

static int make(struct making *m, struct call_table *out)
{
	const struct call_tree *t = m->t;
	struct key *keys = malloc(t->nr * sizeof(*keys));
	size_t nr = 0;

	out->rows = malloc(t->nr * sizeof(*out->rows));
	if (!keys || !out->rows || (m->by == TABLE_BY_OBJECT && number_objects(m))) {
		free(keys);
		return fail(ENOMEM, "out of memory for a table of %u calls", t->nr);
	}
	for (uint32_t i = 1; i < t->nr; i++) {
		if (t->nodes[i].thread || !t->nodes[i].calls)
			continue;
		keys[nr++] = (struct key){.tid = t->by_thread ? thread_of(t, i) : 0,
					  .number = number_of(m, i),
					  .node = i};
	}
	qsort(keys, nr, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < nr; i++) {
		const struct call_node *n = &t->nodes[keys[i].node];
		struct call_row *row;

		if (!i || keys[i].tid != keys[i - 1].tid || keys[i].number != keys[i - 1].number)
			new_row(m, &out->rows[out->nr++], &keys[i]);
		row = &out->rows[out->nr - 1];
		row->calls += n->calls;
		row->self += n->self;
		row->suspended += call_tree_suspended(t, keys[i].node);
		row->sum += n->total;
		row->min = n->min < row->min ? n->min : row->min;
		row->max = n->max > row->max ? n->max : row->max;
		if (!counted_above(m, keys[i].node))
			row->total += n->total;
		out->calls += n->calls;
		out->self += n->self;
		out->suspended += call_tree_suspended(t, keys[i].node);
	}
	for (size_t i = 0; i < out->nr; i++) {
		struct call_row *row = &out->rows[i];

		row->p50 = row->p50 ? between(row->p50, row) : 0;
		row->p90 = row->p90 ? between(row->p90, row) : 0;
		row->p99 = row->p99 ? between(row->p99, row) : 0;
	}
	free(keys);
	return 0;
}

int call_table_make(const struct call_tree *t, enum call_table_by by, struct call_table *out)
{
	struct making m = {.t = t, .by = by};
	int ret;

	memset(out, 0, sizeof(*out));
	ret = make(&m, out);
	if (ret)
		call_table_free(out);
	free(m.objects);
	free(m.modules);
	return ret;
}

void call_table_free(struct call_table *table)
{
	free(table->rows);
	memset(table, 0, sizeof(*table));
}

static const enum call_sort *sort_keys;
static unsigned int nr_sort_keys;

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_name(const struct call_row *x, const struct call_row *y)
{
	int order = compare_texts(x->name, y->name);

	if (!order)
		order = compare_texts(x->module, y->module);
	if (!order)
		order = compare_texts(x->comm, y->comm);
	if (!order && x->tid != y->tid)
		order = x->tid < y->tid ? -1 : 1;
	if (!order && !x->name && !y->name && x->ip != y->ip)
		order = x->ip < y->ip ? -1 : 1;
	return order;
}

static uint64_t value_of(const struct call_row *row, enum call_sort key)
{
	switch (key) {
	case SORT_SELF:
		return row->self;
	case SORT_TOTAL:
		return row->total;
	case SORT_SUSPENDED:
		return row->suspended;
	case SORT_CALLS:
		return row->calls;
	case SORT_AVG:
		return row->calls ? row->sum / row->calls : 0;
	case SORT_MIN:
		return row->min;
	case SORT_MAX:
		return row->max;
	case SORT_P50:
		return row->p50;
	case SORT_P90:
		return row->p90;
	case SORT_P99:
		return row->p99;
	default:
		return 0;
	}
}

static int by_keys(const void *a, const void *b)
{
	const struct call_row *x = a, *y = b;
	int order;

	for (unsigned int i = 0; i < nr_sort_keys; i++) {
		enum call_sort key = sort_keys[i];
		uint64_t vx = value_of(x, key), vy = value_of(y, key);

		if (key == SORT_NAME)
			order = by_name(x, y);
		else if (key == SORT_TID)
			order = x->tid < y->tid ? -1 : x->tid > y->tid;
		else
			order = vx > vy ? -1 : vx < vy;
		if (order)
			return order;
	}
	order = by_name(x, y);
	return order ? order : x->ip < y->ip ? -1 : x->ip > y->ip;
}

void call_table_sort(struct call_table *table, const enum call_sort *keys, unsigned int nr)
{
	sort_keys = keys;
	nr_sort_keys = nr;
	if (table->nr)
		qsort(table->rows, table->nr, sizeof(*table->rows), by_keys);
}

void call_table_join(struct call_table *table)
{
	static const enum call_sort name = SORT_NAME;
	size_t nr = 0;

	call_table_sort(table, &name, 1);
	for (size_t i = 0; i < table->nr; i++) {
		const struct call_row *row = &table->rows[i];
		struct call_row *to = nr ? &table->rows[nr - 1] : NULL;

		if (!to || by_name(to, row)) {
			table->rows[nr++] = *row;
			continue;
		}
		to->calls += row->calls;
		to->total += row->total;
		to->self += row->self;
		to->suspended += row->suspended;
		to->sum += row->sum;
		to->min = row->min < to->min ? row->min : to->min;
		to->max = row->max > to->max ? row->max : to->max;
		to->p50 = to->p90 = to->p99 = 0;
	}
	table->nr = nr;
}

void call_table_name_threads(struct call_table *table, const struct tasks *tasks)
{
	for (size_t i = 0; i < table->nr; i++) {
		struct call_row *row = &table->rows[i];

		if (row->tid)
			row->comm = tasks_comm(tasks, row->tid);
		row->tid = 0;
	}
}

const struct call_row *call_table_find(const struct call_table *table, const struct call_row *row)
{
	size_t at = LOWER_BOUND(i, 0, table->nr, by_name(&table->rows[i], row) < 0);

	return at < table->nr && !by_name(&table->rows[at], row) ? &table->rows[at] : NULL;
}
