/* SPDX-License-Identifier: MIT */
/* Characters of UTF-8 (RFC 3629). Tests: tests/unit/test_json.c. */
#ifndef VESTIGE_TOOLS_UTF8_H
#define VESTIGE_TOOLS_UTF8_H

#include <stddef.h>

/*
 * The length in bytes of the UTF-8 character at @p, a text that ends with NUL; 0: it is not valid
 * (RFC 3629, section 4: no longer form than needed, no surrogates, nothing beyond U+10FFFF).
 */
static inline size_t utf8_bytes(const unsigned char *p)
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

#endif
