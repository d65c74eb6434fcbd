/* SPDX-License-Identifier: MIT */
/* See profile_graph.h. Tests: tests/cli/test_views.py. */
#include "tools/text/profile_graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/analysis/call_edges.h"
#include "tools/analysis/call_tree.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/reader/tasks.h"
#include "tools/text/duration.h"
#include "tools/text/json.h"
#include "tools/text/view_tree.h"

/* A recording and its counts. */
struct counted {
	struct view *v;
	struct call_tree tree;
	struct call_table table;
};

struct printing {
	const struct counted *c, *old; /* old NULL: no --diff */
	const struct profile_options *opt;
	struct out *o;
	size_t nr; /* rows to print */
};

static void put_time(struct out *o, uint64_t ns)
{
	char *to = out_room(o, DURATION_WIDTH + 1);

	*to = ' ';
	duration_put(to + 1, ns);
	out_done(o, to + 1 + DURATION_WIDTH);
}

static uint64_t avg(const struct call_row *row)
{
	return row->calls ? row->sum / row->calls : 0;
}

static const char *row_kind(const struct profile_options *opt)
{
	return opt->by == TABLE_BY_THREAD   ? "THREAD"
	       : opt->by == TABLE_BY_OBJECT ? "OBJECT"
					    : "FUNCTION";
}

static void put_row_name(const struct printing *p, const struct call_row *row)
{
	bool more = p->opt->by != TABLE_BY_THREAD;

	if (row->comm)
		out_printf(p->o, more ? "%s " : "%s", row->comm);
	else if (row->tid)
		out_printf(p->o, more ? "%s-%d " : "%s-%d", tasks_comm(p->c->v->r->tasks, row->tid),
			   row->tid);
	if (p->opt->by == TABLE_BY_FUNCTION && !row->name)
		out_printf(p->o, "0x%08" PRIx64, row->ip);
	else if (p->opt->by == TABLE_BY_OBJECT && !row->name)
		out_text(p->o, "(program)");
	else if (row->name)
		out_text(p->o, row->name);
	if (row->module)
		out_printf(p->o, " [%s]", row->module);
}

/* Tenths of a percent, rounded. */
static unsigned int per_mille(uint64_t part, uint64_t all)
{
	return all ? (unsigned int)((double)part * 1000 / (double)all + 0.5) : 0;
}

/* The callers of a function: the parents of its nodes, merged. */
struct caller {
	uint32_t function, by; /* UINT32_MAX: no caller that is shown */
	uint64_t calls, total;
};

struct callers {
	struct caller *at;
	size_t nr;
};

static int compare_callers(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	return 0;
}

static int callers_make(const struct call_tree *t, struct callers *out)
{
	size_t nr = 0, kept = 0;

	out->at = malloc(t->nr * sizeof(*out->at));
	if (!out->at)
		return fail(ENOMEM, "out of memory");
	for (uint32_t i = 1; i < t->nr; i++) {
		const struct call_node *n = &t->nodes[i], *up = &t->nodes[n->parent];

		if (n->thread || !n->calls)
			continue;
		out->at[nr++] =
			(struct caller){.function = n->function,
					.by = n->parent && !up->thread ? up->function : UINT32_MAX,
					.calls = n->calls,
					.total = call_edge_is_nested(t, n) ? 0 : n->total};
	}
	qsort(out->at, nr, sizeof(*out->at), compare_callers);
	for (size_t i = 0; i < nr; i++) {
		if (kept && !compare_callers(&out->at[kept - 1], &out->at[i])) {
			out->at[kept - 1].calls += out->at[i].calls;
			out->at[kept - 1].total += out->at[i].total;
		} else {
			out->at[kept++] = out->at[i];
		}
	}
	out->nr = kept;
	return 0;
}

static int most_calls(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	return x->calls > y->calls ? -1 : x->calls < y->calls;
}

/* The callers of the function at @ip, the most frequent first. Return: how many, at *@first. */
static size_t callers_of(const struct printing *p, struct callers *all, uint64_t ip,
			 struct caller **first)
{
	struct caller key = {.by = 0};
	size_t lo, n = 0;

