/* SPDX-License-Identifier: MIT */
/* Colours for the texts that commands print, by the form that their lines have. */
#ifndef VESTIGE_TOOLS_PAINT_H
#define VESTIGE_TOOLS_PAINT_H

#include "tools/text/out.h"

/*
 * paint_line() - @text with the escape sequences of a terminal between its characters, which stay as they
 * are. Headings (#) are bold, comments dim, an event's name is cyan, times of 1 ms and longer yellow, of
 * 1 s and longer red. @text: @bytes of one line, without its newline, which is not put either.
 */
void paint_line(struct out *o, const char *text, size_t bytes);

#endif
