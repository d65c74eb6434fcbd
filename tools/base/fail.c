/* SPDX-License-Identifier: MIT */
#include "tools/base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[1024];

int fail(int err, const char *fmt, ...)
{
	char line[sizeof(text)];
	va_list ap;

	va_start(ap, fmt);
	/* The last text may be one of the arguments. */
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	memcpy(text, line, sizeof(text));
	return -err;
}

int fail_errno(int err, const char *fmt, ...)
{
	char line[sizeof(text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return fail(err, "%s: %s", line, strerror(err));
}

const char *fail_text(void)
{
	return text;
}
