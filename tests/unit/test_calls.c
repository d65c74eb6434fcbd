/* SPDX-License-Identifier: MIT */
/*
 * tools/analysis/calls.c makes the calls of random programs that the programs themselves wrote down
 * (graph_synth.c). Also: calls after losses, limits, and a few records by hand.
 */
#include "cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_synth.h"
#include "synth.h"
#include "tools/analysis/calls.h"
#include "tools/analysis/merge.h"
#include "tools/base/fail.h"

/* Compares the reported calls with the program's own. */
struct check {
	const struct graph_synth *g;
	uint64_t at;
};

static const struct synth_event *next_event(struct check *k, enum synth_what what)
{
	assert_true(k->at < k->g->nr_events);
	assert_int_equal(k->g->event[k->at].what, what);
	return &k->g->event[k->at++];
}

static void check_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct check *k = arg;
	const struct synth_event *e = next_event(k, SYNTH_ENTER);
	const struct synth_call *t = &k->g->call[e->call];

	assert_int_equal(call->ip, t->ip);
	assert_int_equal(call->start, t->start);
	assert_int_equal(rec->ts, e->ts);
	assert_int_equal(call->depth, t->depth);
	assert_int_equal(call->stack, t->stack);
	assert_int_equal(call->data, 0);
	assert_int_equal(!!(call->flags & CALL_TAIL), t->tail);
	if (t->parent >= 0 && k->g->call[t->parent].start)
		assert_int_equal(parent->data, (uint64_t)t->parent + 1);
	else
		assert_null(parent);
	call->data = e->call + 1;
}

static void check_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct check *k = arg;
	const struct synth_event *e;
	const struct synth_call *t = &k->g->call[call->data - 1];

	if (call->flags & CALL_UNFINISHED) {
		assert_null(rec);
		assert_int_equal(t->end, 0);
		return;
	}
	e = next_event(k, SYNTH_LEAVE);
	assert_int_equal(call->data, e->call + 1);
	assert_int_equal(call->end, t->end);
	assert_int_equal(call->children, t->children);
	assert_int_equal(call->nr_children, t->nr_children);
	assert_int_equal(call->suspended, t->suspended);
	assert_int_equal(!!(call->flags & CALL_UNWOUND), t->unwound);
	assert_false(call->flags & (CALL_NO_EXIT | CALL_BROKEN));
	if (t->parent >= 0 && k->g->call[t->parent].start)
		assert_int_equal(parent->data, (uint64_t)t->parent + 1);
	else
		assert_null(parent);
}

static void check_unmatched(void *arg, uint32_t depth, uint32_t stack, const struct record *rec)
{
	struct check *k = arg;
	const struct synth_event *e = next_event(k, SYNTH_UNMATCHED);

	assert_int_equal(rec->ip, k->g->call[e->call].ip);
	assert_int_equal(depth, k->g->call[e->call].depth);
	assert_int_equal(stack, 0);
}

static void feed(struct calls *c, struct reader *r)
{
	struct merge *m = merge_new(r);
	const struct record *rec;

	while (merge_next(m, &rec) > 0)
		assert_int_equal(calls_record(c, rec), 0);
	merge_free(m);
	calls_finish(c);
}

static const struct calls_ops check_ops = {check_enter, check_leave, check_unmatched};

static void test_random(void **state)
{
	for (uint32_t seed = 1; seed <= 200; seed++) {
		struct graph_synth_plan plan = {
			.seed = seed,
			.steps = 3000,
			.threads = 1 + seed % 6,
			.processes = 1 + seed % 2,
			.coroutines = seed % 3 ? seed % 11 : 0,
			.tails = seed % 4 > 1,
			.throws = seed % 5 > 1,
			/* calls that end unseen have no name, nor have stacks that begin in a
			 * call */
			.middle = seed % 5 <= 1 && seed % 3 == 0,
			.ends = seed % 2,
			.silent = seed % 7 > 2,
		};
		struct graph_synth g;
		struct check k = {.g = &g};
		struct reader *r;
		struct calls *c;

		graph_synth_run(&g, &plan);
		r = graph_synth_reader(&g);
		c = calls_new(&check_ops, &k, NULL);
		/* only a thread that comes back to its first level shows how deep that was */
		if (plan.middle && !plan.ends)
			k.at = g.nr_events;
		else {
			assert_int_equal(calls_learn(c, r, NULL), 0);
			feed(c, r);
		}
		assert_int_equal(k.at, g.nr_events);
		assert_int_equal(calls_too_deep(c), 0);
		assert_int_equal(calls_dropped_stacks(c), 0);
		calls_free(c);
		reader_close(r);
		graph_synth_free(&g);
	}
}

