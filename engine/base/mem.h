/* SPDX-License-Identifier: MIT */
/*
 * Functions on bytes and strings. The program may trace or interpose libc's, so the engine has its
 * own. They are hidden, so calls that the compiler makes reach them too.
 */
#ifndef VESTIGE_BASE_MEM_H
#define VESTIGE_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);

/* Whether the two strings are the same. */
int str_equal(const char *a, const char *b);
/* Whether @s begins with @prefix. */
int str_starts(const char *s, const char *prefix);

/* The hash of a string that DT_GNU_HASH uses. */
uint32_t str_hash(const char *s);
/* The same of the first @n bytes, if the string has as many. */
uint32_t str_hash_n(const char *s, size_t n);

/*
 * str_copy() - copy @from, cut to @bytes - 1, NUL-terminated.
 * Return: the length of the copy.
 */
size_t str_copy(char *to, size_t bytes, const char *from);

/*
 * str_to_u64() - read a number as the kernel's kstrtoull() with base 0 does: decimal, 0x, leading
 * 0. @n: bytes at @s; a newline at the end is allowed. Return: 0; -EINVAL if it is not a number;
 * -ERANGE if it does not fit.
 */
int str_to_u64(const char *s, size_t n, uint64_t *out);

#endif
