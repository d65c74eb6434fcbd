/* SPDX-License-Identifier: MIT */
/* Names of addresses of code, from the symbols of the objects' files. */
#ifndef VESTIGE_CORE_SYMBOL_NAMES_H
#define VESTIGE_CORE_SYMBOL_NAMES_H

#include <stdint.h>

#include "engine/base/seq_buf.h"

struct symbol_name {
	uint64_t address; /* set by the caller */
	uint64_t start;	  /* of the function that has it; 0: not known */
	char name[48];
};

/*
 * symbol_names() - look up @nr addresses, in ascending order. A return address is looked up as the
 * byte before it, since a call may be a function's last instruction. Under the tree lock; reads the
 * files.
 */
void symbol_names(struct symbol_name *rows, uint32_t nr);

/*
 * As symbol_names(), variables included; for a variable the address must be behind its first byte.
 */
void symbol_names_all(struct symbol_name *rows, uint32_t nr);

/* The row of an address, or NULL. @rows: in ascending order. */
const struct symbol_name *symbol_names_find(const struct symbol_name *rows, uint32_t nr,
					    uint64_t address);

/* Put `name+0x12`, or the address. */
void symbol_name_put(struct seq_buf *s, const struct symbol_name *row);

#endif