/* After losses: every call that is entered is left once, inside of what is around it. */
struct balance {
	uint64_t entered, left, unmatched, broken;
};

static void balance_enter(void *arg, struct call *call, struct call *parent,
			  const struct record *rec)
{
	struct balance *b = arg;

	call->data = ++b->entered;
	if (parent) {
		assert_true(parent->start <= call->start);
		assert_true(parent->depth + 1 == call->depth);
		assert_true(parent->data < call->data);
	}
}

static void balance_leave(void *arg, struct call *call, struct call *parent,
			  const struct record *rec)
{
	struct balance *b = arg;

	assert_true(call->data > 0);
	assert_true(call->end >= call->start);
	assert_true(call->children <= call->end - call->start);
	if (parent)
		assert_true(parent->start <= call->start);
	b->left++;
	b->broken += !!(call->flags & CALL_BROKEN);
}

static void balance_unmatched(void *arg, uint32_t depth, uint32_t stack, const struct record *rec)
{
	((struct balance *)arg)->unmatched++;
}

static const struct calls_ops balance_ops = {balance_enter, balance_leave, balance_unmatched};

static void test_losses(void **state)
{
	uint64_t too_deep = 0, dropped = 0;

	for (uint32_t seed = 1; seed <= 100; seed++) {
		struct graph_synth_plan plan = {
			.seed = seed,
			.steps = 3000,
			.threads = 1 + seed % 6,
			.processes = 1 + seed % 2,
			.coroutines = seed % 7,
			.tails = true,
			.throws = true,
			.middle = true,
		};
		struct calls_limits small = {
			.max_depth = 1 + seed % 9, .max_open = 20, .max_stacks = 4 + seed % 5};
		struct balance b = {0};
		struct graph_synth g;
		struct reader *r;
		struct calls *c;

		graph_synth_run(&g, &plan);
		graph_synth_lose(&g, seed, 50);
		r = graph_synth_reader(&g);
		c = calls_new(&balance_ops, &b, seed % 2 ? &small : NULL);
		assert_int_equal(calls_learn(c, r, NULL), 0);
		feed(c, r);
		assert_int_equal(b.entered, b.left);
		assert_true(b.broken > 0);
		too_deep += calls_too_deep(c);
		dropped += calls_dropped_stacks(c);
		calls_free(c);
		reader_close(r);
		graph_synth_free(&g);
	}
	assert_true(too_deep > 0);
	assert_true(dropped > 0);
}

/* Records by hand: the reported calls, as text. */
static char *said;
static size_t said_bytes;
static FILE *said_file;

static void text_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	fprintf(said_file, "%*s%c%s\n", (int)call->depth, "", (char)call->ip,
		call->flags & CALL_TAIL ? " tail" : "");
}

static void text_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	fprintf(said_file, "%*s/%c%s%s%s%s %d\n", (int)call->depth, "", (char)call->ip,
		call->flags & CALL_UNWOUND ? " unwound" : "",
		call->flags & CALL_NO_EXIT ? " no exit" : "",
		call->flags & CALL_UNFINISHED ? " unfinished" : "",
		call->flags & CALL_BROKEN ? " broken" : "", (int)(call->end - call->start));
	if (call->suspended)
		fprintf(said_file, "%*s suspended %d\n", (int)call->depth, "",
			(int)call->suspended);
}

static void text_unmatched(void *arg, uint32_t depth, uint32_t stack, const struct record *rec)
{
	fprintf(said_file, "%*s?%c\n", (int)depth, "", (char)rec->ip);
}

