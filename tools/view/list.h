/* SPDX-License-Identifier: MIT */
/*
 * The list of a recording: all its events and calls in order of their start. At one start, events
 * come first, then calls by track and depth. Entries count from 0.
 *
 * No table of entries exists. The number of an entry is the number of entries that start before it,
 * and a binary search in each row finds that.
 */
#ifndef VESTIGE_TOOLS_LIST_H
#define VESTIGE_TOOLS_LIST_H

#include "tools/view/columns.h"

struct list_entry {
	uint64_t start, length; /* ns of the trace's clock; length 0 of an event */
	uint32_t name;
	bool is_event;
	uint32_t track, row; /* of an event: its thread's track, row 0 */
	uint32_t cpu;	     /* or COLUMNS_NO_CPU */
	size_t nr;	     /* number of a call in its row, of an event in columns.events */
};

struct list;

/* A list of @c, which is borrowed. NULL with fail() set when memory is short. */
struct list *list_new(const struct columns *c);
void list_free(struct list *l);

uint64_t list_length(const struct columns *c);
/* The number of entries that begin before @ts. */
uint64_t list_number(const struct list *l, uint64_t ts);

/* Go to entry number @at. list_next() gives it, then the entries after it. */
void list_seek(struct list *l, uint64_t at);
/* Return: false at the end. */
bool list_next(struct list *l, struct list_entry *e);

#endif
