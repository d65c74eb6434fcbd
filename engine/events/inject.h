/* SPDX-License-Identifier: MIT */
/* events/SYSTEM/NAME/inject: a write makes a record of the event with the fields that it names. */
#ifndef VESTIGE_EVENTS_INJECT_H
#define VESTIGE_EVENTS_INJECT_H

#include "engine/events/event.h"

/*
 * event_inject() - make a record. @text: @n bytes, `FIELD=NUMBER FIELD="TEXT" ...`; other fields
 * are 0 or "". Under the tree lock. Return: 0; -ENOENT: there is no such field; -EINVAL; -E2BIG:
 * the texts do not fit into a record; -ENOMEM, -ENOSPC.
 */
int event_inject(struct event *e, struct trace_array *tr, const char *text, size_t n);

#endif
