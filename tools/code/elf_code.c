/* SPDX-License-Identifier: MIT */
/*
 * Reads ELF files with libelf: see elf_code.h. libelf checks offsets against the file's size. Files
 * are read, not mapped, so a file that shrinks meanwhile gives an error and not a signal.
 * Tests: tests/unit/reader/test_object_space.c.
 */
#include "tools/code/elf_code.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <libelf.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/open_regular.h"
#include "tools/code/debug_file.h"
#include "tools/code/elf_frames.h"

#define NAME_BLOCK 65536

#define MAX_XZ_MEMORY (UINT64_C(128) << 20) /* limit for unpacking */
#define MAX_XZ_BYTES  ((size_t)256 << 20)

struct name_block {
	struct name_block *next;
	size_t used, size;
	char text[];
};

/* Keep a copy of the first @n bytes of @name with @suffix behind it. */
static const char *keep_name(struct elf_code *c, const char *name, size_t n, const char *suffix)
{
	size_t need = n + strlen(suffix) + 1;
	struct name_block *b = c->names;
	char *p;

	if (!b || b->size - b->used < need) {
		size_t size = need > NAME_BLOCK ? need : NAME_BLOCK;

		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct name_block){.next = c->names, .size = size};
		c->names = b;
	}
	p = b->text + b->used;
	memcpy(p, name, n);
	strcpy(p + n, suffix);
	b->used += need;
	return p;
}

static int add_symbol(struct elf_code *c, const struct elf_symbol *s, const char *name, size_t n,
		      const char *suffix)
{
	if (ARRAY_ROOM(c->symbols, c->nr_symbols, c->room, 256))
		return -ENOMEM;
	name = keep_name(c, name, n, suffix);
	if (!name)
		return -ENOMEM;
	c->symbols[c->nr_symbols] = *s;
	c->symbols[c->nr_symbols++].name = name;
	return 0;
}

int elf_code_add(struct elf_code *c, const struct elf_symbol *s, const char *name)
{
	return add_symbol(c, s, name, strlen(name), "");
}

/* Blanks and control characters would break the lines that names are written in. */
static bool name_is_plain(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 127)
			return false;
	return true;
}

static int add_table(struct elf_code *c, Elf *e, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n;

	if (!data || !sh->sh_entsize)
		return 0;
	n = data->d_size / sh->sh_entsize;
	for (size_t i = 1; i < n; i++) {
		struct elf_symbol s = {0};
		unsigned int bind, type;
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		bind = GELF_ST_BIND(sym.st_info);
		type = GELF_ST_TYPE(sym.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF ||
		    sym.st_shndx == SHN_ABS)
			continue;
		name = elf_strptr(e, sh->sh_link, sym.st_name);
		if (!name || !name_is_plain(name))
			continue;
		s.addr = sym.st_value;
		s.size = sym.st_size;
		s.rank = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 0
			 : bind == STB_WEAK			      ? 1
								      : 2;
		s.type = s.rank == 0 ? 'T' : s.rank == 1 ? 'W' : 't';
		if (add_symbol(c, &s, name, name[0] == '@' ? strlen(name) : strcspn(name, "@"), ""))
			return -ENOMEM;
	}
	return 0;
}

/* The symbols of the first section of type @type; *found when there was one. */
static int add_tables(struct elf_code *c, Elf *e, unsigned int type, bool *found)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		*found = true;
		return add_table(c, e, scn, &sh);
	}
	return 0;
}

static int read_sections(struct elf_code *c, Elf *e)
{
	Elf_Scn *scn = NULL;
	size_t names = 0, nr = 0;
	GElf_Shdr sh;

	elf_getshdrnum(e, &nr);
	if (!nr)
		return 0;
	c->sections = calloc(nr, sizeof(*c->sections));
	if (!c->sections)
		return -ENOMEM;
	elf_getshdrstrndx(e, &names);
	while (c->nr_sections < nr && (scn = elf_nextscn(e, scn))) {
		struct elf_section *s = &c->sections[c->nr_sections];
		const char *name;

		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    !(sh.sh_flags & SHF_ALLOC) || !sh.sh_size ||
		    sh.sh_addr + sh.sh_size < sh.sh_addr)
			continue;
		name = elf_strptr(e, names, sh.sh_name);
		if (!name || !name_is_plain(name))
			name = ".code";
		s->addr = sh.sh_addr;
		s->size = sh.sh_size;
		s->name = keep_name(c, name, strlen(name), "");
		if (!s->name)
			return -ENOMEM;
		c->nr_sections++;
	}
	return 0;
}

