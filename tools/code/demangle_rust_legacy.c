/* SPDX-License-Identifier: MIT */
/*
 * Names of Rust functions in the older scheme: a nested name of C++, `_ZN...E`, that ends with a
 * hash, `17h0123456789abcdef`, and whose parts spell signs as `$LT$` and `::` as two dots.
 * Tests: tests/unit/test_demangle.c.
 */
#include "tools/code/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 64u

size_t demangle_utf8(char b[4], uint32_t c)
{
	if (c < 0x80) {
		b[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		b[0] = (char)(0xc0 | c >> 6);
		b[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		b[0] = (char)(0xe0 | c >> 12);
		b[1] = (char)(0x80 | (c >> 6 & 63));
		b[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	b[0] = (char)(0xf0 | (c >> 18 & 7));
	b[1] = (char)(0x80 | (c >> 12 & 63));
	b[2] = (char)(0x80 | (c >> 6 & 63));
	b[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* `$LT$` and its like, at @p. Return: bytes that it takes, 0 none; *@c: the character. */
static size_t escape(const char *p, size_t n, uint32_t *c)
{
	static const struct {
		const char *text;
		char c;
	} table[] = {{"$SP$", '@'}, {"$BP$", '*'}, {"$RF$", '&'}, {"$LT$", '<'},
		     {"$GT$", '>'}, {"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','}};

	for (unsigned int i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t len = strlen(table[i].text);

		if (n >= len && !memcmp(p, table[i].text, len)) {
			*c = (unsigned char)table[i].c;
			return len;
		}
	}
	if (n > 3 && p[1] == 'u') {
		size_t i = 2;

		for (*c = 0; i < n && i < 8 && p[i] != '$'; i++) {
			if (p[i] >= '0' && p[i] <= '9')
				*c = *c << 4 | (uint32_t)(p[i] - '0');
			else if (p[i] >= 'a' && p[i] <= 'f')
				*c = *c << 4 | (uint32_t)(p[i] - 'a' + 10);
			else
				return 0;
		}
		if (i < n && p[i] == '$' && i > 2 && *c >= ' ' && *c != 127 && *c <= 0x10ffff)
			return i + 1;
	}
	return 0;
}

/* The text of a part is never longer than the part. Return: the end of the written text. */
static char *put_part(char *to, const char *p, size_t n)
{
	size_t i = n > 1 && p[0] == '_' && p[1] == '$' ? 1 : 0;

	while (i < n) {
		size_t len = 0;
		uint32_t c = 0;

		if (p[i] == '$')
			len = escape(p + i, n - i, &c);
		if (len) {
			to += demangle_utf8(to, c);
			i += len;
		} else if (p[i] == '.' && i + 1 < n && p[i + 1] == '.') {
			*to++ = ':';
			*to++ = ':';
			i += 2;
		} else {
			*to++ = p[i++];
		}
	}
	return to;
}

static bool is_hash(const char *p, size_t n)
{
	return n == 17 && *p == 'h' && strspn(p + 1, "0123456789abcdef") >= 16;
}

char *demangle_rust_legacy(const char *symbol)
{
	const char *part[MAX_PARTS], *p = symbol + 3, *end = p + strlen(p);
	size_t len[MAX_PARTS], nr = 0;
	char *out, *to;

	for (; *p != 'E'; nr++) {
		size_t n = 0;

		while (*p >= '0' && *p <= '9' && n <= DEMANGLE_MAX_BYTES)
			n = n * 10 + (size_t)(*p++ - '0');
		if (!n || n > (size_t)(end - p) || nr == MAX_PARTS)
			return NULL;
		part[nr] = p;
		len[nr] = n;
		p += n;
	}
	if (nr < 2 || !is_hash(part[nr - 1], len[nr - 1]))
		return NULL;
	/* each part has a digit before it, which makes room for one of the `::` */
	out = to = malloc(strlen(symbol) + MAX_PARTS + 1);
	if (!out)
		return NULL;
	for (size_t i = 0; i + 1 < nr; i++) {
		if (i) {
			*to++ = ':';
			*to++ = ':';
		}
		to = put_part(to, part[i], len[i]);
	}
	*to = '\0';
	return out;
}
