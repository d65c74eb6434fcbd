/* SPDX-License-Identifier: MIT */
/* Trees and tables of calls and what filters leave of them; numbers worked out by hand. */
#include "cm.h"

#include <stdlib.h>
#include <string.h>

#include "graph_synth.h"
#include "synth.h"
#include "tools/analysis/call_table.h"
#include "tools/analysis/call_tree.h"
#include "tools/analysis/call_tree_part.h"
#include "tools/analysis/calls.h"
#include "tools/analysis/merge.h"
#include "tools/text/duration.h"

#define T0 1000

/*
 * work_0 { foo_1 { work_2 } foo_1 { foo_1 } } by one thread, work_2 by another, and an exit of
 * work_4 that was entered before.
 */
static const struct {
	uint8_t kind;
	unsigned int function;
	uint64_t ts;
	int32_t tid;
} story[] = {
	{RECORD_ENTRY, 0, 100, SYNTH_PID}, {RECORD_ENTRY, 1, 110, SYNTH_PID},
	{RECORD_ENTRY, 2, 120, SYNTH_PID}, {RECORD_EXIT, 2, 130, SYNTH_PID},
	{RECORD_EXIT, 4, 135, 4001},	   {RECORD_EXIT, 1, 140, SYNTH_PID},
	{RECORD_ENTRY, 1, 150, SYNTH_PID}, {RECORD_ENTRY, 1, 160, SYNTH_PID},
	{RECORD_ENTRY, 2, 170, 4001},	   {RECORD_EXIT, 1, 180, SYNTH_PID},
	{RECORD_EXIT, 2, 185, 4001},	   {RECORD_EXIT, 1, 190, SYNTH_PID},
	{RECORD_EXIT, 0, 200, SYNTH_PID},
};

#define NR_STORY (sizeof(story) / sizeof(story[0]))

static void make_record(struct record *rec, unsigned int cpu, uint64_t i)
{
	rec->kind = story[i].kind;
	rec->ip = synth_addr(story[i].function);
	rec->ts = T0 + story[i].ts;
	rec->pid = story[i].tid;
}

struct fixture {
	struct reader *r;
	struct call_wish wish;
	struct call_filter *filter;
	struct call_tree tree;
};

static void build_of(struct fixture *f, const struct call_wish *wish, bool threads, uint64_t nr,
		     void (*record)(struct record *rec, unsigned int cpu, uint64_t i))
{
	const struct record *rec;
	struct merge *merge;
	struct calls *calls;

	memset(f, 0, sizeof(*f));
	f->r = synth_new(1, nr, record);
	if (wish)
		f->wish = *wish;
	f->filter = call_filter_new(f->r, &f->wish);
	assert_int_equal(call_tree_init(&f->tree, f->filter, threads, !threads), 0);
	merge = merge_new(f->r);
	calls = calls_new(&call_tree_ops, &f->tree, NULL);
	while (merge_next(merge, &rec) > 0)
		assert_int_equal(calls_record(calls, rec), 0);
	calls_finish(calls);
	assert_int_equal(f->tree.err, 0);
	calls_free(calls);
	merge_free(merge);
}

static void build(struct fixture *f, const struct call_wish *wish, bool threads)
{
	build_of(f, wish, threads, NR_STORY, make_record);
}

static void drop(struct fixture *f)
{
	call_tree_clear(&f->tree);
	call_filter_free(f->filter);
	reader_close(f->r);
}

/* The node that a path of functions leads to, 0 none. */
static const struct call_node *node(const struct call_tree *t, const char *path)
{
	uint32_t at = 0, k;

	while (*path) {
		size_t n = strcspn(path, "/");

		for (k = t->nodes[at].first_child; k; k = t->nodes[k].next) {
			const char *name =
				call_filter_function(t->filter, t->nodes[k].function)->name;

			if (!t->nodes[k].thread && strlen(name) == n && !strncmp(name, path, n))
				break;
		}
		if (!k)
			return NULL;
		at = k;
		path += n + (path[n] == '/');
	}
	return &t->nodes[at];
}

