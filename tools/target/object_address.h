/* SPDX-License-Identifier: MIT */
/*
 * Addresses of code as /proc/kallsyms and traces have them, within `vestige enter`: in the ranges of objects
 * (tools/reader/symbols.h), the same in every process. Who writes one means the process's own.
 */
#ifndef VESTIGE_TOOLS_OBJECT_ADDRESS_H
#define VESTIGE_TOOLS_OBJECT_ADDRESS_H

#include "tools/reader/meta.h"
#include "tools/target/target.h"

/* No program has any of these (symbols_elf.h). */
static inline bool object_address_is_of_trace(uint64_t address)
{
	return address >> 59 == 1;
}

/* Where the process has it; any other stays what it is. */
uint64_t object_address_now(const struct meta *m, uint64_t address);

/*
 * object_addresses_tell() - what to write to @file of the process in place of @text, @n bytes.
 * @out: malloced, *@out_n bytes; NULL: the text as it is: there is none in it that the process has.
 * Return: 0 or -ENOMEM with fail() set.
 */
int object_addresses_tell(const struct target *t, const char *file, const char *text, size_t n,
			  char **out, size_t *out_n);

#endif
