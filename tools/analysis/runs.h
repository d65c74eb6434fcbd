/* SPDX-License-Identifier: MIT */
/*
 * All CPUs of a reader as one stream in order of time, as in merge.h, but by runs. A run is the
 * records of one CPU that come before the next record of any other CPU. Merging then costs once a
 * run, and a reader with columns (struct run) need not make a struct record for each record.
 */
#ifndef VESTIGE_TOOLS_RUNS_H
#define VESTIGE_TOOLS_RUNS_H

#include "tools/reader/reader.h"

struct runs;

/*
 * A stream of which nothing is read yet. NULL and errno: memory is short. @r is borrowed until
 * runs_free().
 */
struct runs *runs_new(struct reader *r);
void runs_free(struct runs *s);

/* Leave out the records of @cpu; before the first runs_next(). */
void runs_skip_cpu(struct runs *s, unsigned int cpu);

/*
 * runs_next() - the next run; at equal times the lower CPU comes first.
 * @run: gets it; its memory is borrowed until the next call.
 * Return: 1, 0 at the end, -errno with fail() set.
 */
int runs_next(struct runs *s, struct run *run);

/*
 * runs_peek() - the next record of the CPU of the last run that runs_next() gave. The memory of
 * that run may be freed by this call.
 * @next: gets the record; its memory is borrowed until the next call of either function.
 * Return: 1; 0 when the CPU has no more, -errno with fail() set.
 */
int runs_peek(struct runs *s, struct record *next);

/*
 * After the end: go on with the records of @r, the same reader with more records or a new one with
 * as many CPUs.
 */
void runs_go_on(struct runs *s, struct reader *r);

/* Record @i of a run by columns; the first record has the run's lost records. */
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
