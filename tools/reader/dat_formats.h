/* SPDX-License-Identifier: MIT */
/*
 * The event formats of a trace.dat: what our own decoding needs (the common fields and
 * ftrace:function) is read here, everything else is libtraceevent's.
 */
#ifndef VESTIGE_TOOLS_DAT_FORMATS_H
#define VESTIGE_TOOLS_DAT_FORMATS_H

#include <stddef.h>

#include "dat_stream.h"
#include "symbols.h"

struct tep_handle;

/* An empty handle of files with longs of @long_bytes that names functions by @s; NULL: no memory. */
struct tep_handle *formats_new(struct symbols *s, unsigned int long_bytes);

/*
 * formats_add() - add an event's format.
 * @system: "ftrace", "sched", ...
 * @text: ended by NUL; @bytes without it.
 * Return: whether it explains more than our own decoding does.
 * A format that does not parse is left out: its events print as unknown.
 */
bool formats_add(struct tep_handle *tep, struct dat_layout *layout, const char *system,
		 const char *text, size_t bytes);

/* Where field @name lies by a format's text; {0, 0} if it has none. */
struct dat_field formats_field(const char *text, const char *name);

#endif
