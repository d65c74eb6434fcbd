/* SPDX-License-Identifier: MIT */
/* The events about this process's threads that only the kernel sees. */
#ifndef VESTIGE_EVENTS_SYSTEM_PERF_EVENT_H
#define VESTIGE_EVENTS_SYSTEM_PERF_EVENT_H

#include "engine/events/builtin_event.h"

/* enable() of each of these events. */
int perf_event_enable(struct builtin_event *e, int on);

#endif