struct slot {
	uint64_t addr;
	const char *name; /* borrowed from libelf */
};

static int by_slot(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The GOT slots that relocations fill, with the symbol each is filled with. */
static int read_slots(Elf *e, struct slot **out, size_t *nr_out)
{
	Elf_Scn *scn = NULL;
	struct slot *slots = NULL;
	size_t nr = 0, room = 0;
	GElf_Shdr sh, symsh;

	while ((scn = elf_nextscn(e, scn))) {
		Elf_Scn *symscn;
		Elf_Data *data, *syms;
		size_t n;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !sh.sh_entsize ||
		    !(sh.sh_flags & SHF_ALLOC))
			continue;
		symscn = elf_getscn(e, sh.sh_link);
		data = elf_getdata(scn, NULL);
		syms = symscn ? elf_getdata(symscn, NULL) : NULL;
		if (!data || !syms || !gelf_getshdr(symscn, &symsh))
			continue;
		n = data->d_size / sh.sh_entsize;
		for (size_t i = 0; i < n; i++) {
			GElf_Rela rela;
			GElf_Sym sym;
			const char *name;

			if (!gelf_getrela(data, (int)i, &rela) || !GELF_R_SYM(rela.r_info) ||
			    !gelf_getsym(syms, (int)GELF_R_SYM(rela.r_info), &sym))
				continue;
			name = elf_strptr(e, symsh.sh_link, sym.st_name);
			if (!name || !name_is_plain(name))
				continue;
			if (ARRAY_ROOM(slots, nr, room, 256)) {
				free(slots);
				return -ENOMEM;
			}
			slots[nr++] = (struct slot){rela.r_offset, name};
		}
	}
	if (nr)
		qsort(slots, nr, sizeof(*slots), by_slot);
	*out = slots;
	*nr_out = nr;
	return 0;
}

/*
 * Stubs of the PLT on x86-64: `jmp *disp32(%rip)`, with or without endbr64 and bnd before it. With
 * every linker a relocation fills the GOT slot of that jump with a symbol, which is the stub's
 * name.
 */
static int add_plt(struct elf_code *c, Elf *e)
{
	struct slot *slots;
	size_t nr, names = 0;
	Elf_Scn *scn = NULL;
	int err;

	err = read_slots(e, &slots, &nr);
	if (err || !nr)
		return err;
	elf_getshdrstrndx(e, &names);
	while (!err && (scn = elf_nextscn(e, scn))) {
		GElf_Shdr sh;
		const char *name;
		Elf_Data *data;
		const unsigned char *p;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_EXECINSTR))
			continue;
		name = elf_strptr(e, names, sh.sh_name);
		if (!name || strncmp(name, ".plt", 4))
			continue;
		data = elf_getdata(scn, NULL);
		if (!data)
			continue;
		p = data->d_buf;
		for (size_t at = 0; at + 8 <= data->d_size; at += 8) {
			size_t jmp = at;
			struct elf_symbol s = {.rank = ELF_RANK_STUB, .type = 't'};
			struct slot key, *hit;
			int32_t disp;

			if (!memcmp(p + jmp, "\xf3\x0f\x1e\xfa", 4))
				jmp += 4;
			if (jmp < data->d_size && p[jmp] == 0xf2)
				jmp++;
			if (jmp + 6 > data->d_size || p[jmp] != 0xff || p[jmp + 1] != 0x25)
				continue;
			memcpy(&disp, p + jmp + 2, 4);
			key.addr = sh.sh_addr + jmp + 6 + (uint64_t)(int64_t)disp;
			hit = bsearch(&key, slots, nr, sizeof(*slots), by_slot);
			if (!hit)
				continue;
			s.addr = sh.sh_addr + at;
			s.size = at % 16 == 0 && sh.sh_entsize == 16 ? 16 : jmp + 6 - at;
			err = add_symbol(c, &s, hit->name, strcspn(hit->name, "@"), "@plt");
			if (err)
				break;
		}
	}
	free(slots);
	return err;
}