	if (call_filter_number(p->c->v->filter, ip, &key.function))
		return 0;
	lo = LOWER_BOUND(i, 0, all->nr, all->at[i].function < key.function);
	while (lo + n < all->nr && all->at[lo + n].function == key.function)
		n++;
	*first = &all->at[lo];
	if (n)
		qsort(*first, n, sizeof(**first), most_calls);
	return n;
}

static const struct call_function *caller_function(const struct printing *p, const struct caller *c)
{
	return c->by == UINT32_MAX ? NULL : call_filter_function(p->c->v->filter, c->by);
}

static void print_callers(const struct printing *p, struct callers *all, uint64_t ip)
{
	struct caller *at;
	size_t n = callers_of(p, all, ip, &at);

	for (size_t i = 0; i < n; i++) {
		const struct call_function *fn = caller_function(p, &at[i]);

		out_printf(p->o, "%*s", p->c->table.suspended ? 30 : 19, "");
		put_time(p->o, at[i].total);
		out_printf(p->o, " %10" PRIu64 "%56s<-", at[i].calls, "");
		if (fn)
			view_put_name(p->c->v, p->o, fn);
		else
			out_text(p->o, "(no caller)");
		out_text(p->o, "\n");
	}
}

static void print_table(const struct printing *p, struct callers *callers)
{
	bool spread = p->opt->by == TABLE_BY_FUNCTION && !p->opt->threads;
	bool suspended = p->c->table.suspended != 0;
	struct out *o = p->o;

	out_printf(o, "#%10s %7s", "SELF", "SHARE");
	if (suspended)
		out_printf(o, " %10s", "SUSPENDED");
	out_printf(o, " %10s %10s %10s", "TOTAL", "CALLS", "AVG");
	if (spread)
		out_printf(o, " %10s %10s %10s", "P50", "P90", "P99");
	out_printf(o, " %10s  %s\n", "MAX", row_kind(p->opt));
	for (size_t i = 0; i < p->nr && !o->err; i++) {
		const struct call_row *row = &p->c->table.rows[i];
		unsigned int share = per_mille(row->self, p->c->table.self);
		const char *place = NULL;

		put_time(o, row->self);
		out_printf(o, " %3u.%u %%", share / 10, share % 10);
		if (suspended)
			put_time(o, row->suspended);
		put_time(o, row->total);
		out_printf(o, " %10" PRIu64, row->calls);
		put_time(o, avg(row));
		if (spread) {
			put_time(o, row->p50);
			put_time(o, row->p90);
			put_time(o, row->p99);
		}
		put_time(o, row->max);
		out_text(o, "  ");
		put_row_name(p, row);
		if (p->opt->by == TABLE_BY_FUNCTION)
			place = view_place(p->c->v, row->ip);
		if (place)
			out_printf(o, " [%s]", place);
		out_text(o, "\n");
		if (callers->at)
			print_callers(p, callers, row->ip);
	}
}

static void put_signed(struct out *o, uint64_t now, uint64_t before)
{
	char *to = out_room(o, DURATION_WIDTH + 2), *p;

	*to = ' ';
	to[1] = ' ';
	duration_put(to + 2, now > before ? now - before : before - now);
	for (p = to + 2; *p == ' '; p++)
		;
	p[-1] = now > before ? '+' : now < before ? '-' : ' ';
	out_done(o, to + 2 + DURATION_WIDTH);
}

static void print_diff(const struct printing *p)
{
	static const struct call_row none;
	struct out *o = p->o;

	out_printf(o, "#%10s %11s %10s %11s %10s %11s  %s\n", "SELF", "CHANGE", "TOTAL", "CHANGE",
		   "CALLS", "CHANGE", row_kind(p->opt));
	for (size_t i = 0; i < p->nr && !o->err; i++) {
		const struct call_row *row = &p->c->table.rows[i];
		const struct call_row *was = call_table_find(&p->old->table, row);

		if (!was)
			was = &none;
		put_time(o, row->self);
		put_signed(o, row->self, was->self);
		put_time(o, row->total);
		put_signed(o, row->total, was->total);
		out_printf(o, " %10" PRIu64 " %+11" PRId64 "  ", row->calls,
			   (int64_t)(row->calls - was->calls));
		put_row_name(p, row);
		out_text(o, was == &none ? " (new)\n" : row->calls ? "\n" : " (gone)\n");
	}
}

