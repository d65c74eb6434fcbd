/* SPDX-License-Identifier: MIT */
/* See import_text.h. Tests: tests/cli/test_import.py, tests/fuzz/import.c. */
#include "tools/import/import_text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int import_peek(struct import_text *in)
{
	ssize_t n;

	if (in->pos < in->nr)
		return (unsigned char)in->buf[in->pos];
	do
		n = pread(in->fd, in->buf, sizeof(in->buf), in->at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		in->err = -errno;
	in->pos = 0;
	in->nr = n > 0 ? (size_t)n : 0;
	in->at += n > 0 ? n : 0;
	return n > 0 ? (unsigned char)in->buf[0] : -1;
}

int import_get(struct import_text *in)
{
	int c = import_peek(in);

	in->pos += c >= 0;
	in->line += c == '\n';
	return c;
}

char *import_line(struct import_text *in)
{
	size_t n = 0;
	int c = import_get(in);

	if (c < 0)
		return NULL;
	for (; c >= 0 && c != '\n'; c = import_get(in))
		if (n < sizeof(in->text) - 1 && c)
			in->text[n++] = (char)c;
	if (n && in->text[n - 1] == '\r')
		n--;
	in->text[n] = '\0';
	return in->text;
}

bool import_text_any(const char *head, size_t bytes, bool (*is)(char *line))
{
	char line[1024];

	for (const char *p = head, *end; (end = memchr(p, '\n', (size_t)(head + bytes - p)));
	     p = end + 1) {
		size_t n =
			(size_t)(end - p) < sizeof(line) - 1 ? (size_t)(end - p) : sizeof(line) - 1;

		if (*p == '#')
			continue;
		memcpy(line, p, n);
		line[n] = '\0';
		if (is(line))
			return true;
	}
	return false;
}

bool import_decimal(const char *text, uint64_t unit, uint64_t *ns, const char **end)
{
	uint64_t v = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (v > (UINT64_MAX / unit - 9) / 10)
			return false;
		v = 10 * v + (uint64_t)(*p - '0');
	}
	if (p == text)
		return false;
	v *= unit;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++) {
			unit /= 10;
			v += unit * (uint64_t)(*p - '0');
		}
	*ns = v;
	*end = p;
	return v <= INT64_MAX;
}
