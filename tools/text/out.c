/* SPDX-License-Identifier: MIT */
/* See out.h. Tests: tests/unit/test_text.c. */
#include "tools/text/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"

int out_init(struct out *o, int fd)
{
	*o = (struct out){.fd = fd, .buf = malloc(OUT_BYTES)};
	return o->buf ? 0 : -ENOMEM;
}

int out_init_sink(struct out *o, int (*sink)(void *arg, const char *text, size_t bytes), void *arg)
{
	int err = out_init(o, -1);

	o->sink = sink;
	o->arg = arg;
	return err;
}

static void write_all(struct out *o, const char *p, size_t bytes)
{
	if (o->sink && bytes && !o->err)
		o->err = o->sink(o->arg, p, bytes);
	while (bytes && !o->err && !o->sink) {
		ssize_t n = write(o->fd, p, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			o->err = -errno;
			return;
		}
		p += n;
		bytes -= (size_t)n;
	}
}

void out_flush(struct out *o)
{
	write_all(o, o->buf, o->used);
	o->used = 0;
}

int out_end(struct out *o)
{
	if (o->buf)
		out_flush(o);
	free(o->buf);
	o->buf = NULL;
	return o->err;
}

int out_end_stdout(struct out *o, int err, const char *what)
{
	int end = out_end(o);

	if (!err && end && end != -EPIPE)
		err = fail_errno(-end, "cannot write %s", what);
	return err;
}

void out_write(struct out *o, const char *text, size_t bytes)
{
	if (bytes > OUT_BYTES) {
		out_flush(o);
		write_all(o, text, bytes);
		return;
	}
	memcpy(out_room(o, bytes), text, bytes);
	o->used += bytes;
}

void out_text(struct out *o, const char *text)
{
	out_write(o, text, strlen(text));
}

void out_printf(struct out *o, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0)
		out_write(o, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}
