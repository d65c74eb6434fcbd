/* SPDX-License-Identifier: MIT */
/*
 * How often functions were called and events happened in targets, and the times of the calls: now
 * and one turn before. No record is made for this: the function profiler counts functions, a hist
 * trigger counts events. One thread.
 */
#ifndef VESTIGE_TOOLS_COUNTS_H
#define VESTIGE_TOOLS_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/area.h"
#include "tools/base/hash_index.h"

struct image;
struct target;

/* Times in ns. Without has_times (the kernel's functions, events) some are always 0. */
struct count_set {
	uint64_t hits, time_ns, self_ns, max_ns;
	uint64_t *times[AREA_TIMES_OCTAVES]; /* AREA_TIMES_BUCKETS each; NULL: all 0 */
};

struct count {
	const char *name;
	const char
		*object; /* the base name of its file; "" of events and of the kernel's functions */
	bool is_event;
	bool has_times; /* there are self times and buckets */
	struct count_set now, before;
};

struct counts {
	struct count **at;
	unsigned int nr;
	uint64_t missed; /* calls that were not counted, as the area had no room; of all areas */

	/* counts.c's: */
	unsigned int room;
	struct hash_index index; /* by name and object */
	struct counts_area *areas;
};

/* An empty one; NULL with fail() set: no memory. */
struct counts *counts_new(void);
void counts_free(struct counts *c);

/* counts_turn() - begin a turn: `now` is moved to `before`, and is 0. */
void counts_turn(struct counts *c);

/* counts_row() - the row of that name, made if need be. Return: NULL with fail() set: no memory. */
struct count *counts_row(struct counts *c, const char *name, const char *object, bool is_event);

/*
 * counts_area() - add the functions of a process. @fd: of its area. Return: 0 or -errno with fail()
 * set. counts_stat_text() - add a text in the form of the kernel's trace_stat/functionN.
 */
int counts_area(struct counts *c, const struct image *image, int fd);
int counts_stat_text(struct counts *c, char *text);

/*
 * count_delta() - the increase in the last turn. count_time() - the percentile @p (0 to 1) of the
 * times of the last turn's calls, in ns; -1: there was no call, or the times are not known.
 */
uint64_t count_delta(uint64_t now, uint64_t before);
double count_time(const struct count *row, double p);

#endif
