/* SPDX-License-Identifier: MIT */
#include "tools/base/note.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tools/base/control_byte.h"

/*
 * Control bytes come with names: they are escaped. A newline is ours where its next line is
 * indented. One write, so that lines of several processes on one terminal do not mix.
 */
static void print(const char *line)
{
	char text[2048];
	size_t used = 0, left = strlen(line), bytes;

	while (left && used + CONTROL_ESCAPE_BYTES < sizeof(text)) {
		size_t plain = control_plain(line, left), taken;

		if (plain > sizeof(text) - used - CONTROL_ESCAPE_BYTES)
			plain = sizeof(text) - used - CONTROL_ESCAPE_BYTES;
		if (!plain && !strncmp(line, "\n  ", 3))
			plain = 1;
		memcpy(text + used, line, plain);
		taken = plain ? plain : control_escape(text + used, &bytes, line, left);
		used += plain ? plain : bytes;
		line += taken;
		left -= taken;
	}
	fprintf(stderr, "vestige: %.*s\n", (int)used, text);
}

static _Atomic(note_put *) where = print;

void note_to(note_put *put)
{
	atomic_store(&where, put);
}

void note(const char *fmt, ...)
{
	char line[1400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	note_line(line);
}

void note_line(const char *line)
{
	note_put *put = atomic_load(&where);

	put(line);
}
