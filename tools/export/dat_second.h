/* SPDX-License-Identifier: MIT */
/* The kernel's records beside a program's in one trace.dat: what both share in it. */
#ifndef VESTIGE_TOOLS_DAT_SECOND_H
#define VESTIGE_TOOLS_DAT_SECOND_H

#include "tools/reader/formats.h"
#include "tools/reader/reader.h"

struct dat_second {
	struct reader *r, *second;
	const struct formats *own; /* of r, before */
	struct formats both;
	uint16_t shift; /* the second's ids of events, but for those of ftrace, are more by this */
	bool is_shifted[65536];
};

/*
 * dat_second_join() - @r has the formats of both and names the second's tasks, too; nothing is
 * taken from it. Return: it, or NULL with fail() set.
 */
struct dat_second *dat_second_join(struct reader *r, struct reader *second);

/* Whether it changes any. */
bool dat_second_shifts(const struct dat_second *s);

/* The ids of @nr records of the second become those of the file. */
void dat_second_shift(const struct dat_second *s, struct record *rec, unsigned int nr);

/* @r is as before, but for the tasks. NULL: nothing. */
void dat_second_leave(struct dat_second *s);

#endif
