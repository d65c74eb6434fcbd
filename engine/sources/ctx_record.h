/* SPDX-License-Identifier: MIT */
/*
 * The kernel's records ftrace:context_switch and ftrace:wakeup, which its tracers of scheduling
 * write: a CPU changes from one thread to another; a thread wakes another one.
 */
#ifndef VESTIGE_SOURCES_CTX_RECORD_H
#define VESTIGE_SOURCES_CTX_RECORD_H

#include "engine/core/trace_array.h"
#include "engine/sources/sched_perf.h"

/* Make the formats of both records known. Return: 0 or -errno. Under the tree lock. */
int ctx_record_start(void);

/*
 * ctx_record_write() - write a record of a switch (SCHED_SWITCH) or a wakeup (any of the three
 * kinds). In a listener's callback: the record belongs to the acting thread.
 */
void ctx_record_write(struct trace_array *tr, const struct sched_call *c);

#endif
