/* SPDX-License-Identifier: MIT */
/*
 * The objects of a recording and their symbols: see object_space.h. This file decides where an
 * object lies, which of several names of an address is kept, and the names of code without one.
 * code/elf_code.c reads the ELF files, code/object_identity.c compares them with the objects that
 * ran.
 * Tests: tests/unit/reader/test_object_space.c.
 */
#include "tools/area/object_space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/elf_code.h"
#include "tools/code/elf_frames.h"
#include "tools/code/object_identity.h"

/* A shorter gap is padding between functions and needs no name. */
#define MIN_GAP 64

struct object {
	const struct area_object *row;
	const char *path;
	int root_of; /* as in struct meta */
	int pid;     /* which may have ended */
	bool main;
	uint64_t base;
	int number;	     /* as object_space_add() returned it */
	uint32_t *functions; /* offsets that the engine found, of all processes */
	size_t nr_functions;
};

struct object_space {
	struct object *objects;
	size_t nr;
	int *by_number; /* index into objects, after assign */
};

struct object_space *object_space_new(void)
{
	return calloc(1, sizeof(struct object_space));
}

void object_space_free(struct object_space *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr; i++)
		free(s->objects[i].functions);
	free(s->objects);
	free(s->by_number);
	free(s);
}

#define CMP(a, b) ((a) < (b) ? -1 : (a) > (b))

/* Order of identity; 0 means the same object. */
static int compare(const struct object *a, const struct object *b)
{
	const struct area_object *x = a->row, *y = b->row;
	int c = CMP(object_id_bytes(x), object_id_bytes(y));

	if (c)
		return c;
	if (object_id_bytes(x))
		return memcmp(x->build_id, y->build_id, object_id_bytes(x));
	c = CMP(x->dev, y->dev);
	if (!c)
		c = CMP(x->ino, y->ino);
	if (!c)
		c = CMP(x->mtime_ns, y->mtime_ns);
	if (!c && !x->ino)
		c = strcmp(a->path, b->path);
	return c;
}

static int compare_sort(const void *a, const void *b)
{
	return compare(a, b);
}

int object_space_add(struct object_space *s, const struct meta *m, uint32_t i)
{
	const struct area_object *row = &m->objects[i];
	struct object key = {.row = row,
			     .path = meta_string(m, row->path),
			     .root_of = m->root_of,
			     .pid = m->root_of ? m->root_of : m->head.pid,
			     .main = i == 0};
	struct object *o = NULL;
	uint32_t *functions;

	for (size_t n = 0; n < s->nr && !o; n++)
		if (!compare(&key, &s->objects[n]))
			o = &s->objects[n];
	if (!o) {
		o = realloc(s->objects, (s->nr + 1) * sizeof(*o));
		if (!o)
			return fail(ENOMEM, "out of memory for %zu objects", s->nr);
		s->objects = o;
		key.number = (int)s->nr;
		o = &s->objects[s->nr++];
		*o = key;
	}
	o->main |= key.main;
	if (row->first_function > m->nr_functions ||
	    row->nr_functions > m->nr_functions - row->first_function || !row->nr_functions)
		return o->number;
	if (o->nr_functions) {
		/* Another process with the same object: mostly it found the same functions. */
		bool same = o->nr_functions == row->nr_functions;

		for (uint32_t f = 0; same && f < row->nr_functions; f++)
			same = o->functions[f] == m->functions[row->first_function + f].offset;
		if (same)
			return o->number;
	}
	functions =
		realloc(o->functions, (o->nr_functions + row->nr_functions) * sizeof(*functions));
	if (!functions)
		return fail(ENOMEM, "out of memory for %u functions", row->nr_functions);
	o->functions = functions;
	for (uint32_t f = 0; f < row->nr_functions; f++)
		functions[o->nr_functions++] = m->functions[row->first_function + f].offset;
	return o->number;
}