/* Each letter of @what is a record: kind, name. `#` before it: something was lost. */
static void expect(const char *what, const char *text)
{
	static const struct calls_ops ops = {text_enter, text_leave, text_unmatched};
	static struct record rec[64];
	const struct record *list[] = {rec};
	uint64_t nr = 0;
	struct reader *r;
	struct calls *c;
	bool returned;

	for (uint64_t lost = 0; *what; what++) {
		if (*what == ' ')
			continue;
		if (*what == '#') {
			lost = 1;
			continue;
		}
		rec[nr] = (struct record){.ts = 100 + 10 * nr, .pid = 7, .lost = lost};
		lost = 0;
		rec[nr].kind = *what == '('		      ? RECORD_ENTRY
			       : *what == '>'		      ? RECORD_TAIL
			       : *what == ')'		      ? RECORD_EXIT
			       : *what == '!' || *what == '~' ? RECORD_UNWOUND
							      : RECORD_STACK;
		returned = *what == '~';
		rec[nr].ip = (uint64_t) * ++what;
		if (rec[nr].kind == RECORD_UNWOUND || rec[nr].kind == RECORD_STACK)
			rec[nr].ip -= '0';
		if (returned)
			rec[nr].ip |= RECORD_UNWOUND_RETURNED;
		nr++;
	}
	said_file = open_memstream(&said, &said_bytes);
	r = synth_new_list(1, list, &nr);
	c = calls_new(&ops, NULL, NULL);
	assert_int_equal(calls_learn(c, r, NULL), 0);
	feed(c, r);
	fclose(said_file);
	assert_string_equal(said, text);
	free(said);
	calls_free(c);
	reader_close(r);
}

static void test_rows(void **state)
{
	expect("(a(b)b)a", "a\n b\n /b 10\n/a 30\n");
	/* it jumps twice; both end with what was called */
	expect("(a(b>c>d)b)a", "a\n b\n  c tail\n   d tail\n   /d 10\n  /c 20\n /b 30\n/a 50\n");
	/* what jumped calls */
	expect("(a>b(c)c)a", "a\n b tail\n  c\n  /c 10\n /b 30\n/a 40\n");
	/* try { b -> c throws } catch { d() } */
	expect("(a(b(c!2(d)d)a",
	       "a\n b\n  c\n  /c unwound 10\n /b unwound 20\n d\n /d 10\n/a 60\n");
	expect("(a(b>c!1)a", "a\n b\n  c tail\n  /c unwound 10\n /b unwound 20\n/a 40\n");
	/* more vanish than are known */
	expect("(a!3(b)b", "  a\n  /a unwound 10\nb\n/b 10\n");
	/* it begins in the middle */
	expect("(c)c)b)a(d)d", "  c\n  /c 10\n ?b\n?a\nd\n/d 10\n");
	/* a jump from what was not seen */
	expect(">c)b)a", "  c tail\n  /c 10\n ?b\n?a\n");
	/* two stacks; the first is named when it is left */
	expect("(a$8$9(b$8)a$9)b", "a\nb\n/a 50\n suspended 20\n/b 40\n suspended 20\n");
	/* the first is not named: it is recognised by what returns */
	expect("(a$9(b$8)a$9)b", "a\nb\n/a 40\n suspended 20\n/b 40\n suspended 20\n");
	/* exits and entries that were lost */
	expect("(a(b#)a(c)c", "a\n b\n /b no exit broken 0\n/a broken 20\nc\n/c 10\n");
	expect("(a#)b)a", "a\n ?b\n/a broken 20\n");
	expect("(a(a#)a)a", "a\n a\n /a broken 10\n/a broken 30\n");
	/* exits that were not made: the calls were open at the stack's last record */
	expect("(a(b(c~2)a", "a\n b\n  c\n  /c no exit 0\n /b no exit 10\n/a 40\n");
	expect("(a(b~1(d)d)a", "a\n b\n /b no exit 0\n d\n /d 10\n/a 50\n");
	expect("(a(b$8$9(c$8~2$9)c",
	       "a\n b\nc\n /b no exit 0\n/a no exit 10\n/c 40\n suspended 20\n");
	expect("(c~2(b)b)a", "  c\n  /c no exit 0\n b\n /b 10\n?a\n");
	expect("(a(b", "a\n b\n /b unfinished 0\n/a unfinished 10\n");
}

