/* SPDX-License-Identifier: MIT */
/*
 * The grammar of set_ftrace_filter: words separated by blanks, each `glob`, `glob:mod:objectglob`,
 * `glob:command` or `N`, with or without a `!` before it. Returns slices of the text that it gets;
 * any context.
 */
#ifndef VESTIGE_CORE_FUNCTION_WORD_H
#define VESTIGE_CORE_FUNCTION_WORD_H

#include <stddef.h>
#include <stdint.h>

struct function_word {
	const char *glob; /* glob for functions; "*" if the word only has an object */
	size_t n;
	const char *module; /* glob for objects; NULL: all objects */
	size_t module_bytes;
	const char *command; /* such as `traceoff:3`; NULL: none */
	size_t command_bytes;
	uint64_t number; /* index in available_filter_functions, from 1; then there is no glob */
	int is_number;
	int add; /* 0: there is a `!`: remove */
};

/* Parse a word of @n bytes. Return: 0; -EINVAL: it is empty. */
int function_word_parse(const char *word, size_t n, struct function_word *w);

#endif
