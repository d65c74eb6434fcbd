/* SPDX-License-Identifier: MIT */
/* The file of a loaded object, for section headers and .symtab, which the loader does not map. */
#ifndef VESTIGE_PROCESS_ELF_FILE_H
#define VESTIGE_PROCESS_ELF_FILE_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct object;

struct elf_file {
	const uint8_t *map;
	size_t bytes;
	const ElfW(Shdr) * sections;
	uint32_t nr_sections;
	struct stat st;
};

/*
 * elf_file_open() - map an object's file read-only. Its program headers must be those that the
 * object has in memory; otherwise it is another file. Return: 0, to be undone by elf_file_close();
 * -ESTALE: the file was replaced; -ENOEXEC; -errno of open(). A file without section headers opens
 * with nr_sections 0.
 */
int elf_file_open(struct elf_file *f, const struct object *o);
void elf_file_close(struct elf_file *f);

/* The section of that name, or NULL. Whether its contents are in the file is not checked. */
const ElfW(Shdr) * elf_file_section(const struct elf_file *f, const char *name);

/*
 * elf_file_names() - which of @names are sections of an object's file. Reads the headers alone, if
 * they are of the usual size, which is faster than a map. @nr: names, at most 31.
 * Return: a bit for each of the names that there is; -errno as elf_file_open().
 */
int elf_file_names(const struct object *o, const char *const *names, uint32_t nr);

/*
 * elf_file_symbols() - call @each for each defined function symbol of .symtab and .dynsym. @value:
 * its address, without the bias. @name: valid during the call. Stops when @each returns non-zero,
 * and returns that.
 */
int elf_file_symbols(const struct elf_file *f,
		     int (*callback)(void *arg, uint64_t value, const char *name), void *arg);

/* As elf_file_symbols(), with the symbol's whole entry. */
int elf_file_sized_symbols(const struct elf_file *f,
			   int (*callback)(void *arg, const ElfW(Sym) * sym, const char *name),
			   void *arg);

/* As elf_file_sized_symbols(), for variables, too. */
int elf_file_all_symbols(const struct elf_file *f,
			 int (*callback)(void *arg, uint64_t value, const char *name), void *arg);

#endif
