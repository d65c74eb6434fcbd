/* SPDX-License-Identifier: MIT */
/* The sorts of triggers. */
#ifndef VESTIGE_EVENTS_TRIGGER_OPS_H
#define VESTIGE_EVENTS_TRIGGER_OPS_H

#include "engine/events/trigger.h"

#define TRIGGER_NR_SIMPLE 8u

/* Of one group an event has one (and target), but for histograms and what hangs on it. */
enum trigger_group {
	GROUP_HIST,
	GROUP_TRACING,
	GROUP_SWITCH,
	GROUP_SWITCH_HIST,
	GROUP_SNAPSHOT,
	GROUP_STACK,
	GROUP_PROBE, /* not a user's: trigger_attach() */
};

extern const struct trigger_ops trigger_hist_ops;
extern const struct trigger_ops trigger_simple_ops[TRIGGER_NR_SIMPLE];

#endif
