/* SPDX-License-Identifier: MIT */
/*
 * The source of a recording's functions, as the DWARF of their objects names it. A recording is not
 * trusted: a file is read only if it is a regular one below a folder that the user named.
 */
#ifndef VESTIGE_TOOLS_SOURCE_TEXT_H
#define VESTIGE_TOOLS_SOURCE_TEXT_H

#include "tools/text/out.h"
#include "tools/view/columns.h"

struct source_text;

/*
 * @c: borrowed. @dir: files are looked for in it, and none outside.
 * Return: 0, or -ENOMEM with fail() set. source_text_free() takes NULL, too.
 */
int source_text_new(const struct columns *c, const char *dir, struct source_text **out);
void source_text_free(struct source_text *s);

/*
 * source_text_answer() - the file of a function, as JSON: {"path", "line", "lines"}, or {"error"}.
 * @name: number of the function's name. Return: 0 or -ENOMEM with fail() set.
 */
int source_text_answer(struct source_text *s, struct out *o, uint64_t name);

#endif
