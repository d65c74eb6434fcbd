/* SPDX-License-Identifier: MIT */
/* Walk the calls of a track in a range of time: enter and leave of each, nested as they were. */
#ifndef VESTIGE_TOOLS_SPAN_WALK_H
#define VESTIGE_TOOLS_SPAN_WALK_H

#include "tools/view/columns.h"

struct walk_call {
	uint32_t name;
	uint32_t row;
	size_t nr;	  /* its number in the row */
	uint64_t start;	  /* ns; start of its part in the range */
	uint64_t length;  /* ns; length of its part in the range */
	uint64_t beneath; /* ns of @length in calls that it made; set for leave() only */
};

struct walk_ops {
	void (*enter)(void *arg, const struct walk_call *call);
	/* In the order in which calls end: callees before their caller. */
	void (*leave)(void *arg, const struct walk_call *call);
};

/*
 * walk_calls() - call @ops for each call of @t (TRACK_CALLS) that overlaps [@from, @to), cut to
 * that range. A call whose caller is not in the recording is walked as an outermost one.
 * Return: 0 or -ENOMEM with fail() set.
 */
int walk_calls(const struct track *t, uint64_t from, uint64_t to, const struct walk_ops *ops,
	       void *arg);

#endif
