/* SPDX-License-Identifier: MIT */
/*
 * The memory that a program had not released at its end, by stack (the tracer kmemtrace with
 * stacks).
 */
#ifndef VESTIGE_TOOLS_LEAK_TEXT_H
#define VESTIGE_TOOLS_LEAK_TEXT_H

#include "tools/reader/reader.h"
#include "tools/text/out.h"

/*
 * leak_text_print() - each stack, the most bytes first, and a line with the sum. All of @r is
 * read. Return: 0 or -errno with fail() set.
 */
int leak_text_print(struct reader *r, struct out *o);

#endif
