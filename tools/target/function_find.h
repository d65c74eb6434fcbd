/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions of a process that match a word of a control file, by their names in the
 * objects or in the source. For function_names.c. The names of an object's functions are read once
 * and kept for later calls, also for other processes with the same object, such as the members of a
 * session. All functions except those that parse words are called between function_find_begin() and
 * function_find_end().
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

/* The functions that match a word. */
struct functions_found {
	uint32_t *ids; /* functions that match by their names in the source alone */
	size_t nr, room;
	bool raw;   /* other functions match by their names in the objects */
	bool exact; /* the names of ids are equal to the word, not only matched by a glob */
};

void function_find_begin(void);
void function_find_end(void);

struct function_word function_word_split(const char *text, size_t n);
/* The offset of the colon behind the pattern, not one of a `::` in a name; @n: there is none. */
size_t function_word_colon(const char *text, size_t n);

/*
 * The names of the functions of object @i, borrowed until the next call; NULL: they cannot be read.
 */
const struct object_functions *function_names_of(const struct meta *m, uint32_t i);
/* The id of the function of object @i that begins at @addr; UINT32_MAX: no traceable function. */
uint32_t function_find_at(const struct meta *m, uint32_t i, uint64_t addr);

/*
 * function_find() - find the functions that match a word. @f: gets them, ids ascending;
 * free(f->ids) in any case. Return: 0 or -ENOMEM with fail() set.
 */
int function_find(const struct meta *m, const struct function_word *w, struct functions_found *f);
/* Set *@is to whether any function matches the word. Return: 0 or -ENOMEM with fail() set. */
int function_is_named(const struct meta *m, const struct function_word *w, bool *is);
/* For qsort() of ids. */
int function_by_id(const void *a, const void *b);

/*
 * function_find_one() - find the one function whose name in the source is @text, @n bytes.
 * @name: gets its name in the object, borrowed; NULL: there is none, or @text is also the name of a
 * function in an object. Return: 0; -errno with fail() set: ENOMEM; EADDRNOTAVAIL: there are
 * several.
 */
int function_find_one(const struct meta *m, const char *text, size_t n, const char **name);

#endif
