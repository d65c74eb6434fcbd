/* SPDX-License-Identifier: MIT */
/*
 * A reader of ELF64 files that checks every offset against the file: a damaged file must not crash
 * the program that it belongs to. Runs in the constructor and wherever a filter is written; no
 * state; nothing for fork. Tests: tests/engine/targets.
 */
#include "engine/process/elf_file.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/process/object.h"

static int range_ok(const struct elf_file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset;
}

static int check_headers(struct elf_file *f, const struct object *o)
{
	const ElfW(Ehdr) *e = (const void *)f->map;

	if (f->bytes < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
	    e->e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOEXEC;
	if (e->e_phnum != o->nr_phdr || e->e_phentsize != sizeof(*o->phdr) ||
	    !range_ok(f, e->e_phoff, (uint64_t)o->nr_phdr * sizeof(*o->phdr)) ||
	    memcmp(f->map + e->e_phoff, o->phdr, o->nr_phdr * sizeof(*o->phdr)))
		return -ESTALE;
	if (e->e_shentsize == sizeof(ElfW(Shdr)) && e->e_shoff % 8 == 0 &&
	    range_ok(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof(ElfW(Shdr)))) {
		f->sections = (const void *)(f->map + e->e_shoff);
		f->nr_sections = e->e_shnum;
	}
	return 0;
}

int elf_file_open(struct elf_file *f, const struct object *o)
{
	int fd = object_open(o);
	long p;
	int err;

	memset(f, 0, sizeof(*f));
	if (fd < 0)
		return fd;
	err = sys_fstat(fd, &f->st);
	if (!err && !S_ISREG(f->st.st_mode))
		err = -ENOEXEC;
	if (err) {
		sys_close(fd);
		return err;
	}
	f->bytes = (size_t)f->st.st_size;
	p = sys_mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	sys_close(fd);
	if (sys_failed(p))
		return (int)p;
	f->map = (const void *)p;
	err = check_headers(f, o);
	if (err)
		elf_file_close(f);
	return err;
}

void elf_file_close(struct elf_file *f)
{
	if (f->map)
		sys_munmap((void *)(uintptr_t)f->map, f->bytes);
	f->map = NULL;
	f->nr_sections = 0;
}

/* A NUL-terminated string at @at of section @s, or NULL. */
static const char *string_at(const struct elf_file *f, const ElfW(Shdr) * s, uint64_t at)
{
	const char *text;
	uint64_t n;

	if (s->sh_type == SHT_NOBITS || !range_ok(f, s->sh_offset, s->sh_size) || at >= s->sh_size)
		return NULL;
	text = (const char *)f->map + s->sh_offset;
	for (n = at; n < s->sh_size; n++)
		if (!text[n])
			return text + at;
	return NULL;
}

const ElfW(Shdr) * elf_file_section(const struct elf_file *f, const char *name)
{
	const ElfW(Ehdr) *e = (const void *)f->map;
	uint32_t i;

	if (!f->nr_sections || e->e_shstrndx >= f->nr_sections)
		return NULL;
	for (i = 1; i < f->nr_sections; i++) {
		const char *s = string_at(f, &f->sections[e->e_shstrndx], f->sections[i].sh_name);

		if (s && str_equal(s, name))
			return &f->sections[i];
	}
	return NULL;
}

static int symbols_of(const struct elf_file *f, const ElfW(Shdr) * s, int data,
		      int (*callback)(void *arg, const ElfW(Sym) * sym, const char *name),
		      void *arg)
{
	const ElfW(Sym) * sym;
	const ElfW(Shdr) * strings;
	uint64_t n, i;

	if (s->sh_entsize != sizeof(*sym) || s->sh_offset % 8 || s->sh_link >= f->nr_sections ||
	    !range_ok(f, s->sh_offset, s->sh_size))
		return 0;
	strings = &f->sections[s->sh_link];
	/* the last byte is a NUL, so that every string ends */
	if (strings->sh_type != SHT_STRTAB || !strings->sh_size ||
	    !range_ok(f, strings->sh_offset, strings->sh_size) ||
	    f->map[strings->sh_offset + strings->sh_size - 1])
		return 0;
	sym = (const void *)(f->map + s->sh_offset);
	n = s->sh_size / sizeof(*sym);
	for (i = 0; i < n; i++, sym++) {
		unsigned int type = ELF64_ST_TYPE(sym->st_info);
		int err;

		if ((type != STT_FUNC && type != STT_GNU_IFUNC && (!data || type != STT_OBJECT)) ||
		    sym->st_shndx == SHN_UNDEF || !sym->st_value ||
		    sym->st_name >= strings->sh_size)
			continue;
		err = callback(arg, sym, (const char *)f->map + strings->sh_offset + sym->st_name);
		if (err)
			return err;
	}
	return 0;
}

static int each_symbol(const struct elf_file *f, int data,
		       int (*callback)(void *arg, const ElfW(Sym) * sym, const char *name),
		       void *arg)
{
	uint32_t i;
	int err = 0, has_symtab = 0;

	for (i = 1; i < f->nr_sections && !err; i++) {
		if (f->sections[i].sh_type == SHT_SYMTAB) {
			has_symtab = 1;
			err = symbols_of(f, &f->sections[i], data, callback, arg);
		}
	}
	/* .symtab has all that .dynsym has */
	for (i = 1; i < f->nr_sections && !err && !has_symtab; i++)
		if (f->sections[i].sh_type == SHT_DYNSYM)
			err = symbols_of(f, &f->sections[i], data, callback, arg);
	return err;
}

struct by_value {
	int (*callback)(void *arg, uint64_t value, const char *name);
	void *arg;
};

static int call_by_value(void *arg, const ElfW(Sym) * sym, const char *name)
{
	const struct by_value *b = arg;

	return b->callback(b->arg, sym->st_value, name);
}

int elf_file_symbols(const struct elf_file *f,
		     int (*callback)(void *arg, uint64_t value, const char *name), void *arg)
{
	struct by_value b = {callback, arg};

	return each_symbol(f, 0, call_by_value, &b);
}

int elf_file_all_symbols(const struct elf_file *f,
			 int (*callback)(void *arg, uint64_t value, const char *name), void *arg)
{
	struct by_value b = {callback, arg};

	return each_symbol(f, 1, call_by_value, &b);
}

int elf_file_sized_symbols(const struct elf_file *f,
			   int (*callback)(void *arg, const ElfW(Sym) * sym, const char *name),
			   void *arg)
{
	return each_symbol(f, 0, callback, arg);
}
