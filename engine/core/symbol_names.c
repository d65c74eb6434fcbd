/* SPDX-License-Identifier: MIT */
/*
 * See symbol_names.h. Each object's symbols are read once. Rows are sorted, so a symbol belongs to
 * a run of rows. fork: nothing. Tests: tests/engine/tracers/kmemtrace.
 */
#include "engine/core/symbol_names.h"

#include <stddef.h>

#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/process/elf_file.h"
#include "engine/process/object.h"

struct lookup {
	struct symbol_name *rows;
	uint32_t nr; /* rows in the object */
	uint64_t bias;
};

/* The first row whose address is above @at. */
static uint32_t above(const struct symbol_name *rows, uint32_t nr, uint64_t at)
{
	return LOWER_BOUND(i, 0, nr, rows[i].address <= at);
}

static int take_symbol(void *arg, uint64_t value, const char *name)
{
	struct lookup *l = arg;
	uint64_t start = l->bias + value;
	uint32_t i;

	for (i = above(l->rows, l->nr, start); i < l->nr && l->rows[i].start < start; i++) {
		l->rows[i].start = start;
		str_copy(l->rows[i].name, sizeof(l->rows[i].name), name);
	}
	return 0;
}

typedef int symbols_of(const struct elf_file *f,
		       int (*callback)(void *arg, uint64_t value, const char *name), void *arg);

static void look_up(struct symbol_name *rows, uint32_t nr, symbols_of *symbols)
{
	uint32_t i, from, to;
	struct elf_file f;

	for (i = 0; i < nr; i++) {
		rows[i].start = 0;
		rows[i].name[0] = 0;
	}
	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);
		const struct area_object *row = object_row(o);
		struct lookup l = {.bias = row->bias};

		if (!o->loaded)
			continue;
		from = above(rows, nr, row->lo);
		to = above(rows, nr, row->hi);
		l.rows = rows + from;
		l.nr = to - from;
		if (!l.nr || elf_file_open(&f, o))
			continue;
		symbols(&f, take_symbol, &l);
		elf_file_close(&f);
	}
}

void symbol_names(struct symbol_name *rows, uint32_t nr)
{
	look_up(rows, nr, elf_file_symbols);
}

void symbol_names_all(struct symbol_name *rows, uint32_t nr)
{
	look_up(rows, nr, elf_file_all_symbols);
}

const struct symbol_name *symbol_names_find(const struct symbol_name *rows, uint32_t nr,
					    uint64_t address)
{
	uint32_t i = above(rows, nr, address);

	return i && rows[i - 1].address == address ? &rows[i - 1] : NULL;
}

void symbol_name_put(struct seq_buf *s, const struct symbol_name *row)
{
	seq_puts(s, row->start ? row->name : "0x");
	if (row->start)
		seq_puts(s, "+0x");
	seq_putx(s, row->address - row->start);
}
