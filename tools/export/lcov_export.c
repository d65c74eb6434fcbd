/* SPDX-License-Identifier: MIT */
/*
 * A tracefile of lcov (geninfo(1)): the functions that were called, with their counts. A function
 * that was not called is written with count 0, if another function of its source file was called.
 * Of a function's lines, only the first is written. A function for which DWARF has no source line
 * is left out. Names are the linker's: genhtml --demangle-cpp decodes them. Tests:
 * tests/cli/test_export_texts.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/srcline.h"
#include "tools/code/symbols.h"
#include "tools/export/call_export.h"

struct row {
	char *file;
	uint32_t line;
	uint64_t count;
	const char *name; /* the symbol's */
};

struct lcov {
	struct row *rows;
	size_t nr, room;
	uint64_t *counts; /* by number of function */
	uint32_t nr_counts;
};

static void count(struct call_export *x, uint32_t function)
{
	struct lcov *own = x->own;
	uint32_t room = own->nr_counts;
	uint64_t *more;

	while (room <= function)
		room = room ? 2 * room : 1024;
	if (room > own->nr_counts) {
		more = reallocarray(own->counts, room, sizeof(*more));
		if (!more) {
			x->err = fail(ENOMEM, "out of memory");
			return;
		}
		memset(more + own->nr_counts, 0, (room - own->nr_counts) * sizeof(*more));
		own->counts = more;
		own->nr_counts = room;
	}
	own->counts[function]++;
}

static void lcov_call(struct call_export *x, const struct call *call, const struct call *parent,
		      const struct call_function *fn)
{
	(void)parent;
	(void)fn;
	count(x, (uint32_t)call->data);
}

static void lcov_other(struct call_export *x, const struct record *rec)
{
	uint32_t function = 0;

	if (rec->kind != RECORD_FUNCTION)
		return;
	x->err = call_filter_number(x->v->filter, rec->ip, &function);
	if (!x->err)
		count(x, function);
}

static void add_row(struct call_export *x, struct srcline *lines, const struct symbol *sym)
{
	struct lcov *own = x->own;
	const char *place = srcline_find(lines, sym->addr), *colon;
	uint32_t function = 0;
	struct row *row;

	colon = place ? strrchr(place, ':') : NULL;
	if (!colon || colon == place || !strtoul(colon + 1, NULL, 10))
		return;
	x->err = call_filter_number(x->v->filter, sym->addr, &function);
	if (!x->err && ARRAY_ROOM(own->rows, own->nr, own->room, 256))
		x->err = fail(ENOMEM, "out of memory");
	if (x->err)
		return;
	row = &own->rows[own->nr];
	*row = (struct row){.file = strndup(place, (size_t)(colon - place)),
			    .line = (uint32_t)strtoul(colon + 1, NULL, 10),
			    .count = function < own->nr_counts ? own->counts[function] : 0,
			    .name = sym->raw};
	if (row->file)
		own->nr++;
	else
		x->err = fail(ENOMEM, "out of memory");
}

static int compare(const void *a, const void *b)
{
	const struct row *r = a, *s = b;
	int ret = strcmp(r->file, s->file);

	if (ret)
		return ret;
	return r->line != s->line ? (r->line < s->line ? -1 : 1) : strcmp(r->name, s->name);
}

static void put_text(struct out *o, const char *text)
{
	for (; *text; text++)
		out_write(o, (unsigned char)*text < ' ' ? "?" : text, 1);
}

/* Write the rows of one source file, sorted by line; nothing if no function was called. */
static void put_file(struct call_export *x, const struct row *rows, size_t nr)
{
	size_t hit = 0, lines = 0, lines_hit = 0;
	struct out *o = &x->o;

	for (size_t i = 0; i < nr; i++)
		hit += rows[i].count != 0;
	if (!hit)
		return;
	out_text(o, "TN:\nSF:");
	put_text(o, rows[0].file);
	out_text(o, "\n");
	for (size_t i = 0; i < nr; i++) {
		out_printf(o, "FN:%" PRIu32 ",", rows[i].line);
		put_text(o, rows[i].name);
		out_text(o, "\n");
	}
	for (size_t i = 0; i < nr; i++) {
		out_printf(o, "FNDA:%" PRIu64 ",", rows[i].count);
		put_text(o, rows[i].name);
		out_text(o, "\n");
	}
	out_printf(o, "FNF:%zu\nFNH:%zu\n", nr, hit);
	for (size_t i = 0; i < nr; i++) {
		uint64_t sum = rows[i].count;

		while (i + 1 < nr && rows[i + 1].line == rows[i].line)
			sum += rows[++i].count;
		out_printf(o, "DA:%" PRIu32 ",%" PRIu64 "\n", rows[i].line, sum);
		lines++;
		lines_hit += sum != 0;
	}
	out_printf(o, "LF:%zu\nLH:%zu\nend_of_record\n", lines, lines_hit);
}

static size_t count_hits(const struct lcov *own)
{
	size_t nr = 0;

	for (size_t i = 0; i < own->nr; i++)
		nr += own->rows[i].count != 0;
	return nr;
}

static void lcov_end(struct call_export *x)
{
	struct symbols *symbols = x->v->r->symbols;
	struct srcline *lines = srcline_new(symbols);
	struct lcov *own = x->own;
	uint64_t last = 0;
	size_t begin = 0;

	if (!lines) {
		x->err = fail(ENOMEM, "out of memory");
		return;
	}
	for (size_t i = 0; i < symbols_count(symbols) && !x->err; i++) {
		const struct symbol *sym = symbols_at(symbols, i);

		if ((i && sym->addr == last) || !strchr("tTwWiI", sym->type))
			continue;
		last = sym->addr;
		add_row(x, lines, sym);
	}
	srcline_free(lines);
	if (!x->err && !count_hits(own))
		x->err = fail(ENODATA,
			      "no function that was called in '%s' has a place in the source: "
			      "build the program "
			      "with -g, and keep it where it ran",
			      x->v->path);
	if (x->err)
		return;
	qsort(own->rows, own->nr, sizeof(*own->rows), compare);
	for (size_t i = 1; i <= own->nr; i++) {
		if (i < own->nr && !strcmp(own->rows[i].file, own->rows[begin].file))
			continue;
		put_file(x, own->rows + begin, i - begin);
		begin = i;
	}
}

static void lcov_free(struct call_export *x)
{
	struct lcov *own = x->own;

	for (size_t i = 0; i < own->nr; i++)
		free(own->rows[i].file);
	free(own->rows);
	free(own->counts);
}

int lcov_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct lcov),
						  .call = lcov_call,
						  .other = lcov_other,
						  .end = lcov_end,
						  .free = lcov_free};

	(void)r;
	return call_export_each(path, opt, &format);
}
