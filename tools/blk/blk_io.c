/* SPDX-License-Identifier: MIT */
/* See blk_io.h. */
#include "tools/blk/blk_io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"

/* A row of a table: requests of one name. */
struct group {
	const char *name; /* NULL: none is known */
	uint8_t of;
	bool in_call;
	uint64_t nr[2], bytes[2]; /* reads and writes */
	uint64_t nr_complete, q2c_ns, q2c_max_ns;
};

struct groups {
	struct group *of;
	size_t nr, room;
	struct hash_index by_name;
	bool any_name;
};

/* The tables, and for each the member of struct blk_io that names its rows. */
static const struct table {
	const char *title, *json;
	size_t member;
} tables[] = {
	{"I/O by File", "files", offsetof(struct blk_io, file)},
	{"I/O by System Call", "calls", offsetof(struct blk_io, call)},
	{"I/O by Function", "functions", offsetof(struct blk_io, function)},
};
#define NR_TABLES (sizeof(tables) / sizeof(*tables))

static bool is_in_call(const struct blk_io *io)
{
	return io->call || io->function;
}

static bool is_group(const struct group *g, const struct blk_io *io, const char *name)
{
	if (name || g->name)
		return name && g->name && !strcmp(name, g->name);
	return g->of == io->of && g->in_call == is_in_call(io);
}

static int add(struct groups *t, const struct blk_io *io, const char *name)
{
	uint64_t hash = name ? hash_bytes(HASH_BYTES_SEED, name, strlen(name))
			     : (uint64_t)io->of * 2 + is_in_call(io);
	int64_t found = HASH_INDEX_FIND(&t->by_name, hash, i, is_group(&t->of[i], io, name));
	struct group *g;

	if (found < 0) {
		if (ARRAY_ROOM(t->of, t->nr, t->room, 16) ||
		    hash_index_add(&t->by_name, hash, (uint32_t)t->nr))
			return fail(ENOMEM, "out of memory for the tables of the program");
		found = (int64_t)t->nr++;
		t->of[found] =
			(struct group){.name = name, .of = io->of, .in_call = is_in_call(io)};
		t->any_name |= name != NULL;
	}
	g = &t->of[found];
	g->nr[io->is_write]++;
	g->bytes[io->is_write] += io->bytes;
	if (io->q2c_ns != BLK_IO_OPEN) {
		g->nr_complete++;
		g->q2c_ns += io->q2c_ns;
		if (io->q2c_ns > g->q2c_max_ns)
			g->q2c_max_ns = io->q2c_ns;
	}
	return 0;
}

/* Rows with a name come first, then the program's; among equals the one with the most bytes. */
static int by_bytes(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	uint64_t nx = x->bytes[0] + x->bytes[1], ny = y->bytes[0] + y->bytes[1];

	if (!x->name != !y->name)
		return x->name ? -1 : 1;
	if (!x->name && x->of != y->of)
		return x->of > y->of ? -1 : 1;
	if (nx != ny)
		return nx > ny ? -1 : 1;
	return x->name ? strcmp(x->name, y->name) : 0;
}

static int make(struct groups *t, const struct blk_ios *ios, const struct table *table)
{
	int err = 0;

	*t = (struct groups){0};
	for (size_t i = 0; i < ios->nr && !err; i++) {
		const char *name;

		memcpy(&name, (const char *)&ios->of[i] + table->member, sizeof(name));
		err = add(t, &ios->of[i], name);
	}
	if (!err && t->nr)
		qsort(t->of, t->nr, sizeof(*t->of), by_bytes);
	return err;
}

static void clear(struct groups *t)
{
	free(t->of);
	hash_index_clear(&t->by_name);
}

static const char *nameless(const struct group *g)
{
	return g->of == BLK_IO_WRITEBACK ? "(write-back by kworkers)"
	       : g->of == BLK_IO_OTHER	 ? "(other processes)"
	       : g->in_call		 ? "(the program, not known)"
					 : "(the program, outside its calls)";
}

/* Names of files may have any byte; control bytes are not printed. */
static void put_name(struct out *o, const char *name)
{
	out_safe(o, name, strlen(name));
	out_text(o, "\n");
}

int blk_ios_put(struct out *o, const struct blk_ios *ios)
{
	struct groups t;
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < NR_TABLES && !err; i++) {
		err = make(&t, ios, &tables[i]);
		/* print at least one table: it has the sums of the other processes */
		if (!err && (t.any_name || (i + 1 == NR_TABLES && !any))) {
			any = true;
			out_printf(o, "\n==================== %s ====================\n\n",
				   tables[i].title);
			out_printf(o, "%8s %11s %8s %11s %13s %13s  %s\n", "READS", "KiB", "WRITES",
				   "KiB", "Q2C AVG", "Q2C MAX", "NAME");
			out_text(o, "-------- ----------- -------- ----------- ------------- "
				    "-------------  ----\n");
			for (size_t k = 0; k < t.nr; k++) {
				const struct group *g = &t.of[k];

				out_printf(o, "%8" PRIu64 " %11.1f %8" PRIu64 " %11.1f ", g->nr[0],
					   (double)g->bytes[0] / 1024, g->nr[1],
					   (double)g->bytes[1] / 1024);
				if (g->nr_complete)
					out_printf(o, "%13.9f %13.9f  ",
						   (double)g->q2c_ns / 1e9 / (double)g->nr_complete,
						   (double)g->q2c_max_ns / 1e9);
				else
					out_printf(o, "%13s %13s  ", "-", "-");
				put_name(o, g->name ? g->name : nameless(g));
			}
		}
		clear(&t);
	}
	return err;
}

static void put_row(struct json *j, const struct group *g)
{
	json_open(j, NULL, '{');
	json_text(j, "name", g->name);
	json_text(j, "of",
		  g->of == BLK_IO_WRITEBACK ? "write-back"
		  : g->of == BLK_IO_OTHER   ? "other"
					    : "program");
	json_bool(j, "in_call", g->in_call);
	json_number(j, "reads", g->nr[0]);
	json_number(j, "read_bytes", g->bytes[0]);
	json_number(j, "writes", g->nr[1]);
	json_number(j, "write_bytes", g->bytes[1]);
	json_number(j, "complete", g->nr_complete);
	json_real(j, "q2c_avg",
		  g->nr_complete ? (double)g->q2c_ns / 1e9 / (double)g->nr_complete : 0, 9);
	json_real(j, "q2c_max", (double)g->q2c_max_ns / 1e9, 9);
	json_close(j, '}');
}

int blk_ios_json(struct json *j, const struct blk_ios *ios)
{
	struct groups t;
	int err = 0;

	json_open(j, "program", '{');
	for (size_t i = 0; i < NR_TABLES && !err; i++) {
		err = make(&t, ios, &tables[i]);
		json_open(j, tables[i].json, '[');
		for (size_t k = 0; k < t.nr && !err; k++)
			put_row(j, &t.of[k]);
		json_close(j, ']');
		clear(&t);
	}
	json_close(j, '}');
	return err;
}
