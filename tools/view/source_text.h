/* SPDX-License-Identifier: MIT */
/*
 * The source files of a recording's functions, found by the DWARF of their objects. A recording is
 * not trusted: only a regular file below a folder that the user named is read.
 */
#ifndef VESTIGE_TOOLS_SOURCE_TEXT_H
#define VESTIGE_TOOLS_SOURCE_TEXT_H

#include "tools/text/out.h"
#include "tools/view/columns.h"

struct source_text;

/*
 * @c: borrowed. @dir: the folder to search; no file outside is read.
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