static void check(const struct call_tree *t, const char *path, uint64_t calls, uint64_t total,
		  uint64_t self, uint64_t min, uint64_t max)
{
	const struct call_node *n = node(t, path);

	if (!n)
		print_error("no node %s\n", path);
	assert_non_null(n);
	assert_int_equal(n->calls, calls);
	assert_int_equal(n->total, total);
	assert_int_equal(n->self, self);
	assert_int_equal(n->min, min);
	assert_int_equal(n->max, max);
}

static void test_tree(void **state)
{
	struct fixture f;

	build(&f, NULL, false);
	check(&f.tree, "work_0", 1, 100, 30, 100, 100);
	check(&f.tree, "work_0/foo_1", 2, 70, 40, 30, 40);
	check(&f.tree, "work_0/foo_1/work_2", 1, 10, 10, 10, 10);
	check(&f.tree, "work_0/foo_1/foo_1", 1, 20, 20, 20, 20);
	check(&f.tree, "work_2", 1, 15, 15, 15, 15);
	assert_null(node(&f.tree, "work_4"));
	assert_int_equal(f.tree.nr_calls, 6);
	assert_int_equal(f.tree.nr, 6);
	drop(&f);
}

static void test_filters(void **state)
{
	struct call_wish under = {.under = {"foo_*"}, .nr_under = 1};
	struct call_wish not_under = {.not_under = {"foo_1"}, .nr_not_under = 1};
	struct call_wish depth = {.max_depth = 2}, deep = {.under = {"foo_1"}, .nr_under = 1};
	struct call_wish longer = {.min_ns = 30}, both = {.under = {"work_0"}, .nr_under = 1};
	struct call_wish range = {.from = T0 + 150, .to = T0 + 170};
	struct call_wish thread = {.tids = {4001}, .nr_tids = 1};
	struct fixture f;

	build(&f, &under, false);
	check(&f.tree, "foo_1", 2, 70, 40, 30, 40);
	check(&f.tree, "foo_1/work_2", 1, 10, 10, 10, 10);
	check(&f.tree, "foo_1/foo_1", 1, 20, 20, 20, 20);
	assert_int_equal(f.tree.nr_calls, 4);
	drop(&f);

	build(&f, &not_under, false);
	check(&f.tree, "work_0", 1, 100, 30, 100, 100);
	check(&f.tree, "work_2", 1, 15, 15, 15, 15);
	assert_int_equal(f.tree.nr_calls, 2);
	drop(&f);

	build(&f, &depth, false);
	check(&f.tree, "work_0/foo_1", 2, 70, 40, 30, 40);
	assert_int_equal(f.tree.nr_calls, 4);
	drop(&f);

	deep.max_depth = 1; /* levels count from the function */
	build(&f, &deep, false);
	check(&f.tree, "foo_1", 2, 70, 40, 30, 40);
	assert_int_equal(f.tree.nr_calls, 2);
	drop(&f);

	both.not_under[both.nr_not_under++] = "work_2";
	build(&f, &both, false);
	assert_int_equal(f.tree.nr_calls, 4);
	assert_null(node(&f.tree, "work_0/foo_1/work_2"));
	drop(&f);

	build(&f, &longer, false);
	check(&f.tree, "work_0/foo_1", 2, 70, 40, 30, 40);
	assert_int_equal(f.tree.nr_calls, 3);
	drop(&f);

	build(&f, &range, false);
	check(&f.tree, "foo_1", 1, 40, 20, 40, 40);
	check(&f.tree, "foo_1/foo_1", 1, 20, 20, 20, 20);
	assert_int_equal(f.tree.nr_calls, 2);
	drop(&f);

	build(&f, &thread, false);
	assert_int_equal(f.tree.nr_calls, 1);
	drop(&f);
}

static bool *wanted(const struct fixture *f, const char *pattern)
{
	bool *w = calloc(call_filter_nr(f->filter), sizeof(*w));

	for (uint32_t i = 0; i < call_filter_nr(f->filter); i++)
		w[i] = call_name_matches(f->r, call_filter_function(f->filter, i)->ip, pattern);
	return w;
}

