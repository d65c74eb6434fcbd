/* SPDX-License-Identifier: MIT */
/* See json.h. Tests: tests/unit/test_json.c. */
#include "tools/text/json.h"

#include <stddef.h>

#include "tools/text/utf8.h"

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
