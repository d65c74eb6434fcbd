/* SPDX-License-Identifier: MIT */
/*
 * event_filter= and event_trigger= of VESTIGE_BOOT: `EVENTS.TEXT`. EVENTS are words of set_event between
 * commas; TEXT is what the file filter or trigger of each of them gets, with %22 for a quote and %25 for
 * a percent sign. `vestige record -f` and `-R` write them. Constructor context.
 */
#ifndef VESTIGE_CONTROL_BOOT_EVENTS_H
#define VESTIGE_CONTROL_BOOT_EVENTS_H

#include "engine/control/boot_params.h"

/*
 * boot_events() - carry out @p, if it is one of the two. An error becomes a line of vestige_status:
 * `event_filter: SYSTEM:NAME at POSITION, ERROR: TEXT (errno N)`, without the middle where the parser has no
 * words for it. Events that are not there are no error here: trace_event reports them.
 * Return: whether it is one.
 */
int boot_events(const struct boot_param *p);

#endif
