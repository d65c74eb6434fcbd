/* SPDX-License-Identifier: MIT */
/* Shared by filter.c (the parser), filter_match.c (the program) and event_act.c (which runs it). */
#ifndef VESTIGE_EVENTS_FILTER_FILTER_IMPL_H
#define VESTIGE_EVENTS_FILTER_FILTER_IMPL_H

#include "engine/events/filter/filter.h"
#include "engine/events/filter/filter_chain.h"

#define FILTER_TRUE	  UINT16_MAX
#define FILTER_FALSE	  (UINT16_MAX - 1)
#define FILTER_MAX_PREDS  2048u
#define FILTER_MAX_STRING 256u

enum filter_op { OP_GLOB, OP_EQ, OP_NE, OP_LE, OP_LT, OP_GE, OP_GT, OP_AND };

/* What the left side of a term is. */
enum filter_from {
	FROM_NUMBER,  /* a field that is a number */
	FROM_STATIC,  /* a field char[N] */
	FROM_DYN,     /* a field __data_loc */
	FROM_RDYN,    /* a field __rel_loc */
	FROM_PTR,     /* a field that is a pointer to text of the program */
	FROM_COMM,    /* the thread's name */
	FROM_CPU,     /* the CPU on which the thread runs */
	FROM_PID,     /* the thread's id */
	FROM_FLAGS,   /* common_flags */
	FROM_PREEMPT, /* common_preempt_count */
	FROM_VALUE,   /* one value for all records of the event */
	FROM_CPUMASK, /* __data_loc cpumask_t */
};

/*
 * How a term is tested. A number that is in a range is the usual case, all others are HOW_LONG.
 */
enum filter_how { HOW_LONG, HOW_SIGNED4, HOW_UNSIGNED4, HOW_SIGNED, HOW_UNSIGNED };

/* The part of a term that each match reads. */
struct filter_step {
	uint16_t on_true, on_false; /* the next term, or FILTER_TRUE, FILTER_FALSE */
	uint16_t offset;	    /* of the field */
	uint8_t how;		    /* enum filter_how */
	uint8_t outside;	    /* 1: true if the number is not in the range */
	uint64_t base, span;	    /* the range: base .. base + span, modulo 2^64 */
};

struct filter_pred {
	struct filter_step step;
	uint8_t from;
	uint8_t op;
	uint8_t is_signed;
	uint8_t reserved;
	uint32_t offset, size; /* of the field */
	uint64_t value;	       /* right side; the left one of FROM_VALUE is `left` */
	uint64_t left;
	const char *string; /* NUL-terminated, of string_bytes */
	uint32_t string_bytes;
	uint64_t *cpus; /* CPUS{}: a bit for each CPU; NULL: none */
	uint32_t nr_cpus;
};

struct event_filter {
	struct filter_chain chain; /* the same filter as a chain, if possible */
	char *text;
	struct filter_pred *preds;
	uint32_t nr;
	uint32_t first; /* the first term */
	struct filter_step steps[];
};

/* Run the rest of the program, from term @at on. */
int filter_go_on(const struct event_filter *filter, const void *record, uint32_t at);

/* Fill in filter->chain, if the filter can be one. */
void filter_make_chain(struct event_filter *filter);

static inline int filter_in_range(const struct filter_step *step, uint64_t v)
{
	return (v - step->base <= step->span) != step->outside;
}

/*
 * filter_match() in line, as long as terms are numbers of four bytes. A field is read with the
 * width with which it was written a moment ago: a wider load would have to wait for the store.
 */
static inline int filter_match_soon(const struct event_filter *filter, const void *record)
{
	const uint8_t *bytes = record;
	uint32_t at = filter->first;

	while (at < FILTER_FALSE) {
		const struct filter_step *step = &filter->steps[at];
		const uint8_t *field = bytes + step->offset;
		int is;

		if (step->how == HOW_SIGNED4)
			is = filter_in_range(step, (uint64_t)(int64_t) * (const int32_t *)field);
		else if (step->how == HOW_UNSIGNED4)
			is = filter_in_range(step, *(const uint32_t *)field);
		else
			return filter_go_on(filter, record, at);
		at = is ? step->on_true : step->on_false;
	}
	return at == FILTER_TRUE;
}

#endif
