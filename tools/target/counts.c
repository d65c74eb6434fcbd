/* SPDX-License-Identifier: MIT */
/*
 * See counts.h. A hash_index finds rows by name and object. For each area a table has the row of
 * each function id, so names are looked up once, not in each turn. If a count is lower than before,
 * the profiler was started again: all of the count is then of the last turn. Tests:
 * tests/cli/test_top.py.
 */
#include "tools/target/counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/profile_rows.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/code/elf_code.h"
#include "tools/target/image.h"
#include "tools/target/names.h"

struct counts_area {
	struct counts_area *next;
	char name[sizeof(((struct image *)0)->name)];
	ino_t ino;
	uint32_t nr_known;   /* functions that `rows` has room for */
	struct count **rows; /* by function; NULL: not looked up yet */
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory for the counts of functions");
}

struct counts *counts_new(void)
{
	struct counts *c = calloc(1, sizeof(*c));

	if (!c)
		no_memory();
	return c;
}

static void set_free(struct count_set *s)
{
	for (unsigned int o = 0; o < AREA_TIMES_OCTAVES; o++)
		free(s->times[o]);
}

void counts_free(struct counts *c)
{
	struct counts_area *a, *next;

	if (!c)
		return;
	for (unsigned int i = 0; i < c->nr; i++) {
		set_free(&c->at[i]->now);
		set_free(&c->at[i]->before);
		free((char *)c->at[i]->name);
		free((char *)c->at[i]->object);
		free(c->at[i]);
	}
	for (a = c->areas; a; a = next) {
		next = a->next;
		free(a->rows);
		free(a);
	}
	free(c->at);
	hash_index_clear(&c->index);
	free(c);
}

void counts_turn(struct counts *c)
{
	c->missed = 0;
	for (unsigned int i = 0; i < c->nr; i++) {
		struct count *row = c->at[i];
		struct count_set was = row->before;

		row->before = row->now;
		for (unsigned int o = 0; o < AREA_TIMES_OCTAVES; o++)
			if (was.times[o])
				memset(was.times[o], 0, AREA_TIMES_BUCKETS * sizeof(*was.times[o]));
		was.hits = was.time_ns = was.self_ns = was.max_ns = 0;
		row->now = was;
	}
}

static uint64_t hash_of(const char *name, const char *object)
{
	return hash_bytes(hash_bytes(HASH_BYTES_SEED, name, strlen(name) + 1), object,
			  strlen(object));
}

struct count *counts_row(struct counts *c, const char *name, const char *object, bool is_event)
{
	uint64_t hash = hash_of(name, object);
	int64_t found =
		HASH_INDEX_FIND(&c->index, hash, i,
				!strcmp(c->at[i]->name, name) && !strcmp(c->at[i]->object, object));
	struct count *row;

	if (found >= 0)
		return c->at[found];
	row = calloc(1, sizeof(*row));
	if (row) {
		row->name = strdup(name);
		row->object = strdup(object);
		row->is_event = is_event;
	}
	if (!row || !row->name || !row->object || ARRAY_ROOM(c->at, c->nr, c->room, 64) ||
	    hash_index_add(&c->index, hash, c->nr)) {
		if (row) {
			free((char *)row->name);
			free((char *)row->object);
		}
		free(row);
		no_memory();
		return NULL;
	}
	c->at[c->nr++] = row;
	return row;
}

static struct counts_area *area_of(struct counts *c, const struct image *image)
{
	struct counts_area *a;

	for (a = c->areas; a; a = a->next)
		if (!strcmp(a->name, image->name) && a->ino == image->ino)
			return a;
	a = calloc(1, sizeof(*a));
	if (!a) {
		no_memory();
		return NULL;
	}
	snprintf(a->name, sizeof(a->name), "%s", image->name);
	a->ino = image->ino;
	a->next = c->areas;
	c->areas = a;
	return a;
}

