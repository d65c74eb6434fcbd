/* SPDX-License-Identifier: MIT */
/*
 * Bytes and strings without libc. Any context; no state, so nothing to do after fork(). Built
 * with -fno-tree-loop-distribute-patterns, or the compiler would turn each loop into a call of
 * itself. Speed hardly matters: no hook copies memory. Tests: tests/unit/test_engine_base.c.
 */
#include "engine/base/mem.h"

#include <errno.h>

#include "engine/base/text.h"

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	for (; n >= 8; n -= 8, t += 8, f += 8) {
		uint64_t v;

		__builtin_memcpy(&v, f, 8);
		__builtin_memcpy(t, &v, 8);
	}
	while (n--)
		*t++ = *f++;
	return to;
}

HIDDEN void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	if (t <= f || t >= f + n) {
		while (n--)
			*t++ = *f++;
	} else {
		while (n--)
			t[n] = f[n];
	}
	return to;
}

HIDDEN void *memset(void *to, int c, size_t n)
{
	uint8_t *t = to;
	uint64_t v = (uint8_t)c * UINT64_C(0x0101010101010101);

	for (; n >= 8; n -= 8, t += 8)
		__builtin_memcpy(t, &v, 8);
	while (n--)
		*t++ = (uint8_t)c;
	return to;
}

HIDDEN int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n >= 8; n -= 8, x += 8, y += 8) {
		uint64_t v, w;

		__builtin_memcpy(&v, x, 8);
		__builtin_memcpy(&w, y, 8);
		if (v != w)
			break;
	}
	for (; n--; x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}

HIDDEN size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int str_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

int str_starts(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return 0;
	return 1;
}

uint32_t str_hash(const char *s)
{
	return str_hash_n(s, SIZE_MAX);
}

uint32_t str_hash_n(const char *s, size_t n)
{
	uint32_t h = 5381;

	while (n-- && *s)
		h = h * 33 + (uint8_t)*s++;
	return h;
}

size_t str_copy(char *to, size_t bytes, const char *from)
{
	size_t n = 0;

	while (n + 1 < bytes && from[n]) {
		to[n] = from[n];
		n++;
	}
	to[n] = 0;
	return n;
}

int str_to_u64(const char *s, size_t n, uint64_t *out)
{
	uint64_t v = 0;
	unsigned int base = 10;

	if (n && s[n - 1] == '\n')
		n--;
	if (n && *s == '+')
		s++, n--;
	if (n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
		n -= 2;
	} else if (n > 1 && s[0] == '0') {
		base = 8;
	}
	if (!n)
		return -EINVAL;
	for (; n--; s++) {
		unsigned int d = hex_digit(*s);

		if (d >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, d, &v))
			return -ERANGE;
	}
	*out = v;
	return 0;
}
