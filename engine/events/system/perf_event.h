/* SPDX-License-Identifier: MIT */
/* The events of this process's threads that the kernel alone sees. */
#ifndef VESTIGE_EVENTS_SYSTEM_PERF_EVENT_H
#define VESTIGE_EVENTS_SYSTEM_PERF_EVENT_H

#include "engine/events/builtin_event.h"

/* builtin_event.enable of each of them. */
int perf_event_enable(struct builtin_event *e, int on);

#endif
