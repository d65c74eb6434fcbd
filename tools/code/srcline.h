/* SPDX-License-Identifier: MIT */
/* Source files and lines of functions, by the DWARF of their objects, if it is on this machine. */
#ifndef VESTIGE_TOOLS_SRCLINE_H
#define VESTIGE_TOOLS_SRCLINE_H

#include <stdint.h>

#include "tools/code/symbols.h"

struct srcline;

/* @symbols: borrowed; has the objects. Return: NULL and errno if memory is short. */
struct srcline *srcline_new(const struct symbols *symbols);
void srcline_free(struct srcline *s);

/*
 * srcline_find() - the source line of the code at @addr, of a trace.dat's address space.
 * Return: `folder/file.c:12`, with the path as it was passed to the compiler, or NULL. Borrowed
 * until the next call.
 */
const char *srcline_find(struct srcline *s, uint64_t addr);

#endif
