/* SPDX-License-Identifier: MIT */
/*
 * All CPUs of a reader as one stream in order of time, as merge.h has it, but by runs: the records
 * of one CPU that come before any other CPU's. The cost of merging is then paid once a run, and a
 * reader that has columns (struct run) need not make records of them.
 */
#ifndef VESTIGE_TOOLS_RUNS_H
#define VESTIGE_TOOLS_RUNS_H

#include "tools/reader/reader.h"

struct runs;

/* Nothing is read yet. NULL and errno if memory is short. @r must outlive it. */
struct runs *runs_new(struct reader *r);
void runs_free(struct runs *s);

/* Leave out the records of @cpu; before the first runs_next(). */
void runs_skip_cpu(struct runs *s, unsigned int cpu);

/*
 * runs_next() - the next run, of records at the same time the one of the lowest CPU first.
 * @run: is borrowed until the next call.
 * Return: 1, 0 at the end, -errno with fail() set.
 */
int runs_next(struct runs *s, struct run *run);

/*
 * runs_peek() - the record that comes next on the CPU of the run that runs_next() gave last. What
 * that lends may be gone afterwards.
 * @next: set to it; what it lends is borrowed until the next call of either.
 * Return: 1; 0 when the CPU has no more, -errno with fail() set.
 */
int runs_peek(struct runs *s, struct record *next);

/* After the end: @r has more records, the reader so far or one with as many CPUs; go on with them. */
void runs_go_on(struct runs *s, struct reader *r);

/* Record @i of a run by columns; it has the losses if it is the first. */
static inline struct record run_plain(const struct run *run, unsigned int i)
{
	uint32_t id = RECORD_RUN_ID(run->words[i]);
	struct record rec = run->head;

	rec.kind = (uint8_t)RECORD_RUN_KIND(run->words[i]);
	rec.ip = rec.kind <= RECORD_EXIT ? run->functions[id] : id;
	rec.ts = run->ts[i];
	rec.lost = i ? 0 : rec.lost;
	return rec;
}

/* The first record of a run. */
static inline struct record run_record(const struct run *run)
{
	return run->recs ? *run->recs : run_plain(run, 0);
}

/* The time of a run's record @i. */
static inline uint64_t run_ts(const struct run *run, unsigned int i)
{
	return run->recs ? run->recs[i].ts : run->ts[i];
}

#endif
