/* SPDX-License-Identifier: MIT */
/*
 * Reads from an ELF file: its code sections, function symbols, the names of its PLT stubs, its
 * build-id, and its interpreter. Symbols are taken from the first of these that has any: the file's
 * symbol table; its debug file (by build-id below /usr/lib/debug, by .gnu_debuglink, or from a
 * debuginfod); the dynamic symbols and .gnu_debugdata.
 */
#ifndef VESTIGE_TOOLS_ELF_CODE_H
#define VESTIGE_TOOLS_ELF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_RANK_STUB 3 /* of the PLT */

struct elf_symbol {
	uint64_t addr; /* as in the program headers */
	uint64_t size;
	const char *name; /* without a version */
	/* *+0xADDRESS, for the engine, if the name is not in the file itself; else NULL */
	const char *alias;
	uint8_t rank; /* 0 global, 1 weak, 2 local, ELF_RANK_STUB */
	char type;    /* nm's letter */
};

struct elf_section {
	uint64_t addr;
	uint64_t size;
	const char *name;
};

struct elf_code {
	bool has_aliases;
	struct elf_symbol *symbols; /* in the file's order, several may have one address */
	size_t nr_symbols, room;
	struct elf_section *sections; /* executable ones */
	size_t nr_sections;
	/* where functions begin, if no symbol table has all of their names; by address */
	struct elf_frame *frames;
	size_t nr_frames;
	uint8_t build_id[64];
	unsigned int build_id_bytes; /* 0 none */
	uint64_t dev, ino;
	int64_t mtime_ns;
	struct name_block *names; /* owns the strings */
};

#define ELF_CODE_UNNAMED 300 /* room for a name of elf_code_unnamed() */

/*
 * elf_code_unnamed() - the name of a function without a symbol: OBJECT+0xADDRESS, as filters accept
 * it (engine/core/function_set.c). @path: of the object; OBJECT is its last part.
 * @to: room for ELF_CODE_UNNAMED bytes. Return: @to.
 */
const char *elf_code_unnamed(char *to, const char *path, uint64_t addr);

/*
 * elf_code_load() - read @path.
 * @code: zeroed by the caller; freed with elf_code_free(), after success only.
 * Return: 0 or -errno with fail() set: ENOENT, EACCES, EINVAL (not ELF), ENOMEM.
 */
int elf_code_load(const char *path, struct elf_code *code);
void elf_code_free(struct elf_code *code);

/* Add a symbol; @name is copied, s->name is ignored. Return: 0 or -ENOMEM. */
int elf_code_add(struct elf_code *code, const struct elf_symbol *s, const char *name);

/* How an ELF file is started. */
struct elf_start {
	uint8_t class, data;
	uint16_t machine, type;
	char interp[256]; /* "" none */
	uint64_t entry;	  /* as in the program headers */
	uint64_t ready;	  /* address of engine_ready() of libvestige.a; 0: it is not in the file */
};

/*
 * elf_start_read() - read the head of @fd's file.
 * @what: names it in errors.
 * Return: 0 or -errno with fail() set; ENOEXEC when it is not an ELF file.
 */
int elf_start_read(int fd, const char *what, struct elf_start *out);

#endif
