/* SPDX-License-Identifier: MIT */
/* The table of functions that vestige/tracepoint.h calls. */
#ifndef VESTIGE_EVENTS_TRACEPOINT_TRACEPOINT_API_H
#define VESTIGE_EVENTS_TRACEPOINT_TRACEPOINT_API_H

#include "vestige/tracepoint.h"

extern const struct vestige_tracepoint_api tracepoint_api;

/*
 * Call @ready when the object that has @address reports that it is relocated. Constructor context.
 */
void tracepoint_api_on_ready(void (*ready)(const void *address));

#endif
