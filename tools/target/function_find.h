/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions of a process that a word of a control file names, by their names in the
 * objects or in the source. For function_names.c. The names of an object's functions are read once
 * and kept for later calls, for this process or another with the same object: a session looks them
 * up for each of its members. Everything except the parsing of words is called between
 * function_find_begin() and _end().
 */
#ifndef VESTIGE_TOOLS_FUNCTION_FIND_H
#define VESTIGE_TOOLS_FUNCTION_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/area/meta.h"
#include "tools/code/elf_code.h"

struct object_functions {
	uint64_t identity;
	unsigned int used;
	bool readable;
	bool has_source; /* names of C++ or Rust are among them */
	struct elf_code code;
};

/* A word of a set: `[!]PATTERN[:mod:MODULE | :COMMAND...]`. */
struct function_word {
	const char *pattern, *module, *rest; /* rest: from the colon on */
	size_t n, module_bytes, rest_bytes;
	bool remove;
};

/* The functions that a word names. */
struct functions_found {
	uint32_t *ids; /* functions that it does not name by their names in the objects */
	size_t nr, room;
	bool raw;   /* it names others by these */
	bool exact; /* ids are of its very name */
};

void function_find_begin(void);
void function_find_end(void);

struct function_word function_word_split(const char *text, size_t n);
/* The colon behind the pattern, which is none of the `::` of a name; @n: there is none. */
size_t function_word_colon(const char *text, size_t n);

/* The functions' names of object @i until the next call; NULL: they cannot be read. */
const struct object_functions *function_names_of(const struct meta *m, uint32_t i);
/* The number of the function of object @i that begins at @addr; UINT32_MAX: none to be traced. */
uint32_t function_find_at(const struct meta *m, uint32_t i, uint64_t addr);

/*
 * function_find() - find the functions that a word names. @f: to be freed with free(f->ids),
 * whatever is returned, its ids in order. Return: 0 or -errno with fail() set, as below.
 */
int function_find(const struct meta *m, const struct function_word *w, struct functions_found *f);
/* Whether it names any function at all; *@is is set. Return: 0 or -ENOMEM with fail() set. */
int function_is_named(const struct meta *m, const struct function_word *w, bool *is);
int function_by_id(const void *a, const void *b);

/*
 * function_find_one() - the name in its object of the one function that has the source's name
 * @text, borrowed; NULL: there is none, or an object has a function of the same name.
 */
int function_find_one(const struct meta *m, const char *text, size_t n, const char **name);

#endif
