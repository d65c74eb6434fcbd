/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "tools/target/names.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/reader/symbols_elf.h"

struct names {
	struct symbols *symbols;
	struct object_space *space;
	int *numbers;
	uint32_t nr;
};

struct names *names_new(const struct meta *m)
{
	struct names *n = calloc(1, sizeof(*n));
	int err = 0;

	if (n) {
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
