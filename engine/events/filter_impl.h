/* SPDX-License-Identifier: MIT */
/* What filter.c (the parser) and filter_match.c (the program) share. Nobody else includes it. */
#ifndef VESTIGE_EVENTS_FILTER_IMPL_H
#define VESTIGE_EVENTS_FILTER_IMPL_H

#include "engine/events/filter.h"

#define FILTER_TRUE	  UINT16_MAX
#define FILTER_FALSE	  (UINT16_MAX - 1)
#define FILTER_MAX_PREDS  2048u
#define FILTER_MAX_STRING 256u

enum filter_op { OP_GLOB, OP_EQ, OP_NE, OP_LE, OP_LT, OP_GE, OP_GT, OP_AND };

/* Where the left side comes from. */
enum filter_from {
	FROM_NUMBER,  /* a field */
	FROM_STATIC,  /* char[N] */
	FROM_DYN,     /* __data_loc */
	FROM_RDYN,    /* __rel_loc */
	FROM_PTR,     /* a pointer to text of the program */
	FROM_COMM,    /* the thread's name */
	FROM_CPU,     /* where it runs */
	FROM_PID,     /* its id */
	FROM_VALUE,   /* one value for all records of the event */
	FROM_CPUMASK, /* __data_loc cpumask_t */
};

struct filter_pred {
	uint16_t on_true, on_false; /* where to go on, or FILTER_TRUE, FILTER_FALSE */
	uint8_t from;
	uint8_t op;
	uint8_t is_signed;
	uint8_t reserved;
	uint32_t offset, size; /* of the field */
	uint64_t value;	       /* right side; FROM_VALUE: the left one is `left` */
	uint64_t left;
	const char *string; /* NUL-terminated, of string_bytes */
	uint32_t string_bytes;
	uint64_t *cpus; /* CPUS{}: a bit each; NULL none */
	uint32_t nr_cpus;
};

struct event_filter {
	char *text;
	uint32_t nr;
	uint32_t first; /* where the program begins */
	struct filter_pred preds[];
};

#endif
