/* SPDX-License-Identifier: MIT */
/* A trace of include/vestige-trace.h, for the files of tools/api. */
#ifndef VESTIGE_TOOLS_TRACE_IMPL_H
#define VESTIGE_TOOLS_TRACE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/vestige-trace.h"
#include "tools/analysis/open_calls.h"
#include "tools/text/out.h"
#include "tools/text/view.h"

struct follow;
struct image;
struct other_text;
struct srcline;

/* A record or call of the last step that the caller has not got yet. */
struct trace_item {
	uint32_t kind; /* enum vestige_trace_kind */
	bool hidden;   /* not given to the caller; it only updates the open calls */
	bool has_rec;
	uint64_t caller;
	struct call call;  /* ENTER, CALL */
	struct record rec; /* has_rec: borrowed until the next step */
};

struct vestige_trace {
	struct view v;
	int failed; /* -errno that ended the reading, sticky; `why` is its text */
	char why[1024];
	int err; /* of callbacks */
	bool begun, finished;
	uint32_t kinds;
	struct trace_item *items;
	size_t nr_items, room_items, next_item;
	struct open_calls open;
	struct vestige_trace_record record; /* the last one, of `item` */
	struct trace_item *item;	    /* NULL: none */
	struct vestige_trace_info info;
	struct vestige_trace_field field;
	char name[24]; /* of a function without one */
	/* texts: made on first use */
	struct other_text *other;
	struct out out;
	char *text;
	size_t nr_text, room_text;
	struct srcline *lines;
	const char *events[CALL_FILTER_MAX]; /* globs of system:name */
	unsigned int nr_events;
	uint8_t wanted[1u << 16]; /* by event: 0 not known yet, 1 no, 2 yes */
	/* live traces */
	struct image *image;
	struct follow *follow;
	uint64_t nr_before; /* v.nr_records at the begin of the turn */
	bool was_over;	    /* the process had ended before the last turn */
	int timeout_ms;
};

/*
 * In trace_text.c: free the texts, which borrow from the reader. To be called before the reader is
 * freed.
 */
void trace_text_forget(struct vestige_trace *t);

/*
 * As vestige_trace_open_live(). Return: 0 or -errno with fail() set; call trace_live_close() after
 * both.
 */
int trace_live_open(struct vestige_trace *t, int pid);

/*
 * trace_live_turn() - the reader of a live trace is at its end: wait for more records.
 * Return: 1: there are some; 0: no more will come; -errno with fail() set: ETIMEDOUT, EINTR.
 */
int trace_live_turn(struct vestige_trace *t);
void trace_live_close(struct vestige_trace *t);

#endif