static void put_json_row(const struct printing *p, const struct call_row *row)
{
	struct out *o = p->o;

	out_text(o, "{");
	if (row->tid)
		out_printf(o, "\"tid\": %d, ", row->tid);
	if (row->tid || row->comm) {
		out_text(o, "\"comm\": ");
		json_put(o, row->comm ? row->comm : tasks_comm(p->c->v->r->tasks, row->tid));
		out_text(o, ", ");
	}
	if (p->opt->by != TABLE_BY_THREAD) {
		out_text(o, "\"name\": ");
		json_put(o, row->name);
		out_text(o, ", ");
	}
	if (p->opt->by == TABLE_BY_FUNCTION) {
		out_text(o, "\"module\": ");
		json_put(o, row->module);
		/* as text: a double does not hold 64 bits */
		out_printf(o, ", \"address\": \"0x%" PRIx64 "\", ", row->ip);
	}
	out_printf(o,
		   "\"calls\": %" PRIu64 ", \"total\": %" PRIu64 ", \"self\": %" PRIu64
		   ", \"suspended\": %" PRIu64 ", \"avg\": %" PRIu64 ", \"min\": %" PRIu64
		   ", \"max\": %" PRIu64,
		   row->calls, row->total, row->self, row->suspended, avg(row),
		   row->calls ? row->min : 0, row->max);
	if (p->opt->by == TABLE_BY_FUNCTION && !p->opt->threads)
		out_printf(o, ", \"p50\": %" PRIu64 ", \"p90\": %" PRIu64 ", \"p99\": %" PRIu64,
			   row->p50, row->p90, row->p99);
}

static void print_json(const struct printing *p, struct callers *callers)
{
	uint64_t lost = view_lost_calls(p->c->v);
	struct out *o = p->o;

	out_printf(o,
		   "{\"calls\": %" PRIu64 ", \"self\": %" PRIu64 ", \"suspended\": %" PRIu64
		   ", \"lost\": ",
		   p->c->table.calls, p->c->table.self, p->c->table.suspended);
	if (lost == RECORD_LOST_UNKNOWN)
		out_text(o, "null");
	else
		out_printf(o, "%" PRIu64, lost);
	out_printf(o, ", \"%s\": [",
		   p->opt->by == TABLE_BY_THREAD   ? "threads"
		   : p->opt->by == TABLE_BY_OBJECT ? "objects"
						   : "functions");
	for (size_t i = 0; i < p->nr && !o->err; i++) {
		const struct call_row *row = &p->c->table.rows[i], *was = NULL;
		struct caller *at;
		size_t n = 0;

		out_text(o, i ? ",\n" : "\n");
		put_json_row(p, row);
		if (p->old)
			was = call_table_find(&p->old->table, row);
		if (was)
			out_printf(o,
				   ", \"old\": {\"calls\": %" PRIu64 ", \"total\": %" PRIu64
				   ", \"self\": %" PRIu64 ", \"suspended\": %" PRIu64 "}",
				   was->calls, was->total, was->self, was->suspended);
		else if (p->old)
			out_text(o, ", \"old\": null");
		if (callers->at) {
			n = callers_of(p, callers, row->ip, &at);
			out_text(o, ", \"callers\": [");
		}
		for (size_t k = 0; k < n; k++) {
			const struct call_function *fn = caller_function(p, &at[k]);

			out_text(o, k ? ", {\"name\": " : "{\"name\": ");
			json_put(o, fn ? fn->name : NULL);
			out_printf(o, ", \"calls\": %" PRIu64 ", \"total\": %" PRIu64 "}",
				   at[k].calls, at[k].total);
		}
		out_text(o, callers->at ? "]}" : "}");
	}
	out_text(o, "\n]}\n");
}

static int count(struct counted *c, const struct profile_options *opt)
{
	bool threads = opt->threads || opt->by == TABLE_BY_THREAD;
	int ret;

	ret = call_tree_init(&c->tree, c->v->filter, threads,
			     opt->by == TABLE_BY_FUNCTION && !threads);
	if (!ret)
		ret = view_run_tree(c->v, &c->tree);
	if (!ret)
		ret = call_table_make(&c->tree, opt->by, &c->table);
	if (ret || !opt->diff)
		return ret;
	/* numbers of threads say nothing of another recording */
	call_table_name_threads(&c->table, c->v->r->tasks);
	call_table_join(&c->table);
	return 0;
}

