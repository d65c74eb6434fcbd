/* SPDX-License-Identifier: MIT */
/*
 * Joins the formats and the names of tasks of two readers, for one trace.dat with the records of
 * both: the kernel's and a program's, or two instances'.
 */
#ifndef VESTIGE_TOOLS_DAT_SECOND_H
#define VESTIGE_TOOLS_DAT_SECOND_H

#include "tools/reader/formats.h"
#include "tools/reader/reader.h"

struct dat_second {
	struct reader *r, *second;
	const struct formats *own; /* r's formats before it was joined */
	struct formats both;
	uint16_t shift;		/* ids of the second's events are increased by this, ... */
	bool is_shifted[65536]; /* ... if this is set, by id */
};

/*
 * dat_second_join() - let @r have the formats of both readers, and also the names of the second's
 * tasks; @r keeps its own. Both readers are borrowed until dat_second_leave().
 * Return: the joined pair, freed with dat_second_leave(); NULL with fail() set.
 */
struct dat_second *dat_second_join(struct reader *r, struct reader *second);

/* Whether any id of the second's events changes. */
bool dat_second_shifts(const struct dat_second *s);

/* Set the event ids of @nr records of the second reader to the ids in the file. */
void dat_second_shift(const struct dat_second *s, struct record *rec, unsigned int nr);

/* Give r its own formats again, and free @s. r keeps the names of tasks. NULL: does nothing. */
void dat_second_leave(struct dat_second *s);

#endif
