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

static inline int is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether C's identifiers may have it. */
static inline int is_name_char(char c)
{
	return is_alnum(c) || c == '_';
}

/* The value of a hexadecimal digit; 16: it is none. */
static inline uint32_t hex_digit(char c)
{
	if (is_digit(c))
		return (uint32_t)(c - '0');
	c |= 32;
	return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10 : 16;
}

/*
 * text_decimal() - read the decimal digits at the beginning, without sign and base. str_to_u64()
 * reads a whole word.
 * @n: SIZE_MAX if another byte ends the text. @v: UINT64_MAX if the number is greater; 0 without a
 * digit. Return: how many digits there were.
 */
static inline size_t text_decimal(const char *text, size_t n, uint64_t *v)
{
	size_t i;

	for (*v = 0, i = 0; i < n && is_digit(text[i]); i++)
		if (__builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(text[i] - '0'), v))
			*v = UINT64_MAX;
	return i;
}

/* The kernel's isspace(). */
static inline int is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Offset of the first byte that is not blank; @n if there is none. */
static inline size_t text_skip_blanks(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n && is_blank(text[i]); i++)
		;
	return i;
}

/* Whether the @n bytes at @at are the string @text. */
static inline int text_is(const char *at, size_t n, const char *text)
{
	return n == strlen(text) && !memcmp(at, text, n);
}

/* A part of a text: the rest that a parser has not read yet, or a word that it has found. */
struct word {
	const char *at;
	size_t n;
};

static inline int word_is(const struct word *w, const char *text)
{
	return text_is(w->at, w->n, text);
}

/* Without its first @n bytes. */
static inline struct word word_behind(struct word w, size_t n)
{
	return (struct word){w.at + n, w.n - n};
}

static inline struct word word_skip_blanks(struct word w)
{
	return word_behind(w, text_skip_blanks(w.at, w.n));
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

/* The letters, digits and `_` at the beginning; *@rest is moved behind them. */
static inline struct word word_take_name(struct word *rest)
{
	struct word w = *rest;
	size_t n = 0;

	while (n < w.n && is_name_char(w.at[n]))
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