/* The trees of one function: what it calls, and its callers. */
static void trees_of(const struct fixture *f, const char *pattern, struct call_tree *beneath,
		     struct call_tree *callers)
{
	bool *w = wanted(f, pattern);

	assert_int_equal(call_tree_init(beneath, f->filter, false, false), 0);
	assert_int_equal(call_tree_init(callers, f->filter, false, false), 0);
	assert_int_equal(call_tree_beneath(&f->tree, w, beneath), 0);
	assert_int_equal(call_tree_callers(&f->tree, w, callers), 0);
	free(w);
}

static void test_one_function(void **state)
{
	struct call_tree beneath, callers;
	struct fixture f;

	build(&f, NULL, true); /* threads do not matter here */
	trees_of(&f, "foo_1", &beneath, &callers);
	check(&beneath, "foo_1", 2, 70, 40, 30, 40);
	check(&beneath, "foo_1/work_2", 1, 10, 10, 10, 10);
	check(&beneath, "foo_1/foo_1", 1, 20, 20, 20, 20);
	assert_int_equal(beneath.nr, 4);
	check(&callers, "foo_1", 2, 70, 40, 30, 40);
	check(&callers, "foo_1/work_0", 2, 70, 40, 30, 40);
	assert_int_equal(callers.nr, 3);
	call_tree_clear(&beneath);
	call_tree_clear(&callers);

	/* a function with two ways to it */
	trees_of(&f, "work_2", &beneath, &callers);
	check(&callers, "work_2", 2, 25, 25, 10, 15);
	check(&callers, "work_2/foo_1/work_0", 1, 10, 10, 10, 10);
	call_tree_clear(&beneath);
	call_tree_clear(&callers);
	drop(&f);
}

/* work_0 { foo_1, suspended for 35 } on one stack; on another foo_1 { work_2 } meanwhile. */
static const struct {
	uint8_t kind;
	uint64_t what, ts;
} switching[] = {
	{RECORD_STACK, 1, 100}, {RECORD_ENTRY, 0, 100}, {RECORD_ENTRY, 1, 110},
	{RECORD_STACK, 2, 120}, {RECORD_ENTRY, 1, 120}, {RECORD_ENTRY, 2, 130},
	{RECORD_STACK, 1, 150}, {RECORD_EXIT, 1, 155},	{RECORD_EXIT, 0, 170},
	{RECORD_STACK, 2, 170}, {RECORD_EXIT, 2, 180},	{RECORD_EXIT, 1, 190},
};

#define NR_SWITCHING (sizeof(switching) / sizeof(switching[0]))

static void tell_switching(struct record *rec, unsigned int cpu, uint64_t i)
{
	rec->kind = switching[i].kind;
	rec->ip = rec->kind == RECORD_STACK ? switching[i].what
					    : synth_addr((unsigned int)switching[i].what);
	rec->ts = T0 + switching[i].ts;
	rec->pid = SYNTH_PID;
}

static uint64_t suspended(const struct call_tree *t, const char *path)
{
	return call_tree_suspended(t, (uint32_t)(node(t, path) - t->nodes));
}

