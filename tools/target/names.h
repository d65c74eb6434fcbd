/* SPDX-License-Identifier: MIT */
/* Names for the addresses in an area's tables. */
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
 * names_find() - the symbol that begins at @offset of object @object; NULL: none begins there.
 * Borrowed until the next call.
 */
const struct symbol *names_find(struct names *n, uint32_t object, uint32_t offset);

/* names_put() - print a run-time address as the kernel's %pS: NAME+0xOFFSET/0xSIZE [OBJECT]. */
void names_put(struct names *n, uint64_t addr, struct out *o);

/*
 * names_put_line() - the same with the source's name of the function, the object also for the
 * program's file, and the source line: NAME+0xOFFSET/0xSIZE [OBJECT] FILE:LINE. @exact: @addr is an
 * instruction; else it is a return address.
 */
void names_put_line(struct names *n, uint64_t addr, bool exact, struct out *o);

#endif
