/* SPDX-License-Identifier: MIT */
/*
 * Glob matching without recursion: after a mismatch the last `*` takes one more character. The
 * grammar is the kernel's (a class that is not closed is a plain '['). Tests:
 * tests/unit/test_engine_base.c.
 */
#include "engine/base/glob.h"

/*
 * Match one character against the pattern's element at @p.
 * Return: the element's length if it matches, 0 if not.
 */
static size_t match_one(const char *p, size_t n, char c)
{
	size_t i = 1;
	int inverted, found = 0;

	switch (*p) {
	case '?':
		return 1;
	case '\\':
		if (n > 1)
			return p[1] == c ? 2 : 0;
		return c == '\\';
	case '[':
		inverted = n > 1 && p[1] == '!';
		i += (size_t)inverted;
		/* a ']' that comes first is literal */
		do {
			char lo, hi;

			if (i >= n)
				return c == '[';
			lo = hi = p[i++];
			if (i + 1 < n && p[i] == '-' && p[i + 1] != ']') {
				hi = p[i + 1];
				i += 2;
			}
			found |= (unsigned char)lo <= (unsigned char)c &&
				 (unsigned char)c <= (unsigned char)hi;
		} while (i >= n || p[i] != ']');
		return found != inverted ? i + 1 : 0;
	default:
		return *p == c;
	}
}

int glob_match(const char *pattern, size_t n, const char *s)
{
	const char *retry_s = NULL;
	size_t p = 0, retry_p = 0;

	for (;;) {
		if (p < n && pattern[p] == '*') {
			retry_p = ++p;
			retry_s = s;
			if (p == n)
				return 1;
			continue;
		}
		if (!*s && p == n)
			return 1;
		if (*s && p < n) {
			size_t len = match_one(pattern + p, n - p, *s);

			if (len) {
				p += len;
				s++;
				continue;
			}
		}
		if (!retry_s || !*retry_s)
			return 0;
		s = ++retry_s;
		p = retry_p;
	}
}
