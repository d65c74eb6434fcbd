/* SPDX-License-Identifier: MIT */
/*
 * See sql_order.h: a counting sort by the rank of the name. An entry is its number among all that
 * were added. Within a name these numbers rise, so the part that has an entry is found by going on
 * from the part of the last one. Tests: tests/cli/test_sql.py.
 */
#include "tools/view/sql_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/spill_array.h"
#include "tools/view/sqlite.h"

struct part {
	struct place first;
	size_t last;   /* the entry of the source after the part's last one */
	uint32_t base; /* number of the part's first entry among all */
};

struct sql_order {
	struct part *parts;
	size_t nr_parts, room;
	uint32_t *entries;
	uint32_t nr, at; /* number of entries; the next one to give */
	size_t part;	 /* the part of the last one that was given */
};

struct sql_order *sql_order_new(void)
{
	struct sql_order *o = sqlite3_malloc(sizeof(*o));

	if (o)
		*o = (struct sql_order){0};
	return o;
}

void sql_order_free(struct sql_order *o)
{
	if (!o)
		return;
	sqlite3_free(o->parts);
	spill_array_free(o->entries);
	sqlite3_free(o);
}

int sql_order_add(struct sql_order *o, const struct place *first, size_t last)
{
	const size_t nr = last > first->nr ? last - first->nr : 0;

	if (!nr)
		return 0;
	if (nr > UINT32_MAX - o->nr)
		return -EOVERFLOW;
	if (o->nr_parts == o->room) {
		size_t room = o->room ? 2 * o->room : 64;
		struct part *more = sqlite3_realloc64(o->parts, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		o->parts = more;
		o->room = room;
	}
	o->parts[o->nr_parts++] = (struct part){.first = *first, .last = last, .base = o->nr};
	o->nr += (uint32_t)nr;
	return 0;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct column_name *names = arg, *x = &names[*(const uint32_t *)a],
				 *y = &names[*(const uint32_t *)b];
	int cmp = strcmp(x->text, y->text);

	if (cmp)
		return cmp;
	/* SQLite sorts NULL before every text */
	if (!x->object || !y->object)
		return (x->object != NULL) - (y->object != NULL);
	return strcmp(x->object, y->object);
}

/*
 * Rank the names. Names that are equal get different ranks in any order; each row uses the same.
 * @rank: set for each name.
 */
static int rank_names(const struct columns *c, uint32_t *rank)
{
	uint32_t *order = sqlite3_malloc64((c->nr_names + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->nr_names; i++)
		order[i] = i;
	qsort_r(order, c->nr_names, sizeof(*order), by_name, c->names);
	for (uint32_t i = 0, last = 0; i < c->nr_names; i++) {
		if (i && by_name(&order[i - 1], &order[i], c->names))
			last = i;
		rank[order[i]] = last;
	}
	sqlite3_free(order);
	return 0;
}

int sql_order_make(struct sql_order *o, const struct columns *c)
{
	uint32_t *rank = sqlite3_malloc64((c->nr_names + 1) * sizeof(*rank)),
		 *place = sqlite3_malloc64((c->nr_names + 1) * sizeof(*place));
	int err = -ENOMEM;

	o->entries = spill_array_grow(NULL, ((size_t)o->nr + 1) * sizeof(*o->entries));
	if (!rank || !place || !o->entries || rank_names(c, rank))
		goto out;
	memset(place, 0, (c->nr_names + 1) * sizeof(*place));
	for (size_t p = 0; p < o->nr_parts; p++) {
		const struct part *t = &o->parts[p];
		const uint32_t *name = t->first.track->rows[t->first.row].name;

		for (size_t i = t->first.nr; i < t->last; i++)
			place[rank[name[i]] + 1]++;
		spill_arrays_trim();
	}
	for (size_t i = 1; i <= c->nr_names; i++)
		place[i] += place[i - 1];
	for (size_t p = 0; p < o->nr_parts; p++) {
		const struct part *t = &o->parts[p];
		const uint32_t *name = t->first.track->rows[t->first.row].name;

		for (size_t i = t->first.nr; i < t->last; i++)
			o->entries[place[rank[name[i]]]++] = t->base + (uint32_t)(i - t->first.nr);
		spill_arrays_trim();
	}
	err = 0;
out:
	sqlite3_free(rank);
	sqlite3_free(place);
	return err;
}

bool sql_order_next(struct sql_order *o, struct place *at)
{
	uint32_t entry;

	if (o->at == o->nr)
		return false;
	entry = o->entries[o->at++];
	if (entry < o->parts[o->part].base)
		o->part = 0;
	while (o->part + 1 < o->nr_parts && entry >= o->parts[o->part + 1].base)
		o->part++;
	*at = o->parts[o->part].first;
	at->nr += entry - o->parts[o->part].base;
	return true;
}
