/* SPDX-License-Identifier: MIT */
/* How often each function was called, and from where. */
#ifndef VESTIGE_TOOLS_PROFILE_H
#define VESTIGE_TOOLS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/reader/reader.h"

struct profile_row {
	uint64_t ip;	     /* the function's entry */
	const char *name;    /* NULL: no symbol */
	const char *module;  /* NULL: the main program */
	uint64_t hits;	     /* calls */
	uint64_t nr_callers; /* distinct calling functions */
};

struct profile_caller {
	const char *name; /* of the calling function; NULL: no symbol */
	const char *module;
	uint64_t addr; /* its entry; without a symbol the return address */
	uint64_t hits;
};

struct profile;

enum profile_sort { PROFILE_BY_HITS, PROFILE_BY_NAME };

/*
 * profile_new() - read all of @r's function records and count them.
 * @cpus: the wanted CPUs, nr_cpus of them; NULL: all.
 * Return: the profile, freed with profile_free(), which borrows names from @r; NULL with fail()
 * set.
 */
struct profile *profile_new(struct reader *r, const bool *cpus);
void profile_free(struct profile *p);

void profile_sort(struct profile *p, enum profile_sort by);

/* The functions that were called, in the order of the last profile_sort(); at first by hits. */
size_t profile_count(const struct profile *p);
const struct profile_row *profile_at(const struct profile *p, size_t i);

/*
 * profile_callers() - the callers of a function, the most frequent first.
 * Return: an array of row->nr_callers, to be freed; NULL if memory is short.
 */
struct profile_caller *profile_callers(const struct profile *p, const struct profile_row *row);

/*
 * The number of calls. The number of lost records, of the buffers that have calls (of all, if none
 * has any), or RECORD_LOST_UNKNOWN.
 */
uint64_t profile_hits(const struct profile *p);
uint64_t profile_lost(const struct profile *p);

#endif
