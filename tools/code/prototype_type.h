/* SPDX-License-Identifier: MIT */
/*
 * Shared by prototype.c, prototype_type.c and variable.c: types of DWARF and their classes of the
 * System V ABI.
 */
#ifndef VESTIGE_TOOLS_PROTOTYPE_TYPE_H
#define VESTIGE_TOOLS_PROTOTYPE_TYPE_H

#include <elfutils/libdw.h>

#include "tools/code/prototype.h"

/* The class of an eightbyte, in the System V ABI's terms. */
enum value_class {
	CLASS_NONE,    /* padding, an empty structure */
	CLASS_SSE,     /* in vector registers */
	CLASS_X87,     /* passed in memory, returned in x87 registers */
	CLASS_INTEGER, /* in general registers */
	CLASS_MEMORY,
};

struct classified {
	uint8_t nr_words;
	uint8_t class[VALUE_MAX_WORDS]; /* if the first is MEMORY, there is no other */
	uint8_t bytes[VALUE_MAX_WORDS]; /* up to the last that is used */
	bool aggregate;
	unsigned int steps; /* types that were looked at */
};

/*
 * type_read() - the type of @die, a parameter or a function (without a type: void).
 * @type: zeroed; registers are not chosen. @c: set to its classes.
 * Return: 0; -ENOENT: DWARF does not have it; -ENOMEM.
 */
int type_read(Dwarf_Die *die, struct value_type *type, struct classified *c);

/* The type of @die without typedefs and qualifiers, in @mem; NULL: void, or damaged DWARF. */
Dwarf_Die *type_of(Dwarf_Die *die, Dwarf_Die *mem);

/* The offset of a member. Return: false for a static one. */
bool type_member_offset(Dwarf_Die *member, uint64_t *offset);

/* The definition of the function that begins at @addr, if prototypes_find() has found it. */
bool prototypes_function(struct prototypes *p, uint64_t addr, Dwarf_Die *die);

/* Free what a type holds. */
void type_free(struct value_type *type);

#endif
