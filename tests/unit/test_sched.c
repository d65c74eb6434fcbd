/* SPDX-License-Identifier: MIT */
/* States of threads, tools/analysis/sched.c, where records of context switches were lost. */
#include "cm.h"

#include <string.h>

#include <traceevent/event-parse.h>

#include "synth.h"
#include "tools/analysis/sched.h"

#define SWITCH 316
#define RUNS   0 /* prev_state: it could go on */
#define SLEEPS 1

static const char format[] = "name: sched_switch\nID: 316\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
			     "\n"
			     "\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
			     "\tfield:int prev_state;\toffset:12;\tsize:4;\tsigned:1;\n"
			     "\tfield:pid_t next_pid;\toffset:16;\tsize:4;\tsigned:1;\n"
			     "\nprint fmt: \"%d\", REC->next_pid\n";

/* A context switch: on a CPU, at a time. */
struct change {
	unsigned int cpu;
	uint64_t ts;
	int32_t prev, state, next;
};

static char text[1024];

static void slice(void *arg, const struct sched_thread *t, enum sched_state next, uint64_t from,
		  uint64_t to)
{
	static const char names[] = "URWB";
	size_t n = strlen(text);

	(void)arg;
	snprintf(text + n, sizeof(text) - n, "%s%d:%c%d-%d%c", n ? " " : "", t->pid,
		 names[t->state], (int)from, (int)to, names[next]);
}

/* The slices of all threads: PID:STATE FROM-TO NEXT_STATE. */
static void check(const struct change *changes, unsigned int nr, const char *expected)
{
	static const struct sched_ops ops = {.slice = slice};
	struct record recs[2][16] = {0};
	int32_t data[2][16][5];
	const struct record *list[] = {recs[0], recs[1]};
	uint64_t nr_list[2] = {0};
	struct reader *r = synth_new_list(2, list, nr_list);
	struct sched *s;

	for (unsigned int i = 0; i < nr; i++) {
		const struct change *c = &changes[i];
		uint64_t at = nr_list[c->cpu]++;
		const int32_t payload[] = {SWITCH, c->prev, c->prev, c->state, c->next};

		memcpy(data[c->cpu][at], payload, sizeof(payload));
		recs[c->cpu][at] = (struct record){.ts = c->ts,
						   .pid = c->prev,
						   .cpu = (uint16_t)c->cpu,
						   .event = SWITCH,
						   .kind = RECORD_EVENT,
						   .data_bytes = sizeof(payload),
						   .data = data[c->cpu][at]};
	}
	r->tep = tep_alloc();
	assert_int_equal(tep_parse_event(r->tep, format, strlen(format), "sched"), 0);
	text[0] = 0;
	s = sched_new(r, &ops, NULL);
	assert_int_equal(sched_run(s), 0);
	assert_string_equal(text, expected);
	sched_free(s);
	tep_free(r->tep);
	reader_close(r);
}

#define CHECK(expected, ...)                                                                       \
	check((const struct change[]){__VA_ARGS__},                                                \
	      sizeof((const struct change[]){__VA_ARGS__}) / sizeof(struct change), expected)

static void nothing_lost(void **state)
{
	(void)state;
	CHECK("7:R10-20B 8:R20-30W 7:B20-40U 8:W30-40U", {0, 10, 0, RUNS, 7}, {0, 20, 7, SLEEPS, 8},
	      {0, 30, 8, RUNS, 0}, {1, 40, 0, RUNS, 0});
}

/* The record at which 7 leaves is not there: it ends when another thread comes. */
static void switch_out_lost(void **state)
{
	(void)state;
	/* the other thread is one of the recording, or the idle task */
	CHECK("7:R10-20U 8:R20-30W 8:W30-40U", {0, 10, 0, RUNS, 7}, {0, 20, 0, RUNS, 8},
	      {0, 30, 8, RUNS, 0}, {0, 40, 0, RUNS, 0});
	CHECK("7:R10-20U 9:B20-40U", {0, 10, 0, RUNS, 7}, {0, 20, 9, SLEEPS, 0},
	      {0, 40, 0, RUNS, 0});
	/* what comes later of it is known again */
	CHECK("7:R10-20U 8:R20-30W 7:R30-40B 7:B40-40U 8:W30-40U", {0, 10, 0, RUNS, 7},
	      {0, 20, 0, RUNS, 8}, {0, 30, 8, RUNS, 7}, {0, 40, 7, SLEEPS, 0});
}

/* It runs on another CPU by now: a switch on the first one does not end that. */
static void other_cpus(void **state)
{
	(void)state;
	CHECK("7:R10-15R 8:R20-30W 7:R15-40U 8:W30-40U", {0, 10, 0, RUNS, 7}, {1, 15, 0, RUNS, 7},
	      {0, 20, 0, RUNS, 8}, {0, 30, 8, RUNS, 0}, {1, 40, 0, RUNS, 0});
}

/* A process's own recording does not have the thread that comes: -1. */
static void unknown_thread(void **state)
{
	(void)state;
	CHECK("7:R10-40U 8:B20-40U", {0, 10, -1, RUNS, 7}, {0, 20, 8, SLEEPS, -1},
	      {1, 40, 0, RUNS, 0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_lost),
		cmocka_unit_test(switch_out_lost),
		cmocka_unit_test(other_cpus),
		cmocka_unit_test(unknown_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
