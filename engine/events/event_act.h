/* SPDX-License-Identifier: MIT */
/* Filters and triggers, which act on an event's records before they are in the ring. Under the tree
 * lock, except event_act(). */
#ifndef VESTIGE_EVENTS_EVENT_ACT_H
#define VESTIGE_EVENTS_EVENT_ACT_H

#include "engine/events/event.h"
#include "engine/events/filter/filter.h"

/*
 * For event_file.pub: for records that a filter or trigger acts on, or of an instance other than
 * the top one.
 */
extern const struct vestige_event_ops event_ops_act;

/* For records of the top instance on which only a filter acts. */
extern const struct vestige_event_ops event_ops_filter;

/*
 * event_act() - a record is complete: filter it, run triggers, put it into the ring.
 * @record: @bytes from its common fields on. Any context, between ring_enter() and ring_leave().
 */
void event_act(struct event_file *f, const void *record, uint32_t bytes);

/* The same of a record that is made up, whether the event is on or not: the file `inject`. */
void event_act_injected(struct event_file *f, const void *record, uint32_t bytes);

/*
 * event_filter_set() - a write to its filter file. @text: @n bytes, stripped; "0": none from now
 * on. A wrong filter leaves none, and is shown. Return: 0 or -errno and *@error.
 */
int event_filter_set(struct event_file *f, const char *text, size_t n, struct parse_error *error);

/* The same of all events of a system, those that do not have the fields are left without. */
int event_filter_set_system(struct trace_array *tr, const char *system, const char *text, size_t n,
			    struct parse_error *error);

/* The text of its filter file; NULL: it never was used. */
void event_filter_show(const struct event_file *f, struct seq_buf *s);

/* The event or the instance goes: nothing acts any more, and it is off. */
void event_file_clear(struct event_file *f);

#endif
