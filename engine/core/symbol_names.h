/* SPDX-License-Identifier: MIT */
/* Names of addresses of code, from the symbols of the objects' files. */
#ifndef VESTIGE_CORE_SYMBOL_NAMES_H
#define VESTIGE_CORE_SYMBOL_NAMES_H

#include <stdint.h>

#include "engine/base/seq_buf.h"

struct symbol_name {
	uint64_t address; /* the caller's */
	uint64_t start;	  /* of the function that it lies in; 0: not known */
	char name[48];
};

/*
 * symbol_names() - look up @nr addresses, which are sorted upwards. A return address is looked up
 * as the byte before it, since a call may be the last instruction. Under the tree's lock; reads
 * the files.
 */
void symbol_names(struct symbol_name *rows, uint32_t nr);

/* The same with the names of variables: of a variable the address behind its first byte. */
void symbol_names_all(struct symbol_name *rows, uint32_t nr);

/* The row of an address, or NULL. @rows: sorted. */
const struct symbol_name *symbol_names_find(const struct symbol_name *rows, uint32_t nr,
					    uint64_t address);

/* `name+0x12`, or the address. */
void symbol_name_put(struct seq_buf *s, const struct symbol_name *row);

#endif
