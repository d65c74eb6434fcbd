/* SPDX-License-Identifier: MIT */
/*
 * The parameters and the result of a function, by the DWARF of its object, and the registers in
 * which the System V ABI passes them. Memory of the program is never read: a value that is in no
 * recorded register is not known.
 */
#ifndef VESTIGE_TOOLS_PROTOTYPE_H
#define VESTIGE_TOOLS_PROTOTYPE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/code/symbols.h"

enum value_kind {
	VALUE_UNKNOWN, /* in no register that is recorded: floating point, or in memory */
	VALUE_VOID,    /* a function returns nothing */
	VALUE_SIGNED,
	VALUE_UNSIGNED,
	VALUE_BOOL,
	VALUE_CHAR, /* signed or not, one byte */
	VALUE_POINTER,
	VALUE_ENUM,
	VALUE_WORDS, /* a structure, or an integer of 16 bytes: word by word */
};

struct value_name {
	int64_t value;
	char *name;
};

#define VALUE_MAX_WORDS 2

struct value_type {
	enum value_kind kind;
	uint8_t bytes;
	bool is_signed;			     /* VALUE_ENUM, VALUE_CHAR */
	uint8_t nr_words;		     /* 0 of an empty structure */
	uint8_t word_bytes[VALUE_MAX_WORDS]; /* VALUE_WORDS: used bytes of each word */
	int8_t reg[VALUE_MAX_WORDS];	     /* which argument register has each word; < 0 none */
	bool is_constant;		     /* every call passes `constant`, in no register */
	uint64_t constant;
	uint32_t nr_names;
	struct value_name *names; /* VALUE_ENUM */
};

struct prototype_param {
	char *name; /* NULL: it has none */
	struct value_type type;
	int16_t argument; /* which integer or pointer argument it is, from 1, those on the stack
			     behind those in registers; 0: none, or it is not known */
};

struct prototype {
	uint32_t nr;
	struct prototype_param *params;
	bool variadic;
	struct value_type result; /* reg 0 is rax */
};

struct prototypes;

/* @symbols: borrowed; has the objects. Return: NULL and errno if memory is short. */
struct prototypes *prototypes_new(struct symbols *symbols);
void prototypes_free(struct prototypes *p);

/*
 * From now on assume that arguments are passed as the calling convention has it, even if the
 * compiler has changed the function.
 */
void prototypes_as_written(struct prototypes *p);

/*
 * prototypes_find() - the prototype of the function that begins at @addr, of a trace.dat's address
 * space. Return: it, borrowed; NULL: the object or its DWARF is not on this machine, or has no
 * prototype.
 */
const struct prototype *prototypes_find(struct prototypes *p, uint64_t addr);

/*
 * prototypes_put() - write all prototypes that prototypes_find() has found, as text, in order of
 * address. Errors are in ferror(@f).
 */
void prototypes_put(struct prototypes *p, FILE *f);

/*
 * prototypes_add_text() - add the prototypes of a text that prototypes_put() wrote.
 * @text: ends with NUL; is changed. Lines that do not parse are skipped. Return: 0 or -ENOMEM.
 */
int prototypes_add_text(struct prototypes *p, char *text);

#endif
