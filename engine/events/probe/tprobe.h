/* SPDX-License-Identifier: MIT */
/*
 * Tracepoint probes: `t[:[GRP/][EV]] TRACEPOINT [ARGS]`: an event that is made from a tracepoint's
 * arguments.
 */
#ifndef VESTIGE_EVENTS_PROBE_TPROBE_H
#define VESTIGE_EVENTS_PROBE_TPROBE_H

#include "engine/events/probe/probe_event.h"

extern const struct dyn_class tprobe_class;

/* As probe_arm(). */
int tprobe_arm(struct probe *p, int on);

#endif