/* Add the symbols of the first debug file that has any. */
static int add_debug_files(struct elf_code *c, Elf *object, const char *path, bool *found)
{
	GElf_Word crc = 0;
	struct debug_file_of of = {
		.path = path,
		.build_id = c->build_id,
		.build_id_bytes = c->build_id_bytes,
		.link = dwelf_elf_gnu_debuglink(object, &crc),
	};
	unsigned int place = 0;
	int fd, err = 0;

	of.crc = crc;
	while (!err && !*found && (fd = debug_file_next(&of, &place)) >= 0) {
		Elf *e = elf_begin(fd, ELF_C_READ, NULL);

		if (e)
			err = add_tables(c, e, SHT_SYMTAB, found);
		elf_end(e);
		close(fd);
	}
	return err;
}

/* An xz stream unpacked, malloced; NULL: it is damaged, or larger than a table of symbols is. */
static char *unpack_xz(const Elf_Data *packed, size_t *n)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret ret = LZMA_OK;
	char *out = NULL;
	size_t room = 0;

	if (lzma_stream_decoder(&s, MAX_XZ_MEMORY, 0) != LZMA_OK)
		return NULL;
	s.next_in = packed->d_buf;
	s.avail_in = packed->d_size;
	while (ret == LZMA_OK && room < MAX_XZ_BYTES) {
		size_t more = room ? room : 65536;
		char *grown = realloc(out, room + more);

		if (!grown)
			break;
		out = grown;
		s.next_out = (uint8_t *)out + room;
		s.avail_out = more;
		room += more;
		/* ends with the input, or with LZMA_BUF_ERROR if the input is cut off */
		do
			ret = lzma_code(&s, LZMA_FINISH);
		while (ret == LZMA_OK && s.avail_out);
	}
	*n = s.total_out;
	lzma_end(&s);
	if (ret == LZMA_STREAM_END)
		return out;
	free(out);
	return NULL;
}

/* .gnu_debugdata, in files of Fedora: a compressed ELF file with the symbols that .dynsym lacks. */
static int add_packed(struct elf_code *c, Elf *e)
{
	Elf_Scn *scn = NULL;
	size_t names = 0, n;
	bool found = false;
	int err = 0;

	elf_getshdrstrndx(e, &names);
	while (!found && (scn = elf_nextscn(e, scn))) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(e, names, sh.sh_name) : NULL;
		Elf_Data *data;
		char *bytes;
		Elf *inner;

		if (!name || strcmp(name, ".gnu_debugdata"))
			continue;
		found = true;
		data = elf_rawdata(scn, NULL);
		bytes = data && data->d_size ? unpack_xz(data, &n) : NULL;
		inner = bytes ? elf_memory(bytes, n) : NULL;
		if (inner && elf_kind(inner) == ELF_K_ELF)
			err = add_tables(c, inner, SHT_SYMTAB, &found);
		elf_end(inner);
		free(bytes);
	}
	return err;
}

const char *elf_code_unnamed(char *to, const char *path, uint64_t addr)
{
	const char *slash = strrchr(path, '/');

	snprintf(to, ELF_CODE_UNNAMED, "%.*s+0x%" PRIx64, NAME_MAX, slash ? slash + 1 : path, addr);
	return to;
}

/* Add aliases to symbols of another file. `*`: the engine may know the object by another path. */
static int add_aliases(struct elf_code *c)
{
	char text[ELF_CODE_UNNAMED];

	for (size_t i = 0; i < c->nr_symbols; i++) {
		elf_code_unnamed(text, "*", c->symbols[i].addr);
		c->symbols[i].alias = keep_name(c, text, strlen(text), "");
		if (!c->symbols[i].alias)
			return -ENOMEM;
		c->has_aliases = true;
	}
	return 0;
}

