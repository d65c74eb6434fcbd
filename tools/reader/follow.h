/* SPDX-License-Identifier: MIT */
/*
 * Reading and consuming the buffer of a live (or dead) process as trace_pipe does: in turns, each of
 * which gives the records that are there and were not taken.
 *
 *	follow_turn(f, cpus)	the reader has what is there now
 *	reader_read() ...	(merge_again() and its like go on with them)
 *	follow_take(f, ...)	so many of them are used: nobody reads those again
 *
 * A record that has not been written yet but is older than one of this turn comes in a later one.
 */
#ifndef VESTIGE_TOOLS_FOLLOW_H
#define VESTIGE_TOOLS_FOLLOW_H

#include <stdbool.h>

#include "tools/reader/reader.h"

struct follow;

/* @path: of the area. @names: its symbols are wanted. Return: 0 or -errno with fail() set, as reader_open_area(). */
int follow_open(const char *path, bool names, struct follow **out);
void follow_close(struct follow *f);

/* Its reader: another one after follow_renew(). Owned by @f. */
struct reader *follow_reader(struct follow *f);

/*
 * follow_turn() - look for records.
 * @cpus: those wanted; NULL all. @dead: nobody writes any more, so what looks unfinished stays so.
 * Return: 0 there are none; 1 there are some; -ESTALE the reader does not do any more (objects were
 * loaded, another tracer records): let go what borrows of it and follow_renew(); -errno with fail() set.
 */
int follow_turn(struct follow *f, const bool *cpus, bool dead);

/* Make the reader anew. Return: 0 or -errno with fail() set, after which there is none. */
int follow_renew(struct follow *f);

/* The first @n records of @cpu that were read since the last turn are taken, all together. */
void follow_take(struct follow *f, unsigned int cpu, uint64_t n);

/* Is there anything that was not taken? Cheaper than a turn. */
bool follow_any(struct follow *f, const bool *cpus);

/* Does the process record (tracing_on)? */
bool follow_tracing_on(const struct follow *f);

#endif
