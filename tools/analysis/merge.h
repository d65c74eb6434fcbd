/* SPDX-License-Identifier: MIT */
/* All CPUs of a reader as one stream in order of time, the lower CPU first on ties. */
#ifndef VESTIGE_TOOLS_MERGE_H
#define VESTIGE_TOOLS_MERGE_H

#include "tools/reader/reader.h"

struct merge;

/* NULL and errno if memory is short. @r is borrowed; nothing else may read it in the meantime. */
struct merge *merge_new(struct reader *r);
void merge_free(struct merge *m);

/* Leave a CPU out. Before the first merge_next(). */
void merge_skip_cpu(struct merge *m, unsigned int cpu);

/*
 * merge_next() - the next record of all CPUs.
 * Return: 1 and *@rec, borrowed until the next call; 0 at the end; -errno with fail() set.
 */
int merge_next(struct merge *m, const struct record **rec);

/* After the end: the reader has more records; go on with them. */
void merge_again(struct merge *m);
/* The same with a new reader @r, which has as many CPUs. */
void merge_go_on(struct merge *m, struct reader *r);

/* The number of records of a CPU that merge_next() has handed out. */
uint64_t merge_nr_taken(const struct merge *m, unsigned int cpu);

#endif