/* Add to @c the rows that only @old has, with zeros, so that the table shows them. */
static int add_gone(struct counted *c, const struct counted *old)
{
	static const enum call_sort name = SORT_NAME;
	struct call_row *rows;
	size_t nr = c->table.nr;

	call_table_sort(&c->table, &name, 1);
	rows = realloc(c->table.rows, (nr + old->table.nr + 1) * sizeof(*rows));
	if (!rows)
		return fail(ENOMEM, "out of memory");
	c->table.rows = rows;
	for (size_t i = 0; i < old->table.nr; i++) {
		const struct call_row *row = &old->table.rows[i];

		if (call_table_find(&c->table, row))
			continue;
		rows[nr++] = (struct call_row){
			.name = row->name, .module = row->module, .ip = row->ip, .comm = row->comm};
	}
	c->table.nr = nr;
	return 0;
}

static const struct call_table *diff_old;

static uint64_t change_of(const struct call_row *row)
{
	const struct call_row *was = call_table_find(diff_old, row);
	uint64_t before = was ? was->self : 0;

	return row->self > before ? row->self - before : before - row->self;
}

/* The greatest change of its own time first. */
static int by_change(const void *a, const void *b)
{
	const struct call_row *x = a, *y = b;
	uint64_t cx = change_of(x), cy = change_of(y);

	if (cx != cy)
		return cx > cy ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	if (x->comm && y->comm && strcmp(x->comm, y->comm))
		return strcmp(x->comm, y->comm);
	return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static int count_old(struct counted *old, const struct view *v, const struct profile_options *opt)
{
	int ret;

	*old->v = (struct view){.path = opt->diff,
				.wish = v->wish,
				.demangle = v->demangle,
				.cpu_text = v->cpu_text,
				.range_from_start = v->range_from_start,
				.range_to_start = v->range_to_start};
	/* times of the clock say nothing of another recording */
	old->v->wish.from = v->range_from_start ? v->wish.from - v->first_ts : 0;
	old->v->wish.to = v->range_to_start ? v->wish.to - v->first_ts : 0;
	ret = view_open_calls(old->v);
	return ret ? ret : count(old, opt);
}

static int print(struct printing *p)
{
	struct callers callers = {0};
	int ret = 0;

	if (p->opt->callers)
		ret = callers_make(&p->c->tree, &callers);
	if (!ret && p->opt->json)
		print_json(p, &callers);
	else if (!ret && p->old)
		print_diff(p);
	else if (!ret)
		print_table(p, &callers);
	free(callers.at);
	return ret;
}

int profile_graph(struct view *v, const struct profile_options *opt)
{
	static const enum call_sort by_self = SORT_SELF;
	struct view old_view = {0};
	struct counted c = {.v = v}, old = {.v = &old_view};
	struct printing p = {.c = &c, .old = opt->diff ? &old : NULL, .opt = opt};
	struct out o;
	int ret;

	if (opt->diff && opt->callers)
		return fail(EINVAL, "--diff and --callers are for one at a time");
	ret = count(&c, opt);
	if (!ret && opt->diff)
		ret = count_old(&old, v, opt);
	if (!ret && opt->diff)
		ret = add_gone(&c, &old);
	if (!ret && opt->diff && !opt->nr_keys) {
		diff_old = &old.table;
		qsort(c.table.rows, c.table.nr, sizeof(*c.table.rows), by_change);
	} else if (!ret) {
		call_table_sort(&c.table, opt->nr_keys ? opt->keys : &by_self,
				opt->nr_keys ? opt->nr_keys : 1);
	}
	if (!ret && out_init(&o, STDOUT_FILENO))
		ret = fail(ENOMEM, "out of memory");
	if (!ret) {
		p.o = &o;
		p.nr = opt->top && opt->top < c.table.nr ? opt->top : c.table.nr;
		ret = print(&p);
		ret = out_end_stdout(&o, ret, "the profile");
	}
	if (!ret)
		view_notes(v, c.tree.nr_calls);
	if (c.tree.left_out)
		note("%" PRIu64 " calls were left out: the tree has more than %u branches",
		     c.tree.left_out, CALL_TREE_MAX);
	call_table_free(&c.table);
	call_table_free(&old.table);
	call_tree_clear(&c.tree);
	call_tree_clear(&old.tree);
	view_close(&old_view);
	return ret;
}
