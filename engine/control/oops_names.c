/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, looked up inside the process because it is about to end. It maps an object's
 * file, reads the symbols once for all addresses in the object, and unmaps the file. C++ and Rust
 * names stay mangled; `vestige crash` demangles them. No state, no memory but the caller's. Tests:
 * tests/engine/fire/crash.
 */
#include "engine/base/mem.h"
#include "engine/control/oops.h"
#include "engine/process/elf_file.h"
#include "engine/process/object.h"

uint32_t oops_object(uint64_t ip)
{
	uint32_t i, found = UINT32_MAX;

	/* if several objects have the address, the one that was loaded last counts */
	for (i = 0; i < object_count(); i++) {
		const struct area_object *o = object_row(object_at(i));

		if (ip >= o->lo && ip < o->hi && !o->unload_stamp)
			found = i;
	}
	return found;
}

struct look {
	struct oops_name *names;
	uint32_t nr, object;
	uint64_t bias;
};

static int see(void *arg, const ElfW(Sym) * sym, const char *name)
{
	const uint64_t value = sym->st_value;
	const struct look *l = arg;
	uint32_t i;

	for (i = 0; i < l->nr; i++) {
		struct oops_name *n = &l->names[i];
		uint64_t at;

		if (n->object != l->object)
			continue;
		/* the address behind a call may be the start of the next function */
		at = n->ip - l->bias - !n->exact;
		if (value > at) {
			if (value < n->next)
				n->next = value;
		} else if (value > n->value) {
			n->value = value;
			n->bytes = sym->st_size;
			str_copy(n->name, sizeof(n->name), name);
		}
	}
	return 0;
}

void oops_names(struct oops_name *names, uint32_t nr)
{
	struct look l = {.names = names, .nr = nr};
	struct elf_file f;
	uint32_t i, k;

	for (i = 0; i < nr; i++) {
		names[i].object = oops_object(names[i].ip);
		names[i].value = 0;
		names[i].next = UINT64_MAX;
		names[i].bytes = 0;
		names[i].name[0] = 0;
	}
	for (i = 0; i < nr; i++) {
		l.object = names[i].object;
		for (k = 0; k < i && names[k].object != l.object; k++)
			;
		if (l.object == UINT32_MAX || k < i)
			continue;
		l.bias = object_row(object_at(l.object))->bias;
		if (elf_file_open(&f, object_at(l.object)))
			continue;
		elf_file_sized_symbols(&f, see, &l);
		elf_file_close(&f);
	}
}

static void put_hex(struct seq_buf *s, uint64_t v)
{
	seq_puts(s, "0x");
	seq_putx(s, v);
}

static int is_beyond(const struct oops_name *n, const struct area_object *row)
{
	return n->bytes && n->ip - row->bias - !n->exact >= n->value + n->bytes;
}

void oops_put_name(struct seq_buf *s, const struct oops_name *n)
{
	const struct object *o = n->object == UINT32_MAX ? NULL : object_at(n->object);
	const struct area_object *row = o ? object_row(o) : NULL;

	const int named = row && n->name[0] && !is_beyond(n, row);

	if (named) {
		uint64_t end = n->next == UINT64_MAX ? row->hi - row->bias : n->next;

		/* check the size: most functions of a stripped object have no name */
		if (n->bytes)
			end = n->value + n->bytes;

		seq_puts(s, n->name);
		seq_putc(s, '+');
		put_hex(s, n->ip - row->bias - n->value);
		seq_putc(s, '/');
		put_hex(s, end - n->value);
	} else {
		put_hex(s, n->ip);
	}
	if (!row)
		return;
	seq_puts(s, " [");
	seq_puts(s, o->name);
	if (!named) {
		seq_putc(s, '+');
		put_hex(s, n->ip - row->bias);
	}
	seq_putc(s, ']');
}
