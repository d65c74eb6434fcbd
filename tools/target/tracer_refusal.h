/* SPDX-License-Identifier: MIT */
/*
 * Why a process refuses a tracer, or a change of its code: the engine's reasons in vestige_absent
 * and vestige_status.
 */
#ifndef VESTIGE_TOOLS_TRACER_REFUSAL_H
#define VESTIGE_TOOLS_TRACER_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/target/target.h"

/*
 * tracer_refusal_of() - the last reason for @tracer in the text of one of these files.
 * @tracer: its name. @why: the reason, cut to @bytes. Return: whether there is one.
 */
bool tracer_refusal_of(const char *text, const char *tracer, char *why, size_t bytes);

/* fail() with the reason @why. Return: -ENODEV. */
int tracer_refusal_fail(const char *tracer, const char *why);

/*
 * text_refusal_of() - why the process's code cannot be changed, so that no function can be switched
 * on: a line of vestige_status. @why: the reason, cut to @bytes. Return: whether there is one.
 */
bool text_refusal_of(const char *status, char *why, size_t bytes);

/*
 * graph_refusal_of() - why function_graph cannot follow any function of an object. @status: the
 * text of vestige_status. Return: the reason, a part of @status of *@bytes bytes; NULL: there is
 * none.
 */
const char *graph_refusal_of(const char *status, int *bytes);

/*
 * text_refused() - after a write to @t that failed with @err: if that is -EPERM or -EACCES, add the
 * reason of text_refusal_of() to fail_text(). Return: @err.
 */
int text_refused(struct target *t, int err);

/*
 * tracer_refused() - after a write of @tracer to current_tracer of @t that failed with @err: look
 * for the reason. Return: -ENODEV with the reason in fail(); if there is none, @err, and
 * fail_text() stays.
 */
int tracer_refused(struct target *t, const char *tracer, int err);

#endif
