/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_TOOLS_ELF_NEEDED_H
#define VESTIGE_TOOLS_ELF_NEEDED_H

#include <stddef.h>

/*
 * elf_needed() - the first shared object that a program is linked with and whose name begins with
 * @prefix.
 * @fd: of the program. @prefix: for example "libasan.so".
 * @name: gets it; "": the program needs no such object, or is no ELF file. @bytes: room there.
 */
void elf_needed(int fd, const char *prefix, char *name, size_t bytes);

#endif
