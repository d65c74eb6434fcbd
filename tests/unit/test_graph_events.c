/* SPDX-License-Identifier: MIT */
/* Leaves among the events of runs by columns, tools/analysis/graph_events.c. */
#include "cm.h"

#include <string.h>

#include "tools/analysis/graph_events.h"
#include "tools/reader/reader.h"

#define MAX_RECORDS 200u

static uint64_t ts[MAX_RECORDS];
static uint32_t words[MAX_RECORDS];
static const uint64_t functions[] = {0, 0x1000, 0x2000};
static unsigned int nr_records;
static bool was_read;

static int read_run(struct reader *r, unsigned int cpu, struct run *out)
{
	(void)r;
	if (cpu || was_read)
		return 0;
	was_read = true;
	*out = (struct run){.nr = nr_records,
			    .ts = ts,
			    .words = words,
			    .functions = functions,
			    .head = {.pid = 7}};
	return 1;
}

static int rewind_run(struct reader *r)
{
	(void)r;
	was_read = false;
	return 0;
}

static void add(enum record_kind kind, uint32_t id)
{
	ts[nr_records] = 1000 + nr_records;
	words[nr_records++] = (uint32_t)kind << (RECORD_KIND_SHIFT - 32) | id;
}

/*
 * A call on stack 1 is left for the thread's own stack, where another call ends. Wherever a stretch
 * of records that are taken at once ends, the first call is no leaf.
 */
static void test_left_for_another_stack(void **state)
{
	static const struct reader_ops ops = {.read_run = read_run, .rewind = rewind_run};
	struct reader r = {.ops = &ops, .nr_cpus = 1, .graph = true};

	for (unsigned int before = 0; before < 80; before++) {
		const struct graph_event *ev;
		struct graph_events *g;
		unsigned int open = 0, ended = 0, leaves = 0;
		int err;

		nr_records = 0;
		for (unsigned int i = 0; i < before; i++) {
			add(RECORD_ENTRY, 2);
			add(RECORD_EXIT, 2);
		}
		if (before % 2)
			add(RECORD_STACK, 2);
		add(RECORD_STACK, 9);
		add(RECORD_ENTRY, 1);
		add(RECORD_STACK, 1);
		add(RECORD_ENTRY, 2);
		add(RECORD_STACK, 9);
		add(RECORD_EXIT, 1);
		was_read = false;
		g = graph_events_new(&r, NULL, true, &err);
		assert_non_null(g);
		while ((err = graph_events_next(g, &ev)) > 0) {
			leaves += ev->type == GRAPH_LEAF;
			open += ev->type == GRAPH_ENTRY;
			if (ev->type != GRAPH_EXIT)
				continue;
			ended++;
			assert_int_equal(ev->ip, 0x1000);
		}
		assert_int_equal(err, 0);
		assert_int_equal(leaves, before);
		assert_int_equal(open, 2);
		assert_int_equal(ended, 1);
		graph_events_free(g);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_left_for_another_stack)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