int elf_code_load(const char *path, struct elf_code *c)
{
	bool found = false, own;
	GElf_Ehdr eh;
	struct stat st;
	int fd, err;
	Elf *e;

	elf_version(EV_CURRENT);
	fd = open_regular(path, &st);
	if (fd < 0)
		return fd;
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	c->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	e = elf_begin(fd, ELF_C_READ, NULL);
	if (!e || elf_kind(e) != ELF_K_ELF || !gelf_getehdr(e, &eh)) {
		elf_end(e);
		close(fd);
		return fail(EINVAL, "%s is not an ELF file", path);
	}
	c->build_id_bytes = elf_build_id(e, c->build_id);
	err = read_sections(c, e);
	if (!err)
		err = add_tables(c, e, SHT_SYMTAB, &found);
	own = found;
	if (!err && !found)
		err = add_debug_files(c, e, path, &found);
	if (!err && !found)
		err = add_packed(c, e);
	if (!err && !found)
		err = elf_frames_read(e, &c->frames, &c->nr_frames);
	if (!err && !own)
		err = add_aliases(c);
	if (!err && !found)
		err = add_tables(c, e, SHT_DYNSYM, &found);
	if (!err && eh.e_machine == EM_X86_64)
		err = add_plt(c, e);
	elf_end(e);
	close(fd);
	if (err) {
		elf_code_free(c);
		return fail(ENOMEM, "out of memory for the symbols of %s", path);
	}
	return 0;
}

void elf_code_free(struct elf_code *c)
{
	while (c->names) {
		struct name_block *b = c->names;

		c->names = b->next;
		free(b);
	}
	free(c->symbols);
	free(c->sections);
	free(c->frames);
	memset(c, 0, sizeof(*c));
}

/* The note of libvestige.a: 64 bits, the distance from the note's data to its engine_ready(). */
static uint64_t find_ready(Elf *e, const GElf_Phdr *ph)
{
	Elf_Data *data = elf_getdata_rawchunk(e, (int64_t)ph->p_offset, ph->p_filesz,
					      ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t name, desc, at = 0;
	int64_t way;
	GElf_Nhdr nh;

	while (data && (at = gelf_getnote(data, at, &nh, &name, &desc)) > 0) {
		if (nh.n_type != 1 || nh.n_namesz != sizeof("vestige") ||
		    nh.n_descsz != sizeof(way) ||
		    memcmp((char *)data->d_buf + name, "vestige", sizeof("vestige")))
			continue;
		memcpy(&way, (char *)data->d_buf + desc, sizeof(way));
		return ph->p_vaddr + desc + (uint64_t)way;
	}
	return 0;
}

int elf_start_read(int fd, const char *what, struct elf_start *out)
{
	int err = 0;
	size_t n = 0;
	GElf_Ehdr eh;
	GElf_Phdr ph;
	Elf *e;

	memset(out, 0, sizeof(*out));
	elf_version(EV_CURRENT);
	e = elf_begin(fd, ELF_C_READ, NULL);
	if (!e || elf_kind(e) != ELF_K_ELF || !gelf_getehdr(e, &eh)) {
		elf_end(e);
		return fail(ENOEXEC, "%s is not an ELF file", what);
	}
	out->class = eh.e_ident[EI_CLASS];
	out->data = eh.e_ident[EI_DATA];
	out->machine = eh.e_machine;
	out->type = eh.e_type;
	out->entry = eh.e_entry;
	elf_getphdrnum(e, &n);
	for (size_t i = 0; i < n; i++) {
		ssize_t got;

		if (!gelf_getphdr(e, (int)i, &ph))
			break;
		if (ph.p_type == PT_NOTE && !out->ready)
			out->ready = find_ready(e, &ph);
		if (ph.p_type != PT_INTERP)
			continue;
		if (ph.p_filesz >= sizeof(out->interp)) {
			err = fail(ENOEXEC, "%s names a loader of %llu bytes", what,
				   (unsigned long long)ph.p_filesz);
			break;
		}
		got = pread(fd, out->interp, ph.p_filesz, (off_t)ph.p_offset);
		if (got < 0 || (size_t)got != ph.p_filesz) {
			err = fail(ENOEXEC, "%s is cut short", what);
			break;
		}
		out->interp[got] = '\0';
	}
	elf_end(e);
	return err;
}
