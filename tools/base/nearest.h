/* SPDX-License-Identifier: MIT */
/* Which name was meant by a word that is none. Tests: tests/unit/test_options.c. */
#ifndef VESTIGE_TOOLS_NEAREST_H
#define VESTIGE_TOOLS_NEAREST_H

#include <stddef.h>

/*
 * nearest_name() - the name that was probably meant.
 * @name_at: the i-th name, NULL behind the last one. Return: it, or NULL: none is near.
 */
const char *nearest_name(const char *word, const char *(*name_at)(const void *arg, size_t i),
			 const void *arg);

#endif
