/* SPDX-License-Identifier: MIT */
/*
 * Calls in a trace.dat: what random programs did (graph_synth.c), written and read again, is what
 * they did; and stock trace-cmd shows it with the same names, nesting and durations. Skipped in
 * part where trace-cmd is not installed.
 */
#include "cm.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph_synth.h"
#include "scratch.h"
#include "synth.h"
#include "tools/analysis/calls.h"
#include "tools/analysis/graph_events.h"
#include "tools/analysis/merge.h"
#include "tools/code/symbols.h"
#include "tools/export/dat_write.h"
#include "tools/text/graph_text.h"

static const struct dat_options kinds[] = {
	{.version = 6}, {.version = 7}, {.version = 7, .zstd_level = 1}};

static struct graph_synth_plan plan_of(uint32_t seed, bool whole)
{
	return (struct graph_synth_plan){
		.seed = seed,
		.steps = 2000,
		.threads = 1 + seed % 5,
		.processes = 1 + seed % 2,
		.coroutines = seed % 3 * 4,
		.tails = seed % 2,
		.throws = whole && seed % 5 > 1,
		.middle = !whole || (seed % 5 <= 1 && seed % 3 == 0),
		.calls_first = true,
		.ends = true,
	};
}

/* All events as text: nothing that a trace.dat holds is left out. */
static char *events_text(struct reader *r)
{
	const struct graph_event *ev;
	struct graph_events *events;
	size_t bytes;
	char *text;
	FILE *f = open_memstream(&text, &bytes);
	int ret;

	events = graph_events_new(r, NULL, false, &ret);
	assert_non_null(events);
	while ((ret = graph_events_next(events, &ev)) > 0)
		fprintf(f,
			"%" PRIu64 " cpu %u pid %d lost %" PRId64 " type %d ip %" PRIx64
			" depth %u flags %x stack %u %" PRIu64 "\n",
			ev->rec->ts, ev->rec->cpu, ev->rec->pid, (int64_t)ev->lost, ev->type,
			ev->ip, ev->depth, ev->flags, ev->stack, ev->end - ev->start * !!ev->end);
	assert_int_equal(ret, 0);
	graph_events_free(events);
	fclose(f);
	return text;
}

static char *report(struct reader *r)
{
	char *path = scratch_path("report"), *text;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), ret;
	const struct graph_event *ev;
	struct graph_events *events;
	struct graph_text *t;
	struct out o;

	assert_int_equal(out_init(&o, fd), 0);
	events = graph_events_new(r, NULL, true, &ret);
	t = graph_text_new(r, &o, NULL, GRAPH_OPTIONS_DEFAULT | GRAPH_PRINT_PROC);
	while (graph_events_next(events, &ev) > 0)
		graph_text_event(t, ev);
	graph_text_free(t);
	graph_events_free(events);
	assert_int_equal(out_end(&o), 0);
	close(fd);
	text = scratch_read(path, NULL);
	unlink(path);
	free(path);
	return text;
}

/* The same lines of records by columns, whose events are made by many at once. */
static void test_columns(void **state)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct graph_synth_plan plan = plan_of(seed, seed % 4);
		struct graph_synth g;
		char *want, *got;
		struct reader *r;

		plan.calls_first = seed % 3;
		graph_synth_run(&g, &plan);
		if (seed % 5 == 0)
			graph_synth_lose(&g, seed, 100);
		r = graph_synth_reader(&g);
		want = report(r);
		r->ops->rewind(r);
		synth_columns(r);
		got = report(r);
		assert_non_null(strstr(want, "();"));
		assert_string_equal(got, want);
		free(got);
		free(want);
		reader_close(r);
		graph_synth_free(&g);
	}
}

