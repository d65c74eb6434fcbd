/* SPDX-License-Identifier: MIT */
/*
 * Numbers as text, for lines that are printed by the million: printf() takes ten times as long.
 * Each function writes at @p and returns the first byte behind the number; the caller has room for
 * NUMBER_DIGITS or the width, whichever is more. Tests: tests/unit/test_text.c, against printf().
 */
#ifndef VESTIGE_TOOLS_NUMBER_H
#define VESTIGE_TOOLS_NUMBER_H

#include <stdint.h>
#include <string.h>

#define NUMBER_DIGITS 20

static inline unsigned int number_width(uint64_t v)
{
	unsigned int n = 1;

	for (; v >= 10000; v /= 10000)
		n += 4;
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

static const char number_pairs[] = "00010203040506070809101112131415161718192021222324"
				   "25262728293031323334353637383940414243444546474849"
				   "50515253545556575859606162636465666768697071727374"
				   "75767778798081828384858687888990919293949596979899";

/* %0*u: the last @width digits of @v. */
static inline char *number_zeros(char *p, uint64_t v, unsigned int width)
{
	unsigned int i = width;

	for (; i >= 2; i -= 2, v /= 100)
		memcpy(p + i - 2, number_pairs + 2 * (v % 100), 2);
	if (i)
		*p = (char)('0' + v % 10);
	return p + width;
}

/* %u */
static inline char *number_put(char *p, uint64_t v)
{
	return number_zeros(p, v, number_width(v));
}

/* %*u: with blanks before it. */
static inline char *number_right(char *p, uint64_t v, unsigned int width)
{
	unsigned int n = number_width(v);

	for (; n < width; width--)
		*p++ = ' ';
	return number_zeros(p, v, n);
}

/* %06u */
static inline char *number_six(char *p, uint32_t v)
{
	memcpy(p, number_pairs + 2 * (v / 10000 % 100), 2);
	memcpy(p + 2, number_pairs + 2 * (v / 100 % 100), 2);
	memcpy(p + 4, number_pairs + 2 * (v % 100), 2);
	return p + 6;
}

#endif
