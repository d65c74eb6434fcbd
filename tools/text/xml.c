/* SPDX-License-Identifier: MIT */
/* See xml.h. Tests: tests/cli/test_export.py, tests/engine/tracers/initcall. */
#include "tools/text/xml.h"

#include "tools/base/utf8.h"

void xml_put(struct out *o, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n;

	for (; *p; p += n ? n : 1) {
		n = utf8_bytes(p);
		if (*p == '<')
			out_text(o, "&lt;");
		else if (*p == '>')
			out_text(o, "&gt;");
		else if (*p == '&')
			out_text(o, "&amp;");
		else if (*p == '"')
			out_text(o, "&quot;");
		else if (!n || *p < ' ' || *p == 0x7f)
			out_text(o, "&#xfffd;");
		else
			out_write(o, (const char *)p, n);
	}
}
