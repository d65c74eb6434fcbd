/* SPDX-License-Identifier: MIT */
/* The relocations by which an object reaches functions of other objects. */
#ifndef VESTIGE_ARCH_RELOC_H
#define VESTIGE_ARCH_RELOC_H

#include <elf.h>
#include <stdint.h>

/* Of a word of the procedure linkage table, bound at the first call or when it is loaded. */
static inline int arch_reloc_is_call(uint32_t type)
{
	return type == R_X86_64_JUMP_SLOT;
}

/* Of a word that holds a symbol's address, a word of the procedure linkage table included. */
static inline int arch_reloc_is_address(uint32_t type)
{
	return type == R_X86_64_GLOB_DAT || arch_reloc_is_call(type);
}

#endif
