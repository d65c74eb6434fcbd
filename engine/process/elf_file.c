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

#define FEW_SECTIONS 96u
#define FEW_BYTES    2048u

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

/* As elf_file_names(), for a file of any size. */
static int names_in_map(const struct object *o, const char *const *names, uint32_t nr)
{
	struct elf_file f;
	int found = elf_file_open(&f, o);
	uint32_t i;

	if (found)
		return found;
	for (i = 0; i < nr; i++)
		found |= !!elf_file_section(&f, names[i]) << i;
	elf_file_close(&f);
	return found;
}

/* As elf_file_names(), of the file with the header @e. -E2BIG: it has too many sections. */
static int names_of(int fd, const ElfW(Ehdr) * e, const char *const *names, uint32_t nr)
{
	ElfW(Shdr) sections[FEW_SECTIONS];
	const ElfW(Shdr) * texts;
	const long bytes = (long)(e->e_shnum * sizeof(*sections));
	char text[FEW_BYTES];
	uint32_t i, k;
	int found = 0;

	if (e->e_shentsize != sizeof(*sections) || e->e_shnum > FEW_SECTIONS ||
	    e->e_shstrndx >= e->e_shnum)
		return -E2BIG;
	texts = &sections[e->e_shstrndx];
	if (sys_pread(fd, sections, (size_t)bytes, e->e_shoff) != bytes ||
	    texts->sh_type == SHT_NOBITS || texts->sh_size >= sizeof(text) ||
	    sys_pread(fd, text, texts->sh_size, texts->sh_offset) != (long)texts->sh_size)
		return -E2BIG;
	text[texts->sh_size] = 0;
	for (i = 1; i < e->e_shnum; i++)
		for (k = 0; k < nr && sections[i].sh_name < texts->sh_size; k++)
			found |= str_equal(text + sections[i].sh_name, names[k]) << k;
	return found;
}

int elf_file_names(const struct object *o, const char *const *names, uint32_t nr)
{
	union {
		ElfW(Ehdr) e;
		uint8_t bytes[FEW_BYTES];
	} head;
	struct elf_file f = {.map = head.bytes};
	int fd = object_open(o), found;
	long n;

	if (fd < 0)
		return fd;
	n = sys_pread(fd, head.bytes, sizeof(head), 0);
	f.bytes = n > 0 ? (size_t)n : 0;
	found = check_headers(&f, o);
	if (found == -ESTALE && f.bytes == sizeof(head))
		found = -E2BIG; /* the program headers may be behind these bytes */
	if (!found)
		found = names_of(fd, &head.e, names, nr);
	sys_close(fd);
	return found == -E2BIG ? names_in_map(o, names, nr) : found;
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
