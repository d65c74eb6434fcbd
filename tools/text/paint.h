/* SPDX-License-Identifier: MIT */
/* Colours for the text that commands print; the form of a line decides which. */
#ifndef VESTIGE_TOOLS_PAINT_H
#define VESTIGE_TOOLS_PAINT_H

#include "tools/text/out.h"

/*
 * paint_line() - print @text with a terminal's escape sequences for colours. Headings (#) are bold,
 * comments dim, an event's name is cyan, times from 1 ms on are yellow, from 1 s on red.
 * @text: one line of @bytes, without a newline; none is printed.
 */
void paint_line(struct out *o, const char *text, size_t bytes);

#endif
