/* SPDX-License-Identifier: MIT */
/*
 * Why a process refuses a tracer, or a change of its code, in the engine's words: lines of
 * vestige_absent and vestige_status.
 */
#ifndef VESTIGE_TOOLS_TRACER_REFUSAL_H
#define VESTIGE_TOOLS_TRACER_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/target/target.h"

/*
 * tracer_refusal_of() - the reason in a text of either file; of several the last.
 * @tracer: its name. @why: the reason, cut to @bytes. Return: whether there is one.
 */
bool tracer_refusal_of(const char *text, const char *tracer, char *why, size_t bytes);

/* The line of fail() for it. Return: -ENODEV. */
int tracer_refusal_fail(const char *tracer, const char *why);

/*
 * text_refusal_of() - why no function can be switched on, where code cannot change: a line of
 * vestige_status. @why: the reason, cut to @bytes. Return: whether there is one.
 */
bool text_refusal_of(const char *status, char *why, size_t bytes);

/*
 * graph_refusal_of() - why function_graph can follow no function of an object: a part of @status,
 * the text of vestige_status, of *@bytes. NULL: it does not say so.
 */
const char *graph_refusal_of(const char *status, int *bytes);

/*
 * text_refused() - a write to @t failed with @err: have fail() tell that reason, too, if it is one of
 * -EPERM and -EACCES. Return: @err.
 */
int text_refused(struct target *t, int err);

/*
 * tracer_refused() - a write of @tracer, which ends with NUL, to current_tracer of @t failed with @err: have
 * fail() tell the reason, too, if @t knows one. Return: -ENODEV with the reason; else @err, and
 * fail_text() stays.
 */
int tracer_refused(struct target *t, const char *tracer, int err);

#endif
