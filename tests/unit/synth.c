/* SPDX-License-Identifier: MIT */
/* See synth.h. */
#include "synth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"

#define MAIN_BASE UINT64_C(0x100000000000)
#define FOO_BASE  UINT64_C(0x100100000000)

#define COLUMN_CPUS	 8
#define COLUMN_RECORDS	 100
#define COLUMN_FUNCTIONS 1000

struct columns {
	uint64_t functions[COLUMN_FUNCTIONS];
	uint32_t nr_functions;
	uint64_t ts[COLUMN_CPUS][COLUMN_RECORDS];
	uint32_t words[COLUMN_CPUS][COLUMN_RECORDS];
};

struct synth {
	struct reader head;
	uint64_t nr_records, fail_after;
	uint64_t *at;
	void (*make)(struct record *rec, unsigned int cpu, uint64_t i);
	const struct record *const *list; /* NULL: make() */
	const uint64_t *nr_list;
	struct columns *columns; /* NULL: none are asked for */
};

static int synth_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	struct synth *s = (struct synth *)r;
	unsigned int n;

	if (s->list) {
		for (n = 0; n < max && s->at[cpu] < s->nr_list[cpu]; n++)
			out[n] = s->list[cpu][s->at[cpu]++];
		return (int)n;
	}
	for (n = 0; n < max && s->at[cpu] < s->nr_records; n++) {
		if (s->at[cpu] == s->fail_after)
			return n ? (int)n : fail(EIO, "the source fails as the test wants");
		memset(&out[n], 0, sizeof(out[n]));
		s->make(&out[n], cpu, s->at[cpu]++);
		out[n].cpu = (uint16_t)cpu;
	}
	return (int)n;
}

static void synth_close(struct reader *r)
{
	struct synth *s = (struct synth *)r;

	symbols_free(r->symbols);
	tasks_free(r->tasks);
	free(((struct synth *)r)->columns);
	free(r->stats);
	free(s->at);
	free(s);
}

static int synth_again(struct reader *r)
{
	synth_rewind(r);
	return 0;
}

/* The number of @ip among the functions so far. */
static uint32_t column_id(struct columns *c, uint64_t ip)
{
	uint32_t i = 0;

	while (i < c->nr_functions && c->functions[i] != ip)
		i++;
	if (i == COLUMN_FUNCTIONS)
		abort();
	c->functions[i] = ip;
	c->nr_functions += i == c->nr_functions;
	return i;
}

/* As many records as one thread has made without a loss between them, at most COLUMN_RECORDS. */
static int synth_read_run(struct reader *r, unsigned int cpu, struct run *run)
{
	struct synth *s = (struct synth *)r;
	struct columns *c = s->columns;
	const struct record *rec = &s->list[cpu][s->at[cpu]];
	uint64_t left = s->nr_list[cpu] - s->at[cpu];
	unsigned int n = 0;

	for (; n < left && n < COLUMN_RECORDS; n++) {
		uint32_t id = (uint32_t)rec[n].ip;

		if (n && (rec[n].pid != rec->pid || rec[n].process != rec->process ||
			  rec[n].task != rec->task || rec[n].lost))
			break;
		if (rec[n].kind <= RECORD_EXIT)
			id = column_id(c, rec[n].ip);
		c->ts[cpu][n] = rec[n].ts;
		c->words[cpu][n] = (uint32_t)rec[n].kind << (RECORD_KIND_SHIFT - 32) | id;
	}
	if (!n)
		return 0;
	s->at[cpu] += n;
	*run = (struct run){.nr = n,
			    .ts = c->ts[cpu],
			    .words = c->words[cpu],
			    .functions = c->functions,
			    .head = *rec};
	return 1;
}

static const struct reader_ops columns_ops = {.read = synth_read,
					      .close = synth_close,
					      .rewind = synth_again,
					      .read_run = synth_read_run};

void synth_columns(struct reader *r)
{
	struct synth *s = (struct synth *)r;

	s->columns = calloc(1, sizeof(*s->columns));
	if (!s->columns || r->nr_cpus > COLUMN_CPUS)
		abort();
	r->ops = &columns_ops;
}

