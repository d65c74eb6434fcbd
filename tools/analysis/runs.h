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

/* The time of a run's record @i. */
static inline uint64_t run_ts(const struct run *run, unsigned int i)
{
	return run->recs ? run->recs[i].ts : run->ts[i];
}

#endif
