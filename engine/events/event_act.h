/* SPDX-License-Identifier: MIT */
/*
 * Filters and triggers, which act on an event's records before they are in the ring. Under the tree
 * lock, except event_act().
 */
#ifndef VESTIGE_EVENTS_EVENT_ACT_H
#define VESTIGE_EVENTS_EVENT_ACT_H

#include "engine/events/event.h"
#include "engine/events/filter/filter.h"

/*
 * For event_file.pub: for records on which a filter or trigger acts, or which belong to an instance
 * other than the top one.
 */
extern const struct vestige_event_ops event_ops_act;

/* For records of the top instance on which only a filter acts. */
extern const struct vestige_event_ops event_ops_filter;

/*
 * event_act() - a record is complete: filter it, run triggers, put it into the ring. @record:
 * @bytes, common fields included. Any context, between ring_enter() and ring_leave().
 */
void event_act(struct event_file *f, const void *record, uint32_t bytes);

/* As event_act(), for a record of the file `inject`, whether the event is on or not. */
void event_act_injected(struct event_file *f, const void *record, uint32_t bytes);

/*
 * event_filter_set() - a write to its filter file. @text: @n bytes, stripped; "0": remove the
 * filter. A wrong filter removes the old one, and its error is shown. Return: 0; -errno with
 * *@error filled in.
 */
int event_filter_set(struct event_file *f, const char *text, size_t n, struct parse_error *error);

/* As event_filter_set(), for all events of a system; events that lack the fields get no filter. */
int event_filter_set_system(struct trace_array *tr, const char *system, const char *text, size_t n,
			    struct parse_error *error);

/* Put the text of its filter file. @f: NULL: it was never used. */
void event_filter_show(const struct event_file *f, struct seq_buf *s);

/* The event or the instance is removed: switch it off, and free its filter and triggers. */
void event_file_clear(struct event_file *f);

#endif