static void test_suspended(void **state)
{
	static const enum call_sort by_suspended = SORT_SUSPENDED;
	struct call_tree beneath, callers;
	struct call_table table;
	struct fixture f;

	build_of(&f, NULL, false, NR_SWITCHING, tell_switching);
	check(&f.tree, "work_0", 1, 70, 25, 70, 70);
	check(&f.tree, "work_0/foo_1", 1, 45, 10, 45, 45);
	check(&f.tree, "foo_1", 1, 70, 20, 70, 70);
	check(&f.tree, "foo_1/work_2", 1, 50, 25, 50, 50);
	assert_int_equal(suspended(&f.tree, "work_0"), 0);
	assert_int_equal(suspended(&f.tree, "work_0/foo_1"), 35);
	assert_int_equal(suspended(&f.tree, "foo_1"), 0);
	assert_int_equal(suspended(&f.tree, "foo_1/work_2"), 25);
	trees_of(&f, "foo_1", &beneath, &callers);
	assert_int_equal(suspended(&beneath, "foo_1"), 35);
	assert_int_equal(suspended(&beneath, "foo_1/work_2"), 25);
	assert_int_equal(suspended(&callers, "foo_1/work_0"), 35);
	call_tree_clear(&beneath);
	call_tree_clear(&callers);
	assert_int_equal(call_table_make(&f.tree, TABLE_BY_FUNCTION, &table), 0);
	call_table_sort(&table, &by_suspended, 1);
	assert_string_equal(table.rows[0].name, "foo_1");
	assert_int_equal(table.rows[0].suspended, 35);
	assert_int_equal(table.rows[1].suspended, 25);
	assert_int_equal(table.suspended, 60);
	assert_int_equal(table.self,
			 80); /* all the time but for 170 to 180, on a stack without calls */
	call_table_free(&table);
	drop(&f);
}

static const struct call_row *row_of(const struct call_table *t, const char *name, int32_t tid)
{
	for (size_t i = 0; i < t->nr; i++) {
		const char *n = t->rows[i].name;

		if (t->rows[i].tid == tid && (n == name || (n && name && !strcmp(n, name))))
			return &t->rows[i];
	}
	print_error("no row %s\n", name ? name : "(none)");
	fail_msg("no row");
	return NULL;
}

static void check_row(const struct call_table *t, const char *name, int32_t tid, uint64_t calls,
		      uint64_t total, uint64_t self)
{
	const struct call_row *row = row_of(t, name, tid);

	assert_int_equal(row->calls, calls);
	assert_int_equal(row->total, total);
	assert_int_equal(row->self, self);
}

static void test_tables(void **state)
{
	static const enum call_sort keys[] = {SORT_CALLS, SORT_SELF};
	static const enum call_sort by_name = SORT_NAME;
	const struct call_row *row;
	struct call_table t;
	struct fixture f;

	build(&f, NULL, false);
	assert_int_equal(call_table_make(&f.tree, TABLE_BY_FUNCTION, &t), 0);
	assert_int_equal(t.nr, 3);
	assert_int_equal(t.calls, 6);
	assert_int_equal(t.self, 115); /* all the time there was: 100 and 15 */
	check_row(&t, "work_0", 0, 1, 100, 30);
	check_row(&t, "work_2", 0, 2, 25, 25);
	check_row(&t, "foo_1", 0, 3, 70, 60); /* the one in another counts once */
	row = row_of(&t, "foo_1", 0);
	assert_string_equal(row->module, "libfoo.so");
	assert_int_equal(row->sum, 90);
	assert_int_equal(row->min, 20);
	assert_int_equal(row->max, 40);
	assert_int_equal(row->p50, 30);
	assert_int_equal(row->p90, 40);
	call_table_sort(&t, keys, 2);
	assert_string_equal(t.rows[0].name, "foo_1");
	assert_string_equal(t.rows[2].name, "work_0");
	call_table_sort(&t, &by_name, 1);
	assert_string_equal(t.rows[1].name, "work_0");
	assert_ptr_equal(call_table_find(&t, row_of(&t, "work_2", 0)), &t.rows[2]);
	call_table_free(&t);

	assert_int_equal(call_table_make(&f.tree, TABLE_BY_OBJECT, &t), 0);
	assert_int_equal(t.nr, 2);
	check_row(&t, "libfoo.so", 0, 3, 70, 60);
	check_row(&t, NULL, 0, 3, 115,
		  55); /* work_2 beneath libfoo.so beneath work_0 counts once */
	call_table_free(&t);
	drop(&f);

	build(&f, NULL, true);
	assert_int_equal(call_table_make(&f.tree, TABLE_BY_THREAD, &t), 0);
	assert_int_equal(t.nr, 2);
	check_row(&t, NULL, SYNTH_PID, 5, 100, 100);
	check_row(&t, NULL, 4001, 1, 15, 15);
	call_table_free(&t);
	assert_int_equal(call_table_make(&f.tree, TABLE_BY_FUNCTION, &t), 0);
	assert_int_equal(t.nr, 4);
	check_row(&t, "work_2", SYNTH_PID, 1, 10, 10);
	check_row(&t, "work_2", 4001, 1, 15, 15);
	call_table_free(&t);
	drop(&f);
}

