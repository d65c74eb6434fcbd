/* SPDX-License-Identifier: MIT */
/*
 * The function profiler's counts in an area (struct area_profile), as they are at the moment of the
 * read: a row that changes meanwhile may have its hits newer than its times. Nothing in the area is
 * believed. Any thread.
 */
#ifndef VESTIGE_TOOLS_PROFILE_ROWS_H
#define VESTIGE_TOOLS_PROFILE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/area.h"

struct profile_rows {
	bool on;
	uint64_t since;	 /* when it was last switched on, in the area's clock; 0: never */
	uint64_t missed; /* calls that no row counts */
	uint32_t nr, nr_times;
	struct area_profile *rows; /* of each function and CPU; rows without kind among them */
	struct area_times *times;  /* a row's times[octave] - 1, where that is below nr_times */
};

/*
 * profile_rows_read() - read all rows. @fd: the area, which may grow meanwhile. @what: names it in
 * errors. @out: on success to be freed with profile_rows_free(); without rows where the engine is
 * older than these tables. Return: 0 or -errno with fail() set.
 */
int profile_rows_read(int fd, const char *what, struct profile_rows *out);
void profile_rows_free(struct profile_rows *p);

/* The octave and bucket of a time, and a bucket's time: its middle. In ns. */
unsigned int profile_bucket(uint64_t ns, unsigned int *octave);
double profile_bucket_ns(unsigned int octave, unsigned int bucket);

#endif
