/* SPDX-License-Identifier: MIT */
/* Names of numbers in print formats: TRACE_DEFINE_ENUM(), TRACE_DEFINE_SIZEOF(). */
#ifndef VESTIGE_EVENTS_TRIGGER_EVAL_H
#define VESTIGE_EVENTS_TRIGGER_EVAL_H

#include "engine/base/seq_buf.h"
#include "vestige/tracepoint.h"

/*
 * Put @text of an event of @system, with the numbers for the names. Strings in it stay as they are.
 */
void eval_put(struct seq_buf *s, const char *system, const char *text);

/* The text of eval_map. */
void eval_map(struct seq_buf *s);

#endif
