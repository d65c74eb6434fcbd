/* SPDX-License-Identifier: MIT */
/* What prototype.c asks of prototype_type.c: types of DWARF and their classes of the System V ABI. */
#ifndef VESTIGE_TOOLS_PROTOTYPE_TYPE_H
#define VESTIGE_TOOLS_PROTOTYPE_TYPE_H

#include <elfutils/libdw.h>

#include "tools/reader/prototype.h"

/* Of an eightbyte, and of what has none. */
enum value_class {
	CLASS_NONE,    /* padding, an empty structure */
	CLASS_SSE,     /* in vector registers */
	CLASS_X87,     /* passed in memory, returned in x87 registers */
	CLASS_INTEGER, /* in general registers */
	CLASS_MEMORY,
};

struct classified {
	uint8_t nr_words;
	uint8_t class[VALUE_MAX_WORDS]; /* MEMORY: of the first, and there is no other */
	uint8_t bytes[VALUE_MAX_WORDS]; /* up to the last that is used */
	bool aggregate;
};

/*
 * type_read() - the type of @die, of a parameter or a function (@die has no type: void).
 * @type: zeroed; registers are not chosen. @c: set to its classes.
 * Return: 0; -ENOENT: DWARF does not tell; -ENOMEM.
 */
int type_read(Dwarf_Die *die, struct value_type *type, struct classified *c);

/* Free what a type holds. */
void type_free(struct value_type *type);

#endif