static void test_sort(void **state)
{
	struct fixture f;
	uint32_t first;

	build(&f, NULL, false);
	assert_int_equal(call_tree_sort(&f.tree), 0);
	first = f.tree.nodes[0].first_child;
	assert_int_equal(f.tree.nodes[first].total, 100);
	assert_int_equal(f.tree.nodes[f.tree.nodes[first].next].total, 15);
	drop(&f);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void test_spread(void **state)
{
	static uint64_t values[20000];
	struct percentiles s = {0};
	uint64_t x = 88172645463325252;

	for (unsigned int i = 0; i < 20000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		values[i] = x >> (20 + i % 44);
		assert_int_equal(percentiles_add(&s, values[i]), 0);
	}
	assert_int_equal(s.nr, 20000);
	qsort(values, 20000, sizeof(values[0]), by_value);
	for (unsigned int percent = 1; percent <= 100; percent++) {
		double want = (double)values[percent * 200 - 1];
		double got = (double)percentiles_at(&s, percent);

		assert_true(got <= want * 1.0157 && got >= want / 1.0157);
	}
	percentiles_clear(&s);
	assert_int_equal(percentiles_add(&s, UINT64_MAX), 0);
	assert_int_equal(percentiles_add(&s, 3), 0);
	assert_int_equal(percentiles_at(&s, 50), 3);
	percentiles_clear(&s);
}

static void test_durations(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text, *words;
	} puts[] = {{0, "  0.000 us", "0.000 us"},
		    {999, "  0.999 us", "0.999 us"},
		    {1234, "  1.234 us", "1.234 us"},
		    {999999, "999.999 us", "999.999 us"},
		    {1000000, "  1.000 ms", "1.000 ms"},
		    {12345678901, " 12.345  s", "12.345 s"},
		    {UINT64_C(90000000000), "  1.500  m", "1.500 m"},
		    {UINT64_C(7200000000000), "  2.000  h", "2.000 h"},
		    {UINT64_MAX, "999.999  h", "999.999 h"}};
	static const struct {
		const char *text;
		uint64_t ns;
	} parses[] = {{"5", 5000},
		      {"5ns", 5},
		      {"1.5us", 1500},
		      {"20us", 20000},
		      {"2ms", 2000000},
		      {"0.25s", 250000000},
		      {"1m", UINT64_C(60000000000)},
		      {"0.999999999m", UINT64_C(59999999940)},
		      {"1h", UINT64_C(3600000000000)},
		      {"0.999999999h", UINT64_C(3599999996400)}};
	static const char *const bad[] = {
		"", "x", "5 us", "us", "5d", "-5", "9999999h", "99999999999999s", "1.2.3", "5us "};
	char to[DURATION_WIDTH + 1] = "";
	uint64_t ns;

	for (unsigned int i = 0; i < sizeof(puts) / sizeof(puts[0]); i++) {
		duration_put(to, puts[i].ns);
		assert_string_equal(to, puts[i].text);
		duration_text(to, puts[i].ns);
		assert_string_equal(to, puts[i].words);
	}
	for (unsigned int i = 0; i < sizeof(parses) / sizeof(parses[0]); i++) {
		assert_true(duration_parse(parses[i].text, 1000, &ns, NULL));
		assert_int_equal(ns, parses[i].ns);
	}
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(duration_parse(bad[i], 1000, &ns, NULL));
}

#define RUN_RECORDS 500u

/* Records of one thread on one CPU, by columns: function number @i is at functions[i]. */
struct columns {
	uint64_t ts[RUN_RECORDS];
	uint32_t words[RUN_RECORDS];
	uint64_t functions[64];
	unsigned int nr_functions;
	struct run run;
	struct call_tree_part *part; /* is handed the runs; NULL: the builder of calls is */
};

