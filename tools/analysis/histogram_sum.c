/* SPDX-License-Identifier: MIT */
/* See histogram_sum.h. Tests: tests/engine/events/hist, tests/tracefs/test_sessions.py. */
#include "tools/analysis/histogram_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/hash_index.h"

/* Is the field laid out the same? A histogram without rows takes the layout of the other. */
static bool same_field(const struct area_hist_field *a, const struct area_hist_field *b)
{
	return a->kind == b->kind && a->type == b->type && a->modifier == b->modifier &&
	       a->is_signed == b->is_signed && a->at == b->at && a->bytes == b->bytes &&
	       a->param == b->param && a->comm == b->comm && a->flags == b->flags;
}

bool histogram_same(const struct histogram *a, const struct histogram *b)
{
	if (a->nr_fields != b->nr_fields || strcmp(a->trigger, b->trigger) != 0)
		return false;
	for (uint32_t i = 0; i < a->nr_fields; i++)
		if (!same_field(&a->fields[i], &b->fields[i]))
			return false;
	return a->row_bytes == b->row_bytes || !a->nr_rows || !b->nr_rows;
}

/* The bytes of a key: of a text up to its NUL, else all. */
static size_t key_bytes(const struct area_hist_field *f, const uint8_t *row)
{
	return f->type == AREA_HIST_STRING ? strnlen((const char *)row + f->at, f->bytes)
					   : f->bytes;
}

static uint64_t hash_keys(const struct histogram *h, const uint8_t *row)
{
	uint64_t hash = HASH_BYTES_SEED;

	for (uint32_t i = 0; i < h->nr_fields; i++) {
		size_t n = key_bytes(&h->fields[i], row);

		if (h->fields[i].kind == AREA_HIST_KEY)
			hash = hash_bytes(hash, row + h->fields[i].at, n);
	}
	return hash;
}

static bool same_keys(const struct histogram *h, const uint8_t *a, const uint8_t *b)
{
	for (uint32_t i = 0; i < h->nr_fields; i++) {
		const struct area_hist_field *f = &h->fields[i];
		size_t n = key_bytes(f, a);

		if (f->kind == AREA_HIST_KEY &&
		    (key_bytes(f, b) != n || memcmp(a + f->at, b + f->at, n) != 0))
			return false;
	}
	return true;
}

static void add_vals(const struct histogram *h, uint8_t *to, const uint8_t *from)
{
	for (uint32_t i = 0; i < h->nr_fields; i++) {
		uint64_t v;

		if (h->fields[i].kind != AREA_HIST_VAL)
			continue;
		v = histogram_number(h, i, to) + histogram_number(h, i, from);
		memcpy(to + h->fields[i].at, &v, sizeof(v));
	}
}

int histogram_add(struct histogram *to, const struct histogram *from)
{
	struct hash_index index = {0};
	uint8_t *rows;
	int err = 0;

	if (!histogram_same(to, from))
		return 0;
	to->hits += from->hits;
	to->drops += from->drops;
	if (!from->nr_rows)
		return 0;
	if (!to->row_bytes || !to->nr_rows)
		to->row_bytes = from->row_bytes;
	rows = realloc(to->rows, ((size_t)to->nr_rows + from->nr_rows) * to->row_bytes);
	if (!rows)
		return fail(ENOMEM, "out of memory for a histogram");
	to->rows = rows;
	for (uint32_t i = 0; i < to->nr_rows && !err; i++)
		err = hash_index_add(&index, hash_keys(to, histogram_row(to, i)), i);
	for (uint32_t i = 0; i < from->nr_rows && !err; i++) {
		const uint8_t *row = histogram_row(from, i);
		uint64_t hash = hash_keys(to, row);
		int64_t found =
			HASH_INDEX_FIND(&index, hash, k, same_keys(to, histogram_row(to, k), row));

		if (found >= 0) {
			add_vals(to, to->rows + (size_t)found * to->row_bytes, row);
			continue;
		}
		memcpy(to->rows + (size_t)to->nr_rows * to->row_bytes, row, to->row_bytes);
		err = hash_index_add(&index, hash, to->nr_rows);
		to->nr_rows += !err;
	}
	hash_index_clear(&index);
	return err ? fail(ENOMEM, "out of memory for a histogram") : 0;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct histogram *h = arg;

	for (uint32_t i = 0; i < h->nr_sorts; i++) {
		const struct area_hist_field *f = &h->fields[h->sorts[i].field];
		uint64_t x, y;
		int order;

		if (f->type == AREA_HIST_STRING) {
			order = strncmp((const char *)a + f->at, (const char *)b + f->at, f->bytes);
		} else {
			x = histogram_number(h, h->sorts[i].field, a);
			y = histogram_number(h, h->sorts[i].field, b);
			if (f->is_signed && f->kind == AREA_HIST_KEY)
				order = (int64_t)x < (int64_t)y ? -1 : (int64_t)x > (int64_t)y;
			else
				order = x < y ? -1 : x > y;
		}
		if (order)
			return h->sorts[i].descending ? -order : order;
	}
	return 0;
}

int histogram_sort(struct histogram *h)
{
	for (uint32_t i = 0; i < h->nr_sorts; i++)
		if (h->fields[h->sorts[i].field].type == AREA_HIST_STACK)
			return 0; /* they stay unsorted, as in the kernel */
	if (h->nr_rows)
		qsort_r(h->rows, h->nr_rows, h->row_bytes, compare, h);
	return 0;
}
