/* SPDX-License-Identifier: MIT */
/*
 * The event formats of a trace.dat: what our own decoding needs (the common fields and
 * ftrace:function) is read here, everything else is libtraceevent's.
 */
#ifndef VESTIGE_TOOLS_DAT_FORMATS_H
#define VESTIGE_TOOLS_DAT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "dat_stream.h"
#include "symbols.h"

struct tep_handle;

/* An empty handle of files with longs of @long_bytes that names functions by @s; NULL: no memory. */
struct tep_handle *formats_handle_new(struct symbols *s, unsigned int long_bytes);

struct format {
	int32_t id;
	char *system; /* "ftrace", "sched", ... */
	char *text;   /* ended by NUL */
	size_t bytes; /* without it */
};

/* All of a file, as texts. Zeroed is empty. */
struct formats {
	struct format *at;
	size_t nr, room;
};

/*
 * formats_add() - keep an event's format, or read it if it is ftrace:function.
 * @text: malloced and ended by NUL; owned by this now.
 * A text without name or ID is left out: its events print as unknown.
 * Return: 0 or -ENOMEM.
 */
int formats_add(struct formats *f, struct dat_layout *layout, const char *system, char *text,
		size_t bytes);
void formats_free(struct formats *f);

/*
 * formats_parse() - give libtraceevent the formats of the events that occur.
 * @wanted: by id, 65536 of them.
 * libtraceevent 1.7.1 crashes on many texts that are no format. So a child process reads them
 * first; those on which it ends are left out.
 * Return: 0, or -errno with fail() set when there can be no child.
 */
int formats_parse(const struct formats *f, struct tep_handle *tep, const bool *wanted);

/* Where field @name lies by a format's text; {0, 0} if it has none. */
struct dat_field formats_field(const char *text, const char *name);

#endif