/* Find the rows of all functions in @p that have none yet. */
static int look_up(struct counts *c, struct counts_area *a, const struct image *image,
		   const struct profile_rows *p)
{
	struct names *names = NULL;
	struct meta *m;
	int err = image_tables(image, &m);

	if (!err && m->nr_functions > a->nr_known) {
		struct count **rows = reallocarray(a->rows, m->nr_functions, sizeof(*rows));

		if (rows) {
			memset(rows + a->nr_known, 0,
			       (m->nr_functions - a->nr_known) * sizeof(*rows));
			a->rows = rows;
			a->nr_known = m->nr_functions;
		} else {
			err = no_memory();
		}
	}
	if (!err && !(names = names_new(m)))
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < p->nr; i++) {
		const struct area_function *f;
		const char *path, *base;
		const struct symbol *s;
		char number[ELF_CODE_UNNAMED];
		uint32_t id = p->rows[i].function;

		if (!p->rows[i].kind || id >= m->nr_functions || a->rows[id])
			continue;
		f = &m->functions[id];
		s = names_find(names, f->object, f->offset);
		path = f->object < m->nr_objects ? meta_string(m, m->objects[f->object].path) : "";
		base = strrchr(path, '/');
		a->rows[id] = counts_row(c, s ? s->name : elf_code_unnamed(number, path, f->offset),
					 base ? base + 1 : path, false);
		if (!a->rows[id])
			err = -ENOMEM;
	}
	names_free(names);
	if (m)
		meta_free(m);
	return err;
}

static int add_times(struct count_set *set, const struct area_profile *row,
		     const struct profile_rows *p)
{
	for (unsigned int o = 0; o < AREA_TIMES_OCTAVES; o++) {
		uint32_t nr = row->times[o];

		if (!nr || nr > p->nr_times)
			continue;
		if (!set->times[o])
			set->times[o] = calloc(AREA_TIMES_BUCKETS, sizeof(*set->times[o]));
		if (!set->times[o])
			return no_memory();
		for (unsigned int b = 0; b < AREA_TIMES_BUCKETS; b++)
			set->times[o][b] += p->times[nr - 1].nr[b];
	}
	return 0;
}

static bool is_known(const struct counts_area *a, const struct area_profile *row)
{
	return row->function < a->nr_known && a->rows[row->function];
}

int counts_area(struct counts *c, const struct image *image, int fd)
{
	struct counts_area *a = area_of(c, image);
	struct profile_rows p;
	bool all = true;
	int err = a ? profile_rows_read(fd, image->path, &p) : -ENOMEM;

	if (err)
		return err;
	c->missed += p.missed;
	for (uint32_t i = 0; i < p.nr; i++)
		all = all && (!p.rows[i].kind || is_known(a, &p.rows[i]));
	if (!all)
		err = look_up(c, a, image, &p);
	for (uint32_t i = 0; !err && i < p.nr; i++) {
		const struct area_profile *row = &p.rows[i];
		struct count *to;

		if (!row->kind || !is_known(a, row))
			continue;
		to = a->rows[row->function];
		to->has_times = true;
		to->now.hits += row->hits;
		to->now.time_ns += row->time_ns;
		to->now.self_ns += row->self_ns;
		if (row->max_ns > to->now.max_ns)
			to->now.max_ns = row->max_ns;
		err = add_times(&to->now, row, &p);
	}
	profile_rows_free(&p);
	return err;
}

int counts_stat_text(struct counts *c, char *text)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		unsigned long long hits;
		double us;
		char name[128];
		struct count *row;

		if (sscanf(line, " %127s %llu %lf us", name, &hits, &us) != 3)
			continue;
		row = counts_row(c, name, "", false);
		if (!row)
			return -ENOMEM;
		row->now.hits += hits;
		row->now.time_ns += (uint64_t)(us * 1000);
	}
	return 0;
}

uint64_t count_delta(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static uint64_t bucket(const struct count *row, unsigned int o, unsigned int b)
{
	uint64_t now = row->now.times[o] ? row->now.times[o][b] : 0;

	return count_delta(now, row->before.times[o] ? row->before.times[o][b] : 0);
}

double count_time(const struct count *row, double p)
{
	uint64_t sum = 0, rank, seen = 0;

	for (unsigned int o = 0; o < AREA_TIMES_OCTAVES; o++)
		for (unsigned int b = 0; row->now.times[o] && b < AREA_TIMES_BUCKETS; b++)
			sum += bucket(row, o, b);
	if (!sum)
		return -1;
	rank = (uint64_t)(p * (double)(sum - 1));
	for (unsigned int o = 0; o < AREA_TIMES_OCTAVES; o++)
		for (unsigned int b = 0; row->now.times[o] && b < AREA_TIMES_BUCKETS; b++) {
			seen += bucket(row, o, b);
			if (seen > rank)
				return profile_bucket_ns(o, b);
		}
	return -1;
}
