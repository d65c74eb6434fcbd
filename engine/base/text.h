/* SPDX-License-Identifier: MIT */
/*
 * Helpers of all parsers of control text. Text is @n bytes and need not end with NUL. Any context.
 */
#ifndef VESTIGE_BASE_TEXT_H
#define VESTIGE_BASE_TEXT_H

#include <stddef.h>

#include "engine/base/mem.h"

/* Offset of the first @c; @n if there is none. */
static inline size_t text_find(const char *text, size_t n, char c)
{
	size_t i;

	for (i = 0; i < n && text[i] != c; i++)
		;
	return i;
}

/* Offset of the last @c; @n if there is none. */
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

/* The kernel's isspace(). */
static inline int is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A part of a text: the rest that a parser has not read yet, or a word that it has found. */
struct word {
	const char *at;
	size_t n;
};

static inline int word_is(const struct word *w, const char *text)
{
	return w->n == strlen(text) && !memcmp(w->at, text, w->n);
}

/* Without its first @n bytes. */
static inline struct word word_behind(struct word w, size_t n)
{
	return (struct word){w.at + n, w.n - n};
}

static inline struct word word_skip_blanks(struct word w)
{
	while (w.n && is_blank(*w.at))
		w = word_behind(w, 1);
	return w;
}

/* Without the blanks around it. */
static inline struct word word_strip(struct word w)
{
	w = word_skip_blanks(w);
	while (w.n && is_blank(w.at[w.n - 1]))
		w.n--;
	return w;
}

/* The next word between blanks; *@rest is moved behind it. A word of 0 bytes: none is left. */
static inline struct word word_take(struct word *rest)
{
	struct word w = word_skip_blanks(*rest);
	size_t n = 0;

	while (n < w.n && !is_blank(w.at[n]))
		n++;
	*rest = word_behind(w, n);
	return (struct word){w.at, n};
}

/* The bytes up to @end; *@rest is moved behind @end. Return: 0 if *@rest was empty. */
static inline int word_next(struct word *rest, char end, struct word *out)
{
	size_t n;

	if (!rest->at)
		return 0;
	n = text_find(rest->at, rest->n, end);
	*out = (struct word){rest->at, n};
	*rest = n < rest->n ? word_behind(*rest, n + 1) : (struct word){0};
	return 1;
}

#endif
