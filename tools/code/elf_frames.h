/* SPDX-License-Identifier: MIT */
/* Where the functions of a stripped ELF file begin, by the sorted table of .eh_frame_hdr. */
#ifndef VESTIGE_TOOLS_ELF_FRAMES_H
#define VESTIGE_TOOLS_ELF_FRAMES_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct elf_frame {
	uint64_t addr; /* as in the program headers */
	uint64_t size; /* 0: not known */
};

/*
 * elf_frames_read() - the rows of the table, by address.
 * @out: gets an array, to be freed; NULL: there is no table, or it has another form than linkers
 * write. @nr: its length.
 * Return: 0 or -ENOMEM.
 */
int elf_frames_read(Elf *e, struct elf_frame **out, size_t *nr);

#endif
