/* SPDX-License-Identifier: MIT */
/*
 * Addresses of code as /proc/kallsyms and traces have them, within `vestige enter`: in the ranges
 * of objects (tools/code/symbols.h), the same in every process. An address in a write is translated
 * to the process's own.
 */
#ifndef VESTIGE_TOOLS_OBJECT_ADDRESS_H
#define VESTIGE_TOOLS_OBJECT_ADDRESS_H

#include "tools/area/meta.h"
#include "tools/target/image.h"

/* No program has any of these (object_space.h). */
static inline bool object_address_is_of_trace(uint64_t address)
{
	return address >> 59 == 1;
}

/* The process's own address for an address of a trace; any other @address is returned as it is. */
uint64_t object_address_now(const struct meta *m, uint64_t address);

/*
 * object_addresses_translate() - the text to write to @file of the process in place of @text, @n
 * bytes.
 * @translated: zero at first; its text stays NULL if @text has no address of the process.
 * Return: 0 or -ENOMEM with fail() set.
 */
int object_addresses_translate(const struct image *t, const char *file, const char *text, size_t n,
			       struct translated *translated);

/* Is there an address of a trace in @text, which differs between processes? */
bool object_addresses_are_in(const char *file, const char *text, size_t n);

#endif
