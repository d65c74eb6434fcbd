/* SPDX-License-Identifier: MIT */
/*
 * The grammar of set_ftrace_filter: words between blanks, each `glob`, `glob:mod:objectglob`,
 * `glob:command` or `N`, perhaps behind a `!`. Text in, slices of it out; any context.
 */
#ifndef VESTIGE_CORE_FUNCTION_WORD_H
#define VESTIGE_CORE_FUNCTION_WORD_H

#include <stddef.h>
#include <stdint.h>

struct function_word {
	const char *glob; /* of the functions; "*" when the word names an object alone */
	size_t n;
	const char *module; /* the object's glob, NULL: all objects */
	size_t module_bytes;
	const char *command; /* `traceoff:3`, NULL: there is none */
	size_t command_bytes;
	uint64_t number; /* N of available_filter_functions, from 1; then there is no glob */
	int is_number;
	int add; /* 0: `!`, take it out */
};

/* Take a word of @n bytes apart. Return: 0, or -EINVAL: it is empty. */
int function_word_parse(const char *word, size_t n, struct function_word *w);

#endif
