/* SPDX-License-Identifier: MIT */
/*
 * The events of the kernel's system ftrace that processes write as events or print: events/ftrace.
 * They have no switch, since other files switch them. Events of calls are not here: only the tools
 * know how trace.dat and trace_pipe_raw have them (tools/target/static_files.c).
 */
#ifndef VESTIGE_EVENTS_FTRACE_EVENT_H
#define VESTIGE_EVENTS_FTRACE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/events/event.h"

/* The list of events begins with these; the last of them is the newest. */
#define FTRACE_NR_EVENTS 22
extern struct event ftrace_events[FTRACE_NR_EVENTS];

/* The filter or triggers of one of these events have changed in an instance. */
void ftrace_event_update(struct event_file *f);

/* Whether it is ftrace:print, the only one that can have a filter or triggers. */
int ftrace_event_is_print(const struct event *e);

/*
 * ftrace_print() - make a record ftrace:print, for trace_printk() and marks. @ip: the caller of
 * trace_printk(); for a mark its writer, 0: this thread. @text: @n bytes, at most FTRACE_PRINT_MAX.
 * Return: 1; 0: its filter drops it; -EBADF: recording is off, or the record is lost. Any context.
 */
#define FTRACE_PRINT_MAX 3968u
int ftrace_print(struct trace_array *tr, const void *ip, const char *text, uint32_t n);

#endif
