/* SPDX-License-Identifier: MIT */
/* Names that stand for numbers in print formats: TRACE_DEFINE_ENUM(), TRACE_DEFINE_SIZEOF(). */
#ifndef VESTIGE_EVENTS_EVAL_H
#define VESTIGE_EVENTS_EVAL_H

#include "engine/base/seq_buf.h"
#include "vestige/tracepoint.h"

/* Keep a name; the same one again changes nothing. Control context. Return: 0 or -ENOMEM. */
int eval_add(const struct vestige_eval *eval);

/* Put @text of an event of @system, with the numbers for the names. Strings in it stay as they are. */
void eval_put(struct seq_buf *s, const char *system, const char *text);

/* The text of eval_map. */
void eval_map(struct seq_buf *s);

#endif