/* Records of a trace.dat: entries and exits with their depth, returns with their duration. */
struct call_row {
	enum record_kind kind;
	uint32_t depth;
	char ip;
	uint64_t ts, duration;
};

static void expect_calls(const struct call_row *row, size_t nr, const char *text)
{
	static const struct calls_ops ops = {text_enter, text_leave, text_unmatched};
	struct calls *c = calls_new(&ops, NULL, NULL);

	said_file = open_memstream(&said, &said_bytes);
	for (; nr--; row++) {
		struct record rec = {
			.ts = row->ts,
			.ip = (uint64_t)row->ip,
			.kind = (uint8_t)row->kind,
			.pid = 9,
			.depth = row->depth,
			.duration = row->duration,
			.graph = RECORD_GRAPH_DEPTH,
		};

		assert_int_equal(calls_record(c, &rec), 0);
	}
	calls_finish(c);
	fclose(said_file);
	assert_string_equal(said, text);
	free(said);
	calls_free(c);
}

static void only_children(void *arg, struct call *call, struct call *parent,
			  const struct record *rec)
{
	assert_true(call->flags & CALL_RETURN_ONLY);
	*(uint64_t *)arg = *(uint64_t *)arg * 1000 + call->children;
}

static void test_depths_and_durations(void **state)
{
	static const struct calls_ops children = {.leave = only_children};
	const struct call_row lost[] = {
		/* b's exit is lost, c's entry too; the depth shows it */
		{RECORD_ENTRY, 0, 'a', 10, 0}, {RECORD_ENTRY, 1, 'b', 20, 0},
		{RECORD_ENTRY, 1, 'd', 30, 0}, {RECORD_EXIT, 1, 'd', 40, 10},
		{RECORD_EXIT, 1, 'c', 60, 15}, {RECORD_EXIT, 0, 'a', 70, 60},
	};
	const struct call_row returns[] = {
		{RECORD_EXIT, 2, 'c', 50, 20},
		{RECORD_EXIT, 2, 'c', 80, 25},
		{RECORD_EXIT, 1, 'b', 90, 80},
		{RECORD_EXIT, 0, 'a', 99, 95},
	};
	struct calls *c;
	uint64_t sum = 0;

	expect_calls(lost, 6, "a\n b\n /b no exit 0\n d\n /d 10\n c\n /c 15\n/a 60\n");
	expect_calls(returns, 4, "  c\n  /c 20\n  c\n  /c 25\n b\n /b 80\na\n/a 95\n");
	c = calls_new(&children, &sum, NULL);
	for (int i = 0; i < 4; i++) {
		struct record rec = {
			.ts = returns[i].ts,
			.ip = 1,
			.kind = RECORD_EXIT,
			.depth = returns[i].depth,
			.duration = returns[i].duration,
			.graph = RECORD_GRAPH_DEPTH | RECORD_GRAPH_ALONE,
		};

		calls_record(c, &rec);
	}
	assert_int_equal(sum, 45080); /* 0, 0, 20 + 25, 80 */
	calls_free(c);
}

/* Deeper than is kept: what is around it stays right. */
static void test_depth(void **state)
{
	struct calls_limits limits = {.max_depth = 10};
	struct balance b = {0};
	struct calls *c = calls_new(&balance_ops, &b, &limits);
	struct record rec = {.pid = 5};

	for (int i = 0; i < 1000; i++) {
		rec.kind = RECORD_ENTRY;
		rec.ip = 1 + (uint64_t)i % 3;
		rec.ts++;
		assert_int_equal(calls_record(c, &rec), 0);
	}
	assert_int_equal(b.entered, 10);
	assert_int_equal(calls_too_deep(c), 990);
	rec.kind = RECORD_UNWOUND;
	rec.ip = 400;
	calls_record(c, &rec);
	for (int i = 600; i-- > 0;) {
		rec.kind = RECORD_EXIT;
		rec.ip = 1 + (uint64_t)i % 3;
		rec.ts++;
		assert_int_equal(b.left, i < 10 ? 9 - i : 0);
		assert_int_equal(calls_record(c, &rec), 0);
	}
	assert_int_equal(b.left, 10);
	assert_int_equal(b.unmatched, 0);
	calls_free(c);
}

