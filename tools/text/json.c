/* SPDX-License-Identifier: MIT */
/* See json.h. Tests: tests/unit/test_json.c. */
#include "tools/text/json.h"

#include <stddef.h>

/*
 * The bytes of the character of UTF-8 at @p, which ends with NUL; 0: it is none (RFC 3629, section
 * 4: no longer form than needed, no surrogates, nothing beyond U+10FFFF).
 */
static size_t utf8_bytes(const unsigned char *p)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		lo = 0xa0;
	else if (p[0] == 0xed)
		hi = 0x9f;
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f;
	for (size_t i = 1; i < n; i++, lo = 0x80, hi = 0xbf)
		if (p[i] < lo || p[i] > hi)
			return 0;
	return n;
}

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
