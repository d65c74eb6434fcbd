/* SPDX-License-Identifier: MIT */
/* What parsers of control text share. Text is @n bytes and need not end with NUL. Any context. */
#ifndef VESTIGE_BASE_TEXT_H
#define VESTIGE_BASE_TEXT_H

#include <stddef.h>

/* Where the first @c is; @n: there is none. */
static inline size_t text_find(const char *text, size_t n, char c)
{
	size_t i;

	for (i = 0; i < n && text[i] != c; i++)
		;
	return i;
}

/* Where the last @c is; @n: there is none. */
static inline size_t text_find_last(const char *text, size_t n, char c)
{
	size_t i;

	for (i = n; i && text[i - 1] != c; i--)
		;
	return i ? i - 1 : n;
}

static inline int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

#endif
