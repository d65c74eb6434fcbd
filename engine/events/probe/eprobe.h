/* SPDX-License-Identifier: MIT */
/*
 * Event probes: `e[:[GRP/][EV]] SYSTEM.EVENT [ARGS] [if FILTER]`: an event that is made from the
 * fields of another event, or from memory to which they point.
 */
#ifndef VESTIGE_EVENTS_PROBE_EPROBE_H
#define VESTIGE_EVENTS_PROBE_EPROBE_H

#include "engine/events/probe/dynevent.h"
#include "engine/events/event.h"

extern const struct event_class eprobe_event_class;

#endif
