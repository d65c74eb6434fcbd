/* SPDX-License-Identifier: MIT */
/* Suggests the name that a mistyped word was meant to be. Tests: tests/unit/test_options.c. */
#ifndef VESTIGE_TOOLS_NEAREST_H
#define VESTIGE_TOOLS_NEAREST_H

#include <stddef.h>

/*
 * nearest_name() - the name that differs least from @word.
 * @name_at: returns the i-th name, NULL behind the last one; gets @arg.
 * Return: the name, as @name_at returned it; NULL: none is near.
 */
const char *nearest_name(const char *word, const char *(*name_at)(const void *arg, size_t i),
			 const void *arg);

#endif
