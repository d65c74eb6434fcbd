/* SPDX-License-Identifier: MIT */
/*
 * The functions of an ELF file that was built without any flag of ours: their names, and how calls
 * of each can be traced (object/entries.h). Names are from elf_code.h; a function without a name is
 * OBJECT+0xOFFSET.
 */
#ifndef VESTIGE_TOOLS_UNMODIFIED_H
#define VESTIGE_TOOLS_UNMODIFIED_H

#include "object/entries.h"
#include "tools/code/elf_code.h"

struct unmodified {
	struct entries entries;
	struct elf_code code; /* its symbols by address */
	const char *base;     /* the file's base name, borrowed from the path */
	void *map;
	size_t bytes;
	uint32_t by_way[ENTRY_NR_WAYS]; /* functions */
	uint32_t by_why[ENTRY_NR_WHYS]; /* of those that are refused */
	uint32_t nr, nr_parts;		/* functions; pieces of some that lie elsewhere */
};

/*
 * unmodified_load() - read @path, which must stay valid until unmodified_free().
 * Return: 0 or -errno with fail() set: errors of open(), EINVAL (no ELF file of this machine, or
 * without code), ENOMEM. After success unmodified_free() frees.
 */
int unmodified_load(const char *path, struct unmodified *u);
void unmodified_free(struct unmodified *u);

/* The name of a function; a name that must be made is in @text, room for @bytes. */
const char *unmodified_name(const struct unmodified *u, const struct entry *f, char *text,
			    size_t bytes);

#endif
