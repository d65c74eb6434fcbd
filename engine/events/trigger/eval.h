/* SPDX-License-Identifier: MIT */
/* Names of numbers in print formats, from TRACE_DEFINE_ENUM() and TRACE_DEFINE_SIZEOF(). */
#ifndef VESTIGE_EVENTS_TRIGGER_EVAL_H
#define VESTIGE_EVENTS_TRIGGER_EVAL_H

#include "engine/base/seq_buf.h"
#include "vestige/tracepoint.h"

/*
 * Put @text of an event of @system, with names replaced by their numbers. Strings in it stay
 * unchanged.
 */
void eval_put(struct seq_buf *s, const char *system, const char *text);

/* Put the text of eval_map. */
void eval_map(struct seq_buf *s);

#endif
