/* SPDX-License-Identifier: MIT */
/*
 * The table of symbols.h: an array that is sorted at the first lookup, strings in an arena whose
 * addresses never change, and a direct-mapped cache in front of the binary search.
 *
 * Symbols of one address keep the order in which they were added, and the first one is found. The
 * kallsyms text has only that one, since libtraceevent's search may end at any of them. A table is
 * used by one thread at a time. Tests: tests/unit/test_symbols.c.
 */
#include "tools/code/symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/control_byte.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"

#define ARENA_BYTES (64u << 10)
#define CACHE_SLOTS 2048u /* a power of two */

struct arena {
	struct arena *next;
	size_t used, room;
	char bytes[];
};

struct cache_slot {
	uint64_t addr;
	const struct symbol *sym; /* NULL: empty */
};

struct symbols {
	struct symbol *at;
	size_t nr, room;
	bool sorted;
	enum demangle how;
	struct arena *strings;
	const char **modules; /* interned, in order of appearance */
	size_t nr_modules, modules_room;
	struct symbols_object *objects;
	size_t nr_objects;
	size_t last_module; /* the previous symbol's module: nearly always the next one's too */
	struct cache_slot cache[CACHE_SLOTS];
};

struct symbols *symbols_new(void)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (s)
		s->sorted = true;
	return s;
}

void symbols_free(struct symbols *s)
{
	struct arena *a, *next;

	if (!s)
		return;
	for (a = s->strings; a; a = next) {
		next = a->next;
		free(a);
	}
	free(s->modules);
	free(s->objects);
	free(s->at);
	free(s);
}

static const char *arena_add(struct symbols *s, const char *text, size_t bytes)
{
	struct arena *a = s->strings;
	char *to;

	if (!a || a->room - a->used < bytes + 1) {
		size_t room = bytes + 1 > ARENA_BYTES ? bytes + 1 : ARENA_BYTES;

		a = malloc(sizeof(*a) + room);
		if (!a)
			return NULL;
		a->used = 0;
		a->room = room;
		a->next = s->strings;
		s->strings = a;
	}
	to = a->bytes + a->used;
	memcpy(to, text, bytes);
	control_clean(to, bytes, '?');
	to[bytes] = '\0';
	a->used += bytes + 1;
	return to;
}

static bool same(const char *a, const char *text, size_t bytes)
{
	return strlen(a) == bytes && memcmp(a, text, bytes) == 0;
}

static const char *module_intern(struct symbols *s, const char *text, size_t bytes)
{
	const char *copy;
	size_t i;

	if (s->last_module < s->nr_modules && same(s->modules[s->last_module], text, bytes))
		return s->modules[s->last_module];
	for (i = 0; i < s->nr_modules; i++) {
		if (same(s->modules[i], text, bytes)) {
			s->last_module = i;
			return s->modules[i];
		}
	}
	if (ARRAY_ROOM(s->modules, s->nr_modules, s->modules_room, 16))
		return NULL;
	copy = arena_add(s, text, bytes);
	if (copy) {
		s->last_module = s->nr_modules;
		s->modules[s->nr_modules++] = copy;
	}
	return copy;
}

/* A change makes cached results invalid. */
static void cache_clear(struct symbols *s)
{
	memset(s->cache, 0, sizeof(s->cache));
}

static int add(struct symbols *s, uint64_t addr, char type, const char *name, size_t name_bytes,
	       const char *module, size_t module_bytes)
{
	struct symbol sym = {.addr = addr, .type = type};

	if (ARRAY_ROOM(s->at, s->nr, s->room, 1024))
		return -ENOMEM;
	sym.name = sym.raw = arena_add(s, name, name_bytes);
	if (!sym.name)
		return -ENOMEM;
	if (module) {
		sym.module = module_intern(s, module, module_bytes);
		if (!sym.module)
			return -ENOMEM;
	}
	if (s->nr && s->at[s->nr - 1].addr > addr)
		s->sorted = false;
	s->at[s->nr++] = sym;
	return 0;
}

int symbols_add(struct symbols *s, uint64_t addr, char type, const char *name, const char *module)
{
	cache_clear(s);
	return add(s, addr, type, name, strlen(name), module, module ? strlen(module) : 0);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* One line, `ADDR TYPE NAME[\t[MODULE]]`, without its newline. */
static int add_line(struct symbols *s, const char *p, const char *end)
{
	const char *name, *name_end, *module = NULL, *module_end = NULL;
	uint64_t addr = 0;
	int digits = 0;
	char type;

	while (p < end && is_blank(*p))
		p++;
	for (; p < end && hex_digit(*p) >= 0; p++, digits++)
		addr = addr << 4 | (unsigned int)hex_digit(*p);
	if (!digits || digits > 16 || end - p < 4 || !is_blank(p[0]) || !is_blank(p[2]))
		return 0;
	type = p[1];
	name = p + 3;
	for (name_end = name; name_end < end && !is_blank(*name_end); name_end++)
		;
	/*
	 * absolute and mapping symbols are no code; a hidden address (kptr_restrict) is useless
	 */
	if (name == name_end || *name == '$' || type == 'a' || type == 'A' || !addr)
		return 0;
	for (p = name_end; p < end && is_blank(*p); p++)
		;
	if (p < end && *p == '[') {
		module = p + 1;
		/* the last one: the vdso's lines end in [[vdso]] */
		module_end = memrchr(module, ']', (size_t)(end - module));
		if (!module_end)
			module = NULL;
	}
	return add(s, addr, type, name, (size_t)(name_end - name), module,
		   module ? (size_t)(module_end - module) : 0);
}

int symbols_add_kallsyms(struct symbols *s, const char *text, size_t bytes)
{
	const char *p = text, *end = text + bytes;
	int ret;

	cache_clear(s);
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (!nl)
			nl = end;
		ret = add_line(s, p, nl);
		if (ret)
			return ret;
		p = nl + 1;
	}
	return 0;
}

