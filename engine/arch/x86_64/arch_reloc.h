/* SPDX-License-Identifier: MIT */
/* The relocations by which an object reaches functions of others. */
#ifndef VESTIGE_ARCH_RELOC_H
#define VESTIGE_ARCH_RELOC_H

#include <elf.h>
#include <stdint.h>

/* A word of the procedure linkage table: bound at its first call, or at once. */
static inline int arch_reloc_is_call(uint32_t type)
{
	return type == R_X86_64_JUMP_SLOT;
}

/* The word holds a symbol's address, also one that is only called. */
static inline int arch_reloc_is_address(uint32_t type)
{
	return type == R_X86_64_GLOB_DAT || arch_reloc_is_call(type);
}

#endif
