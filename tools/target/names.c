/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "tools/target/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/reader/symbols_elf.h"

struct names {
	struct symbols *symbols;
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
		fail(ENOMEM, "no memory for symbols");
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

/* The object at a run-time address, the one that was loaded last; the number of objects: none. */
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