static void test_there_and_back(void **state)
{
	char *path = scratch_path("g.dat");

	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct graph_synth_plan plan = plan_of(seed, true);
		char *want, *got, *want_report, *got_report;
		struct graph_synth g;
		struct reader *r, *dat;

		graph_synth_run(&g, &plan);
		if (seed % 4 == 0)
			graph_synth_lose(&g, seed, 100);
		r = graph_synth_reader(&g);
		want = events_text(r);
		r->ops->rewind(r);
		want_report = report(r);
		r->ops->rewind(r);
		assert_int_equal(dat_write(path, r, &kinds[seed % 3]), 0);
		assert_int_equal(reader_open(path, &dat), 0);
		assert_string_equal(dat->tracer, "function_graph");
		got = events_text(dat);
		dat->ops->rewind(dat);
		got_report = report(dat);
		assert_string_equal(got, want);
		/* where records were lost, which exit ends a leaf is not the same question */
		if (seed % 4)
			assert_string_equal(got_report, want_report);
		assert_true(strlen(got) > 1000);
		free(got);
		free(want);
		free(got_report);
		free(want_report);
		reader_close(dat);
		reader_close(r);
		graph_synth_free(&g);
	}
	unlink(path);
	free(path);
	assert_int_equal(scratch_count(), 0);
}

/* What calls.h makes of the file is what the program did. */
struct check {
	const struct graph_synth *g;
	uint64_t nr;
};

static void check_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct check *k = arg;

	while (k->nr < k->g->nr_calls && !k->g->call[k->nr].start)
		k->nr++;
	assert_true(k->nr < k->g->nr_calls);
	assert_int_equal(call->ip, k->g->call[k->nr].ip);
	assert_int_equal(call->start, k->g->call[k->nr].start);
	assert_int_equal(call->depth, k->g->call[k->nr].depth);
	call->data = ++k->nr;
}

static void check_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct check *k = arg;
	const struct synth_call *t = &k->g->call[call->data - 1];

	if (call->flags & CALL_UNFINISHED)
		return;
	assert_int_equal(call->end, t->end);
	assert_int_equal(call->children, t->children);
	assert_int_equal(call->nr_children, t->nr_children);
	assert_int_equal(!!(call->flags & CALL_UNWOUND), t->unwound);
	assert_int_equal(!!(call->flags & CALL_TAIL), t->tail);
	assert_false(call->flags & (CALL_NO_EXIT | CALL_BROKEN));
	if (t->parent >= 0 && k->g->call[t->parent].start)
		assert_int_equal(parent->data, (uint64_t)t->parent + 1);
	else
		assert_null(parent);
}

static void test_calls(void **state)
{
	static const struct calls_ops ops = {.enter = check_enter, .leave = check_leave};
	char *path = scratch_path("g.dat");

	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct graph_synth_plan plan = plan_of(seed, true);
		const struct record *rec;
		struct check k = {0};
		struct graph_synth g;
		struct reader *r, *dat;
		struct merge *m;
		struct calls *c;

		graph_synth_run(&g, &plan);
		k.g = &g;
		r = graph_synth_reader(&g);
		assert_int_equal(dat_write(path, r, &kinds[2]), 0);
		assert_int_equal(reader_open(path, &dat), 0);
		c = calls_new(&ops, &k, NULL);
		assert_int_equal(calls_learn(c, dat, NULL), 0);
		m = merge_new(dat);
		while (merge_next(m, &rec) > 0)
			assert_int_equal(calls_record(c, rec), 0);
		calls_finish(c);
		assert_int_equal(k.nr, g.nr_calls);
		merge_free(m);
		calls_free(c);
		reader_close(dat);
		reader_close(r);
		graph_synth_free(&g);
	}
	unlink(path);
	free(path);
}

/*
 * A line for each entry and exit of a CPU. trace-cmd folds a leaf only when nothing
 * of another CPU lies between: here none is folded.
 */
struct lines {
	FILE *f[GRAPH_SYNTH_CPUS];
	char *text[GRAPH_SYNTH_CPUS];
	size_t bytes[GRAPH_SYNTH_CPUS];
};

