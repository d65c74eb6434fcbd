/* SPDX-License-Identifier: MIT */
/*
 * The events of the kernel's system ftrace that processes write as events or print: events/ftrace.
 * They are not switched on, since other files do that. Those of calls are not here: how a trace.dat
 * and trace_pipe_raw write them, the outside alone knows (tools/target/static_files.c).
 */
#ifndef VESTIGE_EVENTS_FTRACE_EVENT_H
#define VESTIGE_EVENTS_FTRACE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/events/event.h"

/* The list of events begins with them, the last one is the newest. */
#define FTRACE_NR_EVENTS 22
extern struct event ftrace_events[FTRACE_NR_EVENTS];

struct event *ftrace_event_by_id(uint32_t id);

/* What acts on one of them in an instance has changed. */
void ftrace_event_update(struct event_file *f);

/* Whether it is ftrace:print, which alone can have something that acts on it. */
int ftrace_event_is_print(const struct event *e);

/*
 * ftrace_print() - a record ftrace:print: what trace_printk() and marks come to. @ip: of
 * trace_printk(); of a mark its writer, 0 this thread. @text: @n bytes, at most FTRACE_PRINT_MAX.
 * Return: 1; 0: its filter does not want it; -EBADF: recording is off, or the record is lost. Any
 * context.
 */
#define FTRACE_PRINT_MAX 3968u
int ftrace_print(struct trace_array *tr, const void *ip, const char *text, uint32_t n);

#endif
