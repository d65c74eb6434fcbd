/* SPDX-License-Identifier: MIT */
/* Names of data in an ELF file. */
#ifndef VESTIGE_TOOLS_ELF_DATA_H
#define VESTIGE_TOOLS_ELF_DATA_H

#include <stddef.h>
#include <stdint.h>

/*
 * elf_data_name() - the name of the variable at an address, from the symbol tables, with `+0xN` if
 * the address is not its first.
 * @path: the file. @addr: as in its program headers. @name: room for @bytes; "" if there is none.
 * Return: 0; -errno, without a message: the file cannot be read.
 */
int elf_data_name(const char *path, uint64_t addr, char *name, size_t bytes);

#endif
