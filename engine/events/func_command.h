/* SPDX-License-Identifier: MIT */
/* The commands of set_ftrace_filter that are about events, for probe_kinds_register(). */
#ifndef VESTIGE_EVENTS_FUNC_COMMAND_H
#define VESTIGE_EVENTS_FUNC_COMMAND_H

#include "engine/core/probe.h"

extern const struct probe_kind event_probe_kinds[];

#endif
