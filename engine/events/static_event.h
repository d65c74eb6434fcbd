/* SPDX-License-Identifier: MIT */
/* Events that programs define with TRACE_EVENT(). Under the tree's lock. */
#ifndef VESTIGE_EVENTS_STATIC_EVENT_H
#define VESTIGE_EVENTS_STATIC_EVENT_H

#include "engine/core/object.h"
#include "vestige/tracepoint.h"

/* An object defines an event: its name in another object too means the same event, or is refused. */
void static_event_add(struct vestige_event *def, const struct object *o);

/* What the object defined is gone. Nothing of the object is touched. */
void static_events_forget(const struct object *o);

#endif
