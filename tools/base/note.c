/* SPDX-License-Identifier: MIT */
#include "tools/base/note.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static void print(const char *line)
{
	/* One write, so that lines of several processes on one terminal do not mix. */
	fprintf(stderr, "vestige: %s\n", line);
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
