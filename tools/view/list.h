/* SPDX-License-Identifier: MIT */
/*
 * The list of a recording: all its events and calls in order of their beginning. Of what begins at
 * once the events come first, then the calls by their tracks and depths. Entries count from 0.
 *
 * There is no table of them: the number of an entry is how many begin before it, which is found by
 * halving in each row.
 */
#ifndef VESTIGE_TOOLS_LIST_H
#define VESTIGE_TOOLS_LIST_H

#include "tools/view/columns.h"

struct list_entry {
	uint64_t start, length; /* ns of the trace's clock; length 0 of an event */
	uint32_t name;
	bool is_event;
	uint32_t track, row; /* of a call */
	size_t nr;	     /* of a call in its row, of an event in columns.events */
};

struct list;

/* A list of @c, which is borrowed. NULL with fail() set when memory is short. */
struct list *list_new(const struct columns *c);
void list_free(struct list *l);

uint64_t list_length(const struct columns *c);
/* How many entries begin before @ts. */
uint64_t list_number(const struct list *l, uint64_t ts);

/* Go to entry number @at; list_next() gives it, then those behind it. */
void list_seek(struct list *l, uint64_t at);
/* Return: false at the end. */
bool list_next(struct list *l, struct list_entry *e);

#endif
