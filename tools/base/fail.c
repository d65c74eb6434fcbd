/* SPDX-License-Identifier: MIT */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[1024];

int fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return -err;
}

int fail_errno(int err, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, ": %s", strerror(err));
	return -err;
}

const char *fail_text(void)
{
	return text;
}
