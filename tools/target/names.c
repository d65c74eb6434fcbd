/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "tools/target/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/object_space.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/code/demangle.h"
#include "tools/code/srcline.h"

struct names {
	struct symbols *symbols;
	struct srcline *lines; /* NULL: not asked for yet */
	struct object_space *space;
	int *numbers;
	uint32_t nr;
	const struct meta *m;
};

struct names *names_new(const struct meta *m)
{
	struct names *n = calloc(1, sizeof(*n));
	int err = 0;

	if (n) {
		n->m = m;
		n->symbols = symbols_new();
		n->space = object_space_new();
		n->numbers = calloc(m->nr_objects + 1, sizeof(*n->numbers));
	}
	if (!n || !n->symbols || !n->space || !n->numbers) {
		names_free(n);
		fail(ENOMEM, "out of memory for symbols");
		return NULL;
	}
	for (n->nr = 0; n->nr < m->nr_objects && !err; n->nr++) {
		n->numbers[n->nr] = object_space_add(n->space, m, n->nr);
		if (n->numbers[n->nr] < 0)
			err = n->numbers[n->nr];
	}
	if (!err)
		err = object_space_assign(n->space);
	if (!err)
		err = object_space_load(n->space, n->symbols, note_line);
	if (err) {
		names_free(n);
		return NULL;
	}
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	srcline_free(n->lines);
	symbols_free(n->symbols);
	object_space_free(n->space);
	free(n->numbers);
	free(n);
}

const struct symbol *names_find(struct names *n, uint32_t object, uint32_t offset)
{
	const struct symbol *s;
	uint64_t addr;

	if (object >= n->nr)
		return NULL;
	addr = object_space_addr(object_space_base(n->space, n->numbers[object]), offset);
	s = symbols_find(n->symbols, addr);
	return s && s->addr == addr ? s : NULL;
}

/* The index of the object at a run-time address, the last loaded one; m->nr_objects: none. */
static uint32_t object_at(const struct meta *m, uint64_t addr)
{
	uint32_t found = m->nr_objects;

	for (uint32_t i = 0; i < m->nr_objects; i++)
		if (addr >= m->objects[i].lo && addr < m->objects[i].hi)
			found = i;
	return found;
}

void names_put(struct names *n, uint64_t addr, struct out *o)
{
	uint32_t object = object_at(n->m, addr);
	const struct symbol *s = NULL;
	uint64_t base, at;

	if (object < n->nr) {
		base = object_space_base(n->space, n->numbers[object]);
		at = object_space_addr(base, addr - n->m->objects[object].bias);
		s = symbols_find(n->symbols, at);
	}
	if (!s || s->addr < base) {
		out_printf(o, "0x%" PRIx64, addr);
		return;
	}
	out_text(o, s->name);
	out_printf(o, "+0x%" PRIx64 "/0x%" PRIx64, at - s->addr, symbols_size(n->symbols, s));
	if (s->module)
		out_printf(o, " [%s]", s->module);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void names_put_line(struct names *n, uint64_t addr, bool exact, struct out *o)
{
	const uint32_t object = object_at(n->m, addr);
	const struct symbol *s;
	const char *line, *file;
	uint64_t base, at;
	char *name;

	if (object >= n->nr) {
		out_printf(o, "0x%" PRIx64, addr);
		return;
	}
	file = base_name(meta_string(n->m, n->m->objects[object].path));
	base = object_space_base(n->space, n->numbers[object]);
	at = object_space_addr(base, addr - n->m->objects[object].bias);
	/* the address behind a call may be the start of the next function */
	s = symbols_find(n->symbols, exact ? at : at - 1);
	if (!s || s->addr < base) {
		out_printf(o, "0x%" PRIx64 " [%s+0x%" PRIx64 "]", addr, file,
			   addr - n->m->objects[object].bias);
		return;
	}
	name = demangle(s->raw, DEMANGLE_SHORT);
	out_printf(o, "%s+0x%" PRIx64 "/0x%" PRIx64 " [%s]", name ? name : s->name, at - s->addr,
		   symbols_size(n->symbols, s), file);
	free(name);
	if (!n->lines)
		n->lines = srcline_new(n->symbols);
	line = n->lines ? srcline_find(n->lines, exact ? at : at - 1) : NULL;
	if (line)
		out_printf(o, " %s", line);
}
