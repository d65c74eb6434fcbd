/* SPDX-License-Identifier: MIT */
#include "tools/base/note.h"

#include <stdarg.h>
#include <stdio.h>

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
	/* One write, so that lines of several processes on one terminal do not mix. */
	fprintf(stderr, "vestige: %s\n", line);
}
