/* SPDX-License-Identifier: MIT */
/*
 * Reads the function profiler's counts of an area (struct area_profile). In a row that changes
 * during the read the hits may be newer than the times. The area is untrusted. Any thread.
 */
#ifndef VESTIGE_TOOLS_PROFILE_ROWS_H
#define VESTIGE_TOOLS_PROFILE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/area.h"

struct profile_rows {
	bool on;
	uint64_t since;	 /* when it was last switched on, in the area's clock; 0: never */
	uint64_t missed; /* calls that are in no row */
	uint32_t nr, nr_times;
	struct area_profile *rows; /* by function and CPU; rows without a kind are unused */
	struct area_times *times;  /* index: times[octave] of a row, minus 1; check < nr_times */
};

/*
 * profile_rows_read() - read all rows. @fd: the area, which may grow during the read. @what: names
 * it in errors.
 * @out: on success to be freed with profile_rows_free(); without rows if the engine is older than
 * these tables. Return: 0 or -errno with fail() set.
 */
int profile_rows_read(int fd, const char *what, struct profile_rows *out);
void profile_rows_free(struct profile_rows *p);

/* The octave and bucket of a time; the time of a bucket, its middle. In ns. */
unsigned int profile_bucket(uint64_t ns, unsigned int *octave);
double profile_bucket_ns(unsigned int octave, unsigned int bucket);

#endif
