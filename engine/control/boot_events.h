/* SPDX-License-Identifier: MIT */
/*
 * event_filter= and event_trigger= of VESTIGE_BOOT: `EVENTS.TEXT`. EVENTS are words of set_event,
 * separated by commas. TEXT is written to the file filter or trigger of each of these events, with
 * %22 for a quote and %25 for a percent sign. `vestige record -f` and `-R` use them. Constructor
 * context.
 */
#ifndef VESTIGE_CONTROL_BOOT_EVENTS_H
#define VESTIGE_CONTROL_BOOT_EVENTS_H

#include "engine/control/boot_params.h"

/*
 * boot_events() - carry out @p, if it is event_filter or event_trigger. An error becomes a line of
 * vestige_status: `event_filter: SYSTEM:NAME at POSITION, ERROR: TEXT (errno N)`; without `at
 * POSITION, ERROR` if the parser gave none. An event that does not exist is no error here:
 * trace_event reports it. Return: whether @p is one of the two.
 */
int boot_events(const struct boot_param *p);

#endif
