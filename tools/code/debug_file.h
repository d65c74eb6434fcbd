/* SPDX-License-Identifier: MIT */
/* The debug files of an ELF file: with the symbols and the DWARF that it was stripped of. */
#ifndef VESTIGE_TOOLS_DEBUG_FILE_H
#define VESTIGE_TOOLS_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct debug_file_of {
	const char *path;	       /* of the object */
	const unsigned char *build_id; /* @build_id_bytes; 0: it has none */
	size_t build_id_bytes;
	const char *link; /* the name in .gnu_debuglink; NULL: none */
	uint32_t crc;	  /* of that file */
};

/*
 * debug_file_next() - open the next debug file: the one below /usr/lib/debug/.build-id, then those
 * that .gnu_debuglink names, then the one of a debuginfod server, if DEBUGINFOD_URLS is set. Only
 * regular files with the object's build-id are taken, or, if it has none, with the link's CRC. A
 * FIFO, or another file that open() or read() would wait for, is passed over. The server may take
 * up to DEBUGINFOD_TIMEOUT.
 * @of: the object. @place: 0 at first; the next place to look at.
 * Return: a descriptor, to be closed; -1: there is no more.
 */
int debug_file_next(const struct debug_file_of *of, unsigned int *place);

/*
 * debug_file_find() - the same for libdwfl: `find_debuginfo` of struct Dwfl_Callbacks, in place of
 * dwfl_standard_find_debuginfo(). The parts that dwz took out of a debug file are found, too.
 */
int debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    const char *path, const char *link, GElf_Word crc, char **found);

/*
 * elf_build_id() - copy the build-id of an ELF file.
 * @id: room for 64 bytes. Return: bytes; 0: it has none, or a longer one.
 */
unsigned int elf_build_id(Elf *e, unsigned char *id);

#endif
