/* SPDX-License-Identifier: MIT */
/* Converts texts of control files to JSON, for --json of the commands that print them. */
#ifndef VESTIGE_TOOLS_TEXT_JSON_H
#define VESTIGE_TOOLS_TEXT_JSON_H

#include "tools/target/target.h"
#include "tools/text/json.h"

/*
 * text_json_stack() - stack_trace: an array of frames, the innermost first, with `depth` and `size`
 * in bytes.
 * text_json_leaks() - trace_stat/kmemtrace_leaks: an array with `bytes`, `blocks`, the age of the
 * oldest block in seconds and the stack. @text: is changed.
 */
void text_json_stack(struct json *j, char *text);
void text_json_leaks(struct json *j, char *text);

/*
 * Print a file of a target as JSON to stdout. @put: one of these. Return: 0 or -errno with fail()
 * set.
 */
int text_json_print(struct target *t, const char *file, void (*put)(struct json *j, char *text));

#endif