/* Merge sort from the bottom up: keeps the order of equals, as qsort() need not. */
static int sort(struct symbols *s)
{
	struct symbol *from = s->at, *to, *other;
	size_t width, i;

	if (s->sorted)
		return 0;
	to = other = malloc(s->room * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (width = 1; width < s->nr; width *= 2) {
		struct symbol *t;

		for (i = 0; i < s->nr; i += 2 * width) {
			size_t a = i, mid = i + width < s->nr ? i + width : s->nr;
			size_t b = mid, end = mid + width < s->nr ? mid + width : s->nr, k = i;

			while (a < mid && b < end)
				to[k++] = from[b].addr < from[a].addr ? from[b++] : from[a++];
			while (a < mid)
				to[k++] = from[a++];
			while (b < end)
				to[k++] = from[b++];
		}
		t = from;
		from = to;
		to = t;
	}
	s->at = from;
	free(to);
	s->sorted = true;
	return 0;
}

void symbols_demangle(struct symbols *s, enum demangle how)
{
	s->how = how;
	for (size_t i = 0; i < s->nr; i++) {
		s->at[i].name = s->at[i].raw;
		s->at[i].shown = false;
	}
}

/* Decode the symbol's name for display; if that is not possible, it stays. */
static struct symbol *show(struct symbols *s, struct symbol *sym)
{
	char *name;

	if (sym->shown || s->how == DEMANGLE_NONE)
		return sym;
	sym->shown = true;
	name = demangle(sym->raw, s->how);
	if (name) {
		const char *kept = arena_add(s, name, strlen(name));

		if (kept)
			sym->name = kept;
		free(name);
	}
	return sym;
}

const struct symbol *symbols_find(struct symbols *s, uint64_t addr)
{
	struct cache_slot *slot;
	size_t lo;

	slot = &s->cache[hash_u64(addr) >> 53 & (CACHE_SLOTS - 1)];
	if (slot->sym && slot->addr == addr)
		return slot->sym;
	if (sort(s))
		return NULL;
	lo = LOWER_BOUND(i, 0, s->nr, s->at[i].addr <= addr);
	if (!lo)
		return NULL;
	for (lo--; lo && s->at[lo - 1].addr == s->at[lo].addr; lo--)
		;
	slot->addr = addr;
	slot->sym = show(s, &s->at[lo]);
	return slot->sym;
}

uint64_t symbols_size(struct symbols *s, const struct symbol *sym)
{
	const struct symbol *next = sym, *end = s->at + s->nr;

	while (next < end && next->addr == sym->addr)
		next++;
	return next < end ? next->addr - sym->addr : UINT64_C(4096);
}

int symbols_add_object(struct symbols *s, uint64_t base, const char *path)
{
	struct symbols_object *more;

	for (size_t i = 0; i < s->nr_objects; i++)
		if (s->objects[i].base == base)
			return 0;
	more = realloc(s->objects, (s->nr_objects + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->objects = more;
	more[s->nr_objects].base = base;
	more[s->nr_objects].path = arena_add(s, path, strlen(path));
	return more[s->nr_objects].path ? (s->nr_objects++, 0) : -ENOMEM;
}

size_t symbols_nr_objects(const struct symbols *s)
{
	return s->nr_objects;
}

const struct symbols_object *symbols_object_at(const struct symbols *s, size_t i)
{
	return i < s->nr_objects ? &s->objects[i] : NULL;
}

size_t symbols_count(struct symbols *s)
{
	return s->nr;
}

const struct symbol *symbols_at(struct symbols *s, size_t i)
{
	return i < s->nr && !sort(s) ? show(s, &s->at[i]) : NULL;
}

/* Readers split a line at white space, so white space in a name is replaced. */
static void print_word(FILE *f, const char *word)
{
	for (; *word; word++)
		putc_unlocked((unsigned char)*word > ' ' ? *word : '_', f);
}

int symbols_print_kallsyms(struct symbols *s, FILE *f)
{
	const struct symbol *sym = NULL;
	size_t i;

	if (sort(s))
		return fail(ENOMEM, "out of memory while sorting %zu symbols", s->nr);
	for (i = 0; i < s->nr; i++) {
		if (sym && sym->addr == s->at[i].addr)
			continue; /* readers would name either of them */
		sym = &s->at[i];
		fprintf(f, "%016llx %c ", (unsigned long long)sym->addr, sym->type);
		print_word(f, sym->raw);
		if (sym->module) {
			fputs("\t[", f);
			print_word(f, sym->module);
			putc_unlocked(']', f);
		}
		putc_unlocked('\n', f);
	}
	/* the end of the last object's range */
	if (sym && !(strcmp(sym->name, "_end") == 0 && (uint32_t)sym->addr == UINT32_MAX))
		fprintf(f, "%016llx T _end\n", (unsigned long long)(sym->addr | UINT32_MAX));
	if (ferror(f))
		return fail_errno(EIO, "cannot write the symbols");
	return 0;
}
