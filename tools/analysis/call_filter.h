/* SPDX-License-Identifier: MIT */
/*
 * The calls that a view shows: under a function, not under one, up to a depth, of at least a
 * duration, in a range of time, of some threads. Also numbers the functions; views count by these
 * numbers.
 *
 * A filter keeps its state of an open call in the upper half of struct call's data. The lower half
 * belongs to the view. Functions are found by address. Their names, which are matched against the
 * patterns, are looked up once. Costs 3 to 5 ns a call.
 * Tests: tests/unit/test_call_tree.c.
 */
#ifndef VESTIGE_TOOLS_CALL_FILTER_H
#define VESTIGE_TOOLS_CALL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/analysis/calls.h"
#include "tools/reader/reader.h"

#define CALL_FILTER_MAX 256

/* The filters; all zero: everything. Strings are borrowed. */
struct call_wish {
	const char *under[CALL_FILTER_MAX]; /* globs of names: only these and what they call */
	const char *not_under[CALL_FILTER_MAX];
	unsigned int nr_under, nr_not_under;
	uint32_t max_depth; /* levels, from the outermost shown call as the first; 0 all */
	uint64_t min_ns;    /* only calls of at least this duration */
	uint64_t from, to;  /* only calls that began at or after, and before; to 0: no end */
	int32_t tids[CALL_FILTER_MAX];
	unsigned int nr_tids; /* 0: all threads */
};

struct call_function {
	uint64_t ip;
	const char *name;   /* NULL: no symbol */
	const char *module; /* NULL: the main program */
	uint8_t matched;    /* enum matched: the lists of call_wish that match its name */
};

struct call_filter;

/* In struct call's data. */
#define CALL_FILTER_SHOWN (UINT64_C(1) << 32)

/*
 * call_filter_new() - a filter of @r's calls. @wish: borrowed; `from` and `to` may be changed until
 * the first call. Return: NULL with fail() set when memory is short.
 */
struct call_filter *call_filter_new(struct reader *r, const struct call_wish *wish);
void call_filter_free(struct call_filter *f);

/*
 * call_filter_enter() - to be called first in calls_ops.enter, for every call.
 * @function: gets the function's number. Return: 1: the call is shown, unless it turns out to be
 * too short; 0: it is not; -ENOMEM with fail() set.
 */
int call_filter_enter(struct call_filter *f, struct call *call, const struct call *parent,
		      uint32_t *function);

/* In calls_ops.leave: was it shown, and is it long enough? */
bool call_filter_leave(const struct call_filter *f, const struct call *call);

/* Does @rec belong to a thread and time that are shown? The calls around it are not checked. */
bool call_filter_record(const struct call_filter *f, const struct record *rec);

/* Is an exit without an entry shown? */
bool call_filter_unmatched(const struct call_filter *f, const struct record *rec);

/* Did call_filter_enter() return 1 for @call? */
static inline bool call_filter_shown(const struct call *call)
{
	return call->data & CALL_FILTER_SHOWN;
}

/* The level at which a call is shown: 0 the outermost. */
static inline uint32_t call_filter_level(const struct call *call)
{
	return (uint32_t)(call->data >> 36);
}

/* The function numbered @i, below call_filter_nr(). Borrowed until the next call_filter_enter(). */
const struct call_function *call_filter_function(const struct call_filter *f, uint32_t i);
uint32_t call_filter_nr(const struct call_filter *f);

/* *@function: gets the number of the function at @ip. Return: 0 or -ENOMEM with fail() set. */
int call_filter_number(struct call_filter *f, uint64_t ip, uint32_t *function);

/* Does @pattern (fnmatch()) match the function's name, demangled or as in its object? */
bool call_name_matches(struct reader *r, uint64_t ip, const char *pattern);

#endif