static void lines_open(struct lines *l)
{
	for (int cpu = 0; cpu < GRAPH_SYNTH_CPUS; cpu++)
		l->f[cpu] = open_memstream(&l->text[cpu], &l->bytes[cpu]);
}

static void expected_lines(struct lines *l, struct reader *r)
{
	const struct graph_event *ev;
	struct graph_events *events;
	int ret;

	lines_open(l);
	events = graph_events_new(r, NULL, false, &ret);
	while (graph_events_next(events, &ev) > 0) {
		FILE *f = l->f[ev->rec->cpu];

		fprintf(f, "%d %u ", ev->rec->pid, ev->depth);
		if (ev->type == GRAPH_ENTRY)
			fprintf(f, "%s\n", symbols_find(r->symbols, ev->ip)->name);
		else
			fprintf(f, "} %" PRIu64 "\n", ev->end - ev->start);
	}
	graph_events_free(events);
}

/* `  worker 0-4000  [000]     0.001000: funcgraph_entry:        0.026 us   |  work_12();` */
static void trace_cmd_line(struct lines *l, char *line)
{
	unsigned int cpu = (unsigned int)atoi(strchr(line, '[') + 1), depth;
	char *bar = strchr(line, '|'), *us, *pid = strchr(line, '-') + 1, *name;
	bool entry = strstr(line, " funcgraph_entry: ") != NULL, leaf;
	FILE *f = l->f[cpu];

	assert_true(entry || strstr(line, " funcgraph_exit: "));
	assert_non_null(bar);
	depth = (unsigned int)(strspn(bar + 1, " ") - 2) / 2;
	name = bar + 1 + strspn(bar + 1, " ");
	leaf = strstr(name, "();") != NULL;
	assert_int_equal(entry, *name != '}');
	if (entry)
		fprintf(f, "%d %u %.*s\n", atoi(pid), depth, (int)strcspn(name, "("), name);
	if (entry && !leaf)
		return;
	for (us = bar; strncmp(us, " us ", 4) != 0; us--)
		assert_true(us > line);
	while (us[-1] != ' ')
		us--;
	fprintf(f, "%d %u } %.0f\n", atoi(pid), depth, strtod(us, NULL) * 1000);
}

static void check_trace_cmd(struct reader *r, char *text)
{
	struct lines want, got;
	char *line, *save;

	expected_lines(&want, r);
	lines_open(&got);
	line = strtok_r(text, "\n", &save);
	assert_string_equal(line, "cpus=3");
	/* it folds across a loss too, and then does not report the loss: test_dat_clients.c looks
	 * at
	 * them */
	while ((line = strtok_r(NULL, "\n", &save)) != NULL)
		if (strncmp(line, "CPU:", 4) != 0)
			trace_cmd_line(&got, line);
	for (int cpu = 0; cpu < GRAPH_SYNTH_CPUS; cpu++) {
		fclose(want.f[cpu]);
		fclose(got.f[cpu]);
		assert_string_equal(got.text[cpu], want.text[cpu]);
		free(want.text[cpu]);
		free(got.text[cpu]);
	}
}

static void test_trace_cmd(void **state)
{
	char *path = scratch_path("g.dat");

	if (system("command -v trace-cmd >/dev/null")) {
		free(path);
		skip();
	}
	for (uint32_t seed = 1; seed <= 12; seed++) {
		struct graph_synth_plan plan = plan_of(seed, seed % 2);
		struct graph_synth g;
		struct reader *r;
		char *text;

		graph_synth_run(&g, &plan);
		if (seed % 4 == 0)
			graph_synth_lose(&g, seed, 100);
		r = graph_synth_reader(&g);
		assert_int_equal(dat_write(path, r, &kinds[seed % 3]), 0);
		text = scratch_run("trace-cmd report -i %s 2>/dev/null", path);
		r->ops->rewind(r);
		check_trace_cmd(r, text);
		free(text);
		reader_close(r);
		graph_synth_free(&g);
	}
	unlink(path);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_trace_cmd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