static const struct reader_ops synth_ops = {
	.read = synth_read, .close = synth_close, .rewind = synth_again};

uint64_t synth_addr(unsigned int n)
{
	return (n % 2 ? FOO_BASE : MAIN_BASE) + 0x1000 + n * UINT64_C(64);
}

const char *synth_name(unsigned int n)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s_%u", n % 2 ? "foo" : "work", n);
	return name;
}

void synth_function(struct record *rec, unsigned int cpu, uint64_t i)
{
	uint64_t mix = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	rec->ts = UINT64_C(1000000000000) + i * 178 + (mix & 127) + i / 5000 * 200000000;
	rec->kind = RECORD_FUNCTION;
	rec->ip = synth_addr((unsigned int)(mix >> 7) % SYNTH_FUNCTIONS);
	rec->parent_ip = synth_addr((unsigned int)(mix >> 17) % SYNTH_FUNCTIONS) + 17;
	rec->pid = SYNTH_PID + (int32_t)((i / 700 + cpu) % SYNTH_TASKS);
}

void synth_function_lost(struct record *rec, unsigned int cpu, uint64_t i)
{
	synth_function(rec, cpu, i);
	if (i % 1000 == 0)
		rec->lost = i / 1000 + 7;
}

struct reader *synth_new(unsigned int nr_cpus, uint64_t nr_records,
			 void (*make)(struct record *rec, unsigned int cpu, uint64_t i))
{
	struct synth *s = calloc(1, sizeof(*s));
	char comm[16];
	unsigned int i;

	if (!s)
		abort();
	s->head = (struct reader){
		.ops = &synth_ops,
		.nr_cpus = nr_cpus,
		.nr_cpus_online = nr_cpus,
		.ts_is_ns = true,
		.clock = "local",
		.tracer = "function",
		.uname = "Linux host 6.1.0 x86_64",
		.symbols = symbols_new(),
		.tasks = tasks_new(),
		.stats = calloc(nr_cpus + 1u, sizeof(struct reader_cpu_stats)),
	};
	s->nr_records = nr_records;
	s->fail_after = UINT64_MAX;
	s->make = make ? make : synth_function;
	s->at = calloc(nr_cpus + 1u, sizeof(*s->at));
	if (!s->head.symbols || !s->head.tasks || !s->head.stats || !s->at)
		abort();
	for (i = 0; i < SYNTH_FUNCTIONS; i++)
		symbols_add(s->head.symbols, synth_addr(i), i % 2 ? 't' : 'T', synth_name(i),
			    i % 2 ? "libfoo.so" : NULL);
	for (i = 0; i < SYNTH_TASKS; i++) {
		snprintf(comm, sizeof(comm), "worker %u", i);
		tasks_set(s->head.tasks, SYNTH_PID + (int32_t)i, SYNTH_PID, comm);
	}
	for (i = 0; i < nr_cpus; i++) {
		s->head.stats[i].entries = nr_records;
		s->head.stats[i].bytes = nr_records * 16;
		s->head.stats[i].oldest_ts = UINT64_C(1000000000999);
		s->head.stats[i].now_ts = UINT64_C(2000000123456);
		s->head.stats[i].dropped_events = i;
		s->head.stats[i].read_events = i * 2;
	}
	return &s->head;
}

struct reader *synth_new_list(unsigned int nr_cpus, const struct record *const *list,
			      const uint64_t *nr)
{
	struct reader *r = synth_new(nr_cpus, 0, NULL);
	struct synth *s = (struct synth *)r;
	unsigned int cpu;

	s->list = list;
	s->nr_list = nr;
	strcpy(r->tracer, "function_graph");
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		r->stats[cpu].entries = nr[cpu];
		for (uint64_t i = 0; i < nr[cpu] && !r->graph; i++)
			r->graph = list[cpu][i].kind >= RECORD_ENTRY &&
				   list[cpu][i].kind <= RECORD_STACK;
	}
	return r;
}

void synth_rewind(struct reader *r)
{
	memset(((struct synth *)r)->at, 0, r->nr_cpus * sizeof(uint64_t));
}

void synth_fail_after(struct reader *r, uint64_t nr_records)
{
	((struct synth *)r)->fail_after = nr_records;
}
