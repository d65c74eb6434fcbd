/* SPDX-License-Identifier: MIT */
/* The system `signal` of every process. */
#ifndef VESTIGE_EVENTS_SYSTEM_SIGNAL_EVENT_H
#define VESTIGE_EVENTS_SYSTEM_SIGNAL_EVENT_H

#include "engine/events/builtin_event.h"

extern struct builtin_event signal_generate_event, signal_deliver_event;

/*
 * For a process that gets no signal events from the kernel: start (@on) or stop watching the calls
 * that send signals, or the calls of handlers. Under the tree lock. Return: 0 or -errno.
 */
int signal_calls_see(int on);
int signal_handlers_see(int on);

#endif