static uint32_t number_of(struct columns *k, const struct record *rec)
{
	unsigned int i = 0;

	if (rec->kind > RECORD_EXIT)
		return (uint32_t)rec->ip;
	while (i < k->nr_functions && k->functions[i] != rec->ip)
		i++;
	assert_true(i < 64);
	if (i == k->nr_functions)
		k->functions[k->nr_functions++] = rec->ip;
	return i;
}

static void hand_out(struct columns *k, struct calls *calls)
{
	if (k->run.nr && k->part)
		assert_true(call_tree_part_run(k->part, &k->run) >= 0);
	else if (k->run.nr)
		assert_int_equal(calls_run(calls, &k->run), 0);
	k->run.nr = 0;
}

static void add_column(struct columns *k, struct calls *calls, const struct record *rec)
{
	const struct record *head = &k->run.head;

	if (k->run.nr == RUN_RECORDS || rec->lost || rec->pid != head->pid ||
	    rec->cpu != head->cpu || rec->process != head->process || rec->task != head->task)
		hand_out(k, calls);
	if (!k->run.nr)
		k->run = (struct run){.ts = k->ts,
				      .words = k->words,
				      .functions = k->functions,
				      .head = {.pid = rec->pid,
					       .cpu = rec->cpu,
					       .process = rec->process,
					       .task = rec->task,
					       .lost = rec->lost}};
	k->ts[k->run.nr] = rec->ts;
	k->words[k->run.nr++] = RECORD_RUN_WORD(rec->kind, number_of(k, rec));
}

static void same_nodes(const struct call_tree *a, const struct call_tree *b)
{
	assert_int_equal(a->nr, b->nr);
	assert_int_equal(a->nr_calls, b->nr_calls);
	for (uint32_t i = 0; i < a->nr; i++) {
		const struct call_node *x = &a->nodes[i], *y = &b->nodes[i];

		assert_int_equal(x->function, y->function);
		assert_int_equal(x->parent, y->parent);
		assert_int_equal(x->calls, y->calls);
		assert_int_equal(x->total, y->total);
		assert_int_equal(x->self, y->self);
		assert_int_equal(x->min, y->min);
		assert_int_equal(x->max, y->max);
		assert_int_equal(call_tree_suspended(a, i), call_tree_suspended(b, i));
	}
	for (uint32_t f = 0; f < call_filter_nr(a->filter); f++)
		for (unsigned int percent = 0; percent <= 100; percent += 10)
			assert_int_equal(percentiles_at(&a->spreads[f], percent),
					 percentiles_at(&b->spreads[f], percent));
}

/*
 * A tree is the same by records and by runs: with jumps, throws, stacks, losses and a least
 * duration.
 */
static void test_runs(void **state)
{
	for (uint32_t seed = 1; seed <= 100; seed++) {
		struct graph_synth_plan plan = {
			.seed = seed,
			.steps = 3000,
			.threads = 1 + seed % 4,
			.processes = 1 + seed % 2,
			.coroutines = seed % 3 ? 0 : seed % 11,
			.tails = seed % 4 > 1,
			.throws = seed % 5 > 2,
			.ends = seed % 2,
		};
		struct call_wish wish = {.min_ns = seed % 8 ? 0 : 20};
		struct columns columns = {0};
		struct call_tree trees[2];
		struct call_filter *filters[2];
		struct calls *calls[2];
		const struct record *rec;
		struct graph_synth g;
		struct merge *merge;
		struct reader *r;

		graph_synth_run(&g, &plan);
		if (seed % 6 == 5)
			graph_synth_lose(&g, seed, 200);
		r = graph_synth_reader(&g);
		for (int i = 0; i < 2; i++) {
			filters[i] = call_filter_new(r, &wish);
			assert_int_equal(call_tree_init(&trees[i], filters[i], false, true), 0);
			calls[i] = calls_new(&call_tree_ops, &trees[i], NULL);
		}
		merge = merge_new(r);
		while (merge_next(merge, &rec) > 0) {
			assert_int_equal(calls_record(calls[0], rec), 0);
			add_column(&columns, calls[1], rec);
		}
		hand_out(&columns, calls[1]);
		for (int i = 0; i < 2; i++)
			calls_finish(calls[i]);
		same_nodes(&trees[0], &trees[1]);
		for (int i = 0; i < 2; i++) {
			calls_free(calls[i]);
			call_tree_clear(&trees[i]);
			call_filter_free(filters[i]);
		}
		merge_free(merge);
		reader_close(r);
		graph_synth_free(&g);
	}
}

