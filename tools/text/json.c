/* SPDX-License-Identifier: MIT */
/* See json.h. Tests: tests/unit/test_json.c. */
#include "tools/text/json.h"

#include <inttypes.h>
#include <stddef.h>

#include "tools/base/utf8.h"

void json_put(struct out *o, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n;

	if (!text) {
		out_text(o, "null");
		return;
	}
	out_text(o, "\"");
	for (; *p; p += n ? n : 1) {
		n = utf8_bytes(p);
		if (*p == '"' || *p == '\\')
			out_printf(o, "\\%c", *p);
		else if (*p < ' ' || *p == 0x7f)
			out_printf(o, "\\u%04x", *p);
		else if (n)
			out_write(o, (const char *)p, n);
		else /* names of symbols need not be UTF-8 */
			out_text(o, "\\ufffd");
	}
	out_text(o, "\"");
}

static void member(struct json *j, const char *name)
{
	if (j->more)
		out_text(j->o, ", ");
	j->more = true;
	if (!name)
		return;
	json_put(j->o, name);
	out_text(j->o, ": ");
}

void json_open(struct json *j, const char *name, char bracket)
{
	const char text[] = {bracket, '\0'};

	member(j, name);
	out_text(j->o, text);
	j->more = false;
}

void json_close(struct json *j, char bracket)
{
	const char text[] = {bracket, '\0'};

	out_text(j->o, text);
	j->more = true;
}

void json_text(struct json *j, const char *name, const char *text)
{
	member(j, name);
	json_put(j->o, text);
}

void json_number(struct json *j, const char *name, uint64_t n)
{
	member(j, name);
	out_printf(j->o, "%" PRIu64, n);
}

void json_real(struct json *j, const char *name, double v, int digits)
{
	member(j, name);
	out_printf(j->o, "%.*f", digits, v);
}

void json_bool(struct json *j, const char *name, bool v)
{
	member(j, name);
	out_text(j->o, v ? "true" : "false");
}

void json_null(struct json *j, const char *name)
{
	member(j, name);
	out_text(j->o, "null");
}
