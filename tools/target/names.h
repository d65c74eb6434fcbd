/* SPDX-License-Identifier: MIT */
/* Names for the rows of an area's tables. */
#ifndef VESTIGE_TOOLS_NAMES_H
#define VESTIGE_TOOLS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/area/meta.h"
#include "tools/code/symbols.h"
#include "tools/text/out.h"

struct names;

/*
 * names_new() - read the symbols of all objects of @m, which is borrowed.
 * Return: NULL with fail() set when memory is short.
 */
struct names *names_new(const struct meta *m);
void names_free(struct names *n);

/*
 * The symbol at @offset of object @object. NULL when there is none exactly there. Borrowed until
 * the next call.
 */
const struct symbol *names_find(struct names *n, uint32_t object, uint32_t offset);

/* names_put() - print a run-time address as the kernel's %pS: NAME+0xOFFSET/0xSIZE [OBJECT]. */
void names_put(struct names *n, uint64_t addr, struct out *o);

/*
 * names_put_line() - the same with the source's name, also the program's object, and the place in
 * the source: NAME+0xOFFSET/0xSIZE [OBJECT] FILE:LINE. @exact: @addr is an instruction; else it is
 * the address behind a call.
 */
void names_put_line(struct names *n, uint64_t addr, bool exact, struct out *o);

#endif