/*
 * A tree of which another thread makes the later half is the one of all records; if it does not
 * fit, the first half can go on.
 */
static bool joined_is_whole(const struct graph_synth_plan *plan, uint64_t nr_first, bool by_thread)
{
	struct call_wish wish = {.min_ns = plan->seed % 8 ? 0 : 20};
	struct columns columns = {0}, later = {0};
	struct call_tree trees[2];
	struct call_filter *filters[2];
	struct calls *calls[2];
	const struct record *rec;
	struct graph_synth g;
	struct merge *merge;
	struct reader *r;
	uint64_t nr = 0;
	int joined;

	graph_synth_run(&g, plan);
	if (plan->seed % 6 == 5)
		graph_synth_lose(&g, plan->seed, 400);
	r = graph_synth_reader(&g);
	for (int i = 0; i < 2; i++) {
		filters[i] = call_filter_new(r, &wish);
		assert_int_equal(call_tree_init(&trees[i], filters[i], by_thread, true), 0);
		calls[i] = calls_new(&call_tree_ops, &trees[i], NULL);
	}
	assert_true(call_tree_can_part(&trees[1]));
	later.part = call_tree_part_new(r, &trees[1]);
	merge = merge_new(r);
	while (merge_next(merge, &rec) > 0) {
		assert_int_equal(calls_record(calls[0], rec), 0);
		add_column(nr++ < nr_first ? &columns : &later, calls[1], rec);
	}
	merge_free(merge);
	hand_out(&columns, calls[1]);
	hand_out(&later, NULL);
	joined = call_tree_part_join(later.part, &trees[1], calls[1]);
	assert_true(joined >= 0);
	if (!joined) {
		nr = 0;
		assert_int_equal(r->ops->rewind(r), 0);
		merge = merge_new(r);
		while (merge_next(merge, &rec) > 0)
			if (nr++ >= nr_first)
				add_column(&columns, calls[1], rec);
		merge_free(merge);
		hand_out(&columns, calls[1]);
	}
	for (int i = 0; i < 2; i++)
		calls_finish(calls[i]);
	same_nodes(&trees[0], &trees[1]);
	call_tree_part_free(later.part);
	for (int i = 0; i < 2; i++) {
		calls_free(calls[i]);
		call_tree_clear(&trees[i]);
		call_filter_free(filters[i]);
	}
	reader_close(r);
	graph_synth_free(&g);
	return joined;
}

static void test_parts(void **state)
{
	unsigned int nr_joined = 0, nr = 0;

	for (uint32_t seed = 1; seed <= 200; seed++) {
		struct graph_synth_plan plan = {
			.seed = seed,
			.steps = 1500,
			.threads = 1 + seed % 4,
			.processes = 1,
			.tails = seed % 4 > 1,
			.throws = seed % 5 > 2,
			.middle = seed % 3 == 0,
			.ends = seed % 2,
		};

		nr += 1;
		nr_joined += joined_is_whole(&plan, seed * 7 % 1400, seed % 7 == 0);
	}
	/* calls that end by throws, and losses, do not fit always */
	assert_true(nr_joined > nr / 2 && nr_joined < nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),	     cmocka_unit_test(test_runs),
		cmocka_unit_test(test_parts),	     cmocka_unit_test(test_filters),
		cmocka_unit_test(test_one_function), cmocka_unit_test(test_suspended),
		cmocka_unit_test(test_tables),	     cmocka_unit_test(test_sort),
		cmocka_unit_test(test_spread),	     cmocka_unit_test(test_durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
