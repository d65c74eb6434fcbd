/* SPDX-License-Identifier: MIT */
/* Patterns of function names, as set_ftrace_filter has them. */
#ifndef VESTIGE_BASE_GLOB_H
#define VESTIGE_BASE_GLOB_H

#include <stddef.h>

/*
 * glob_match() - whether @s matches the pattern: `*` any run, `?` one character, `[a-z]` and
 * `[!a]` classes, `\` before a character that means itself.
 * @pattern: @n bytes, not NUL-terminated.
 * Runs in any context; never recurses; time at most length of pattern times length of @s.
 */
int glob_match(const char *pattern, size_t n, const char *s);

#endif
