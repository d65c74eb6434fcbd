/* SPDX-License-Identifier: MIT */
/*
 * See paint.h. It knows the lines of replay, graph, profile and report; other lines stay
 * as it is. Tests: tests/unit/test_paint.c, tests/cli/test_pager.py.
 */
#include "tools/text/paint.h"

#include <ctype.h>
#include <string.h>

#define BOLD   "\033[1m"
#define DIM    "\033[2m"
#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define CYAN   "\033[36m"
#define PLAIN  "\033[0m"

static void put(struct out *o, const char *colour, const char *text, const char *end)
{
	out_text(o, colour);
	out_write(o, text, (size_t)(end - text));
	out_text(o, PLAIN);
}

static const char *digits(const char *at, const char *end)
{
	while (at < end && isdigit((unsigned char)*at))
		at++;
	return at;
}

/* The end of `NUMBER.NUMBER`; NULL: there is none at @at. */
static const char *decimal(const char *at, const char *end)
{
	const char *point = digits(at, end), *behind;

	if (point == at || point == end || *point != '.')
		return NULL;
	behind = digits(point + 1, end);
	return behind > point + 1 ? behind : NULL;
}

/*
 * The end of a time as duration_put() has it, and its colour; NULL: none is at @at, or a short one.
 */
static const char *long_time(const char *at, const char *end, const char **colour)
{
	const char *p = decimal(at, end);

	if (!p || p == end || *p != ' ')
		return NULL;
	if (end - p >= 3 && !memcmp(p, " ms", 3))
		*colour = YELLOW;
	else if (end - p >= 3 && (!memcmp(p, "  s", 3) || !memcmp(p, "  h", 3)))
		*colour = RED;
	else
		return NULL;
	p += 3;
	return p == end || *p == ' ' ? p : NULL;
}

/*
 * `... [000] ... 12.345678: NAME: `: where the name begins, and its end; NULL: the line is no
 * event.
 */
static const char *event_name(const char *text, const char *end, const char **behind)
{
	const char *at = memchr(text, ']', (size_t)(end - text)), *p = NULL;

	for (at = at ? at + 1 : end; at < end && !p; at++)
		if (isdigit((unsigned char)*at) && at[-1] == ' ')
			p = decimal(at, end);
	if (!p || p == end || *p != ':')
		return NULL;
	do
		p++;
	while (p < end && *p == ' ');
	at = p;
	while (p < end && (isalnum((unsigned char)*p) || strchr("_:.-", *p)))
		p++;
	if (p > at && p[-1] == ':')
		p--;
	*behind = p;
	return p > at ? at : NULL;
}

void paint_line(struct out *o, const char *text, size_t bytes)
{
	const char *end = text + bytes, *done = text, *behind = NULL, *name, *colour = PLAIN;

	if (bytes && *text == '#') {
		put(o, BOLD, text, end);
		return;
	}
	name = event_name(text, end, &behind);
	for (const char *at = name ? name : text; at < end;) {
		const char *p = NULL;

		if (at == name) {
			p = behind;
			colour = CYAN;
		} else if (end - at >= 2 && !memcmp(at, "/*", 2)) {
			p = end;
			colour = DIM;
		} else if (isdigit((unsigned char)*at) && (at == text || at[-1] == ' ')) {
			p = long_time(at, end, &colour);
		}
		if (!p) {
			at++;
			continue;
		}
		out_write(o, done, (size_t)(at - done));
		put(o, colour, at, p);
		done = at = p;
	}
	out_write(o, done, (size_t)(end - done));
}