/* A row of jumps that never ends does not nest without end. */
static void test_jumps(void **state)
{
	struct balance b = {0};
	struct calls *c = calls_new(&balance_ops, &b, NULL);
	struct record rec = {.pid = 5, .kind = RECORD_ENTRY, .ip = 9};

	calls_record(c, &rec);
	for (int i = 0; i < 100000; i++) {
		rec.kind = RECORD_TAIL;
		rec.ts++;
		calls_record(c, &rec);
		assert_true(b.entered - b.left <= 65);
	}
	rec.kind = RECORD_EXIT;
	calls_record(c, &rec);
	assert_int_equal(b.entered, b.left);
	assert_int_equal(b.entered, 100001);
	calls_free(c);
}

/* Images 0 and 1 are of one process, 2 is of another. */
static uint64_t key_of_image(struct reader *r, uint32_t process, bool *ended)
{
	(void)r;
	*ended = process == 2;
	return process == 2 ? 7 : 5;
}

static void test_exec(void **state)
{
	static const struct reader_ops keys = {.process_key = key_of_image};
	static const struct calls_ops ops = {text_enter, text_leave, text_unmatched};
	/* the other process has threads of the same numbers, in a namespace of its own */
	static const struct record rec[] = {
		{.kind = RECORD_ENTRY, .ip = 'a', .pid = 7, .ts = 10},
		{.kind = RECORD_ENTRY, .ip = 'b', .pid = 7, .ts = 20},
		{.kind = RECORD_ENTRY, .ip = 't', .pid = 8, .ts = 25},
		{.kind = RECORD_ENTRY, .ip = 'x', .pid = 7, .ts = 30, .process = 2},
		/* its last record is no call's */
		{.kind = RECORD_EVENT, .pid = 8, .ts = 40},
		{.kind = RECORD_ENTRY, .ip = 'y', .pid = 7, .ts = 50, .process = 2},
		/* the first one of the image behind it, neither */
		{.kind = RECORD_EVENT, .pid = 7, .ts = 90, .process = 1},
		{.kind = RECORD_ENTRY, .ip = 'c', .pid = 7, .ts = 100, .process = 1},
		{.kind = RECORD_EXIT, .ip = 'y', .pid = 7, .ts = 110, .process = 2},
		{.kind = RECORD_EXIT, .ip = 'c', .pid = 7, .ts = 120, .process = 1},
		/* which ends */
		{.kind = RECORD_EXIT, .ip = 'x', .pid = 7, .ts = 130, .process = 2},
		{.kind = RECORD_ENTRY, .ip = 'k', .pid = 7, .ts = 140, .process = 2},
		{.kind = RECORD_EVENT, .pid = 9, .ts = 145, .process = 2},
		{.kind = RECORD_ENTRY, .ip = 'd', .pid = 7, .ts = 150, .process = 1},
		{.kind = RECORD_EVENT, .pid = 7, .ts = 170, .process = 1},
	};
	struct reader r = {.ops = &keys};
	struct calls *c = calls_new(&ops, NULL, NULL);

	said_file = open_memstream(&said, &said_bytes);
	calls_use(c, &r);
	for (size_t i = 0; i < sizeof(rec) / sizeof(*rec); i++)
		assert_int_equal(calls_record(c, &rec[i]), 0);
	calls_finish(c);
	fclose(said_file);
	assert_string_equal(said,
			    "a\n b\nt\nx\n y\n"
			    "/t unfinished 15\n /b unfinished 20\n/a unfinished 30\n"
			    "c\n /y 60\n/c 20\n/x 100\nk\nd\n/k unfinished 5\n/d unfinished 20\n");
	free(said);
	calls_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),   cmocka_unit_test(test_random),
		cmocka_unit_test(test_losses), cmocka_unit_test(test_depths_and_durations),
		cmocka_unit_test(test_depth),  cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