int object_space_assign(struct object_space *s)
{
	s->by_number = calloc(s->nr + 1, sizeof(*s->by_number));
	if (!s->by_number)
		return fail(ENOMEM, "out of memory for %zu objects", s->nr);
	if (s->nr)
		qsort(s->objects, s->nr, sizeof(*s->objects), compare_sort);
	for (size_t i = 0; i < s->nr; i++) {
		struct object *o = &s->objects[i];
		bool taken;

		o->base = object_identity_base(o->row, o->path);
		do {
			taken = false;
			for (size_t j = 0; j < i && !taken; j++)
				taken = s->objects[j].base == o->base;
			if (taken)
				o->base = (UINT64_C(1) << 59) | ((o->base + (UINT64_C(1) << 32)) &
								 UINT64_C(0x7ffffff) << 32);
		} while (taken);
		s->by_number[o->number] = (int)i;
	}
	return 0;
}

uint64_t object_space_base(const struct object_space *s, int n)
{
	return s->objects[s->by_number[n]].base;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int by_offset(const void *a, const void *b)
{
	return CMP(*(const uint32_t *)a, *(const uint32_t *)b);
}

/*
 * Which of several names of an address is kept: first a global one, then a plain one, then the
 * shortest.
 */
static int by_addr_and_merit(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;
	int c = CMP(x->addr, y->addr);

	if (!c)
		c = CMP(x->rank, y->rank);
	if (!c)
		c = CMP(strspn(x->name, "_"), strspn(y->name, "_"));
	if (!c)
		c = CMP(strlen(x->name), strlen(y->name));
	return c ? c : strcmp(x->name, y->name);
}

struct emit {
	struct symbols *symbols;
	uint64_t base;
	const char *module;
	int err;
};

static void emit(struct emit *e, uint64_t addr, char type, const char *name)
{
	if (!e->err &&
	    symbols_add(e->symbols, object_space_addr(e->base, addr), type, name, e->module))
		e->err = fail(ENOMEM, "out of memory for symbols");
}

static size_t symbol_from(const struct elf_code *code, uint64_t addr)
{
	return LOWER_BOUND(i, 0, code->nr_symbols, code->symbols[i].addr < addr);
}

static bool has_symbol(const struct elf_code *code, uint64_t addr)
{
	size_t at = symbol_from(code, addr);

	return at < code->nr_symbols && code->symbols[at].addr == addr;
}

/* Make names for the code of @sec that no symbol covers. */
static void emit_gaps(struct emit *e, const struct elf_code *code, const struct elf_section *sec)
{
	uint64_t end = sec->addr + sec->size;
	uint64_t claimed = sec->addr;
	size_t i, lo = symbol_from(code, sec->addr);

	if (lo == code->nr_symbols || code->symbols[lo].addr != sec->addr)
		emit(e, sec->addr, 't', sec->name);
	for (i = lo; i < code->nr_symbols && code->symbols[i].addr < end; i++) {
		const struct elf_symbol *s = &code->symbols[i];

		if (i > lo && s->addr > claimed && s->addr - claimed > MIN_GAP)
			emit(e, (claimed + 16) & ~(uint64_t)15, 't', sec->name);
		/* A symbol without a size reaches to the next one. */
		if (!s->size) {
			claimed = i + 1 < code->nr_symbols ? code->symbols[i + 1].addr : end;
			continue;
		}
		if (s->size <= end - s->addr && s->addr + s->size > claimed)
			claimed = s->addr + s->size;
	}
	if (i > lo && end > claimed && end - claimed > MIN_GAP)
		emit(e, (claimed + 16) & ~(uint64_t)15, 't', sec->name);
	for (i = 0; i < code->nr_sections; i++)
		if (code->sections[i].addr == end)
			return;
	if (!has_symbol(code, end))
		emit(e, end, 't', ".end");
}

/* Keep the best symbol of each address, in order. */
static void keep_best(struct elf_code *code)
{
	size_t kept = 0;

	if (code->nr_symbols)
		qsort(code->symbols, code->nr_symbols, sizeof(*code->symbols), by_addr_and_merit);
	for (size_t i = 0; i < code->nr_symbols; i++) {
		struct elf_symbol *s = &code->symbols[i];

		if (kept && code->symbols[kept - 1].addr == s->addr) {
			if (s->size > code->symbols[kept - 1].size)
				code->symbols[kept - 1].size = s->size;
			continue;
		}
		code->symbols[kept++] = *s;
	}
	code->nr_symbols = kept;
}

/* Add the functions of @sec that only the unwinding table has. @named: the symbols before this. */
static int add_frames(const struct object *o, struct elf_code *code, const struct elf_section *sec,
		      size_t named)
{
	uint64_t end = sec->addr + sec->size, reach = sec->addr;
	size_t i = LOWER_BOUND(k, 0, code->nr_frames, code->frames[k].addr < sec->addr);
	size_t at = LOWER_BOUND(k, 0, named, code->symbols[k].addr < sec->addr);
	char name[ELF_CODE_UNNAMED];

	for (; i < code->nr_frames && code->frames[i].addr < end; i++) {
		const struct elf_frame *f = &code->frames[i];
		struct elf_symbol s = {.addr = f->addr, .size = f->size, .rank = 2, .type = 't'};

		for (; at < named && code->symbols[at].addr <= f->addr; at++) {
			const struct elf_symbol *with = &code->symbols[at];

			if (with->addr == f->addr)
				reach = f->addr + 1;
			if (with->size <= end - with->addr && with->addr + with->size > reach)
				reach = with->addr + with->size;
		}
		if (f->addr < reach)
			continue;
		if (elf_code_add(code, &s, elf_code_unnamed(name, o->path, f->addr)))
			return fail(ENOMEM, "out of memory for the symbols of %s", o->path);
	}
	return 0;
}

/* Name the functions of a file that has not the names of all. */
static int name_frames(const struct object *o, struct elf_code *code)
{
	size_t named = code->nr_symbols;
	int err = 0;

	/* sections that overlap are damage: each row is named once */
	for (size_t i = 0; i < code->nr_sections && !err; i++)
		if (strncmp(code->sections[i].name, ".plt", 4) &&
		    code->nr_symbols - named < code->nr_frames)
			err = add_frames(o, code, &code->sections[i], named);
	if (code->nr_symbols > named)
		keep_best(code);
	return err;
}

/* Add the functions that the engine found and that have no symbol. */
static int add_unnamed(const struct object *o, struct elf_code *code)
{
	size_t named = code->nr_symbols;
	const char *path = o->path[0] ? o->path : "unnamed";
	char name[ELF_CODE_UNNAMED];

	if (o->nr_functions)
		qsort(o->functions, o->nr_functions, sizeof(*o->functions), by_offset);
	for (size_t i = 0; i < o->nr_functions; i++) {
		struct elf_symbol s = {.addr = o->functions[i], .rank = 2, .type = 't'};
		size_t all = code->nr_symbols;
		bool known;

		code->nr_symbols = named;
		known = (i && o->functions[i] == o->functions[i - 1]) || has_symbol(code, s.addr);
		code->nr_symbols = all;
		if (known)
			continue;
		if (elf_code_add(code, &s, elf_code_unnamed(name, path, s.addr)))
			return fail(ENOMEM, "out of memory for the symbols of %s", o->path);
	}
	if (code->nr_symbols > named)
		keep_best(code);
	return 0;
}

/* If the process has no /proc entry, its program is known by this name alone. */
static int load_file(const struct object *o, struct elf_code *code)
{
	char path[4200];

	if (!o->root_of)
		return elf_code_load(o->path, code);
	if (!strcmp(o->path, "/proc/self/exe"))
		snprintf(path, sizeof(path), "/proc/%d/exe", o->root_of);
	else
		snprintf(path, sizeof(path), "/proc/%d/root%s", o->root_of, o->path);
	return elf_code_load(path, code);
}

/*
 * *@path: gets the name in /proc of the file that the process has mapped at @address. Return: is it
 * known?
 */
static bool name_mapping(int pid, uint64_t address, char *path, size_t room)
{
	char line[4200], text[64];
	unsigned long long lo, hi;
	bool found = false;
	FILE *f;

	snprintf(text, sizeof(text), "/proc/%d/maps", pid);
	f = fopen(text, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%llx-%llx", &lo, &hi) == 2 && lo <= address && address < hi;
	if (f)
		fclose(f);
	if (found)
		snprintf(path, room, "/proc/%d/map_files/%llx-%llx", pid, lo, hi);
	return found;
}

/* A live process still has its files when other files got their names, as after an upgrade. */
static int load_mapped(const struct object *o, struct elf_code *code)
{
	char path[96];
	int err;

	if (o->pid <= 0)
		return -ENOENT;
	if (o->main)
		snprintf(path, sizeof(path), "/proc/%d/exe", o->pid);
	else if (!name_mapping(o->pid, o->row->lo, path, sizeof(path)))
		return -ENOENT;
	err = elf_code_load(path, code);
	if (err || object_file_is_the_one(o->row, code))
		return err;
	elf_code_free(code);
	return -ESTALE;
}

/*
 * Load the file that ran.
 * @why: gets the line for the user.
 * Return: 0; -ENOMEM; -ESTALE: another file has the name now; else the error of reading it.
 */
static int load_the_one(const struct object *o, struct elf_code *code, char *why, size_t room)
{
	int err = load_file(o, code);

	if (err == -ENOMEM || (!err && object_file_is_the_one(o->row, code)))
		return err;
	if (err) {
		snprintf(why, room, "no names for %s: %s", o->path, fail_text());
	} else {
		elf_code_free(code);
		err = -ESTALE;
		snprintf(why, room,
			 "no names for %s: the file is not the one that ran, it was built again or "
			 "replaced since",
			 o->path);
	}
	return load_mapped(o, code) ? err : 0;
}

static int load_object(const struct object *o, struct symbols *symbols,
		       void (*note)(const char *line))
{
	const char *name = o->path[0] ? base_name(o->path) : "unnamed";
	struct emit e = {.symbols = symbols, .base = o->base, .module = o->main ? NULL : name};
	struct elf_code code = {0};
	char text[4200];
	int err = 0;

	if (o->row->status == AREA_OBJECT_VDSO || o->path[0] != '/') {
		emit(&e, 0, 't', name);
	} else {
		err = load_the_one(o, &code, text, sizeof(text));
		if (err == -ENOMEM)
			return err;
		if (err) {
			if (note)
				note(text);
			snprintf(text, sizeof(text), "%s:%s", name,
				 err == -ESTALE ? "changed" : "unreadable");
			emit(&e, 0, 't', text);
		}
	}
	keep_best(&code);
	err = name_frames(o, &code);
	if (!err)
		err = add_unnamed(o, &code);
	if (err) {
		elf_code_free(&code);
		return err;
	}
	for (size_t i = 0; i < code.nr_symbols; i++)
		emit(&e, code.symbols[i].addr, code.symbols[i].type, code.symbols[i].name);
	for (size_t i = 0; i < code.nr_sections; i++)
		emit_gaps(&e, &code, &code.sections[i]);
	elf_code_free(&code);
	return e.err;
}

int object_space_paths(const struct object_space *s, struct symbols *symbols)
{
	for (size_t i = 0; i < s->nr; i++) {
		const struct object *o = &s->objects[i];

		if (o->path[0] == '/' && symbols_add_object(symbols, o->base, o->path))
			return fail(ENOMEM, "out of memory for objects");
	}
	return 0;
}

int object_space_load(struct object_space *s, struct symbols *symbols,
		      void (*note)(const char *line))
{
	for (size_t i = 0; i < s->nr; i++) {
		int err = load_object(&s->objects[i], symbols, note);

		if (err)
			return err;
	}
	return object_space_paths(s, symbols);
}
