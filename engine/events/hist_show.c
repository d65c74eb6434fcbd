/* SPDX-License-Identifier: MIT */
/*
 * A histogram as text, as the kernel has it (6.12): sorted, the rows that are there at this moment.
 * Control context. Tests: tests/engine/events/hist.
 */
#include "engine/events/hist.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/mem.h"
#include "engine/core/heap.h"
#include "engine/events/hist_impl.h"

#define BAR_COLUMNS 20u

static void put_padded(struct seq_buf *s, const char *text, size_t n, size_t width, int left)
{
	size_t i;

	for (i = n; !left && i < width; i++)
		seq_putc(s, ' ');
	for (i = 0; i < n; i++)
		seq_putc(s, text[i]);
	for (i = n; left && i < width; i++)
		seq_putc(s, ' ');
}

static void put_number(struct seq_buf *s, uint64_t v, uint32_t base, size_t width, int left)
{
	char digits[24];
	size_t n = sizeof(digits);

	do {
		digits[--n] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	put_padded(s, digits + n, sizeof(digits) - n, width, left);
}

static const char *modifier_name(uint8_t modifier)
{
	static const char *const names[] = {"",		".hex",	    ".execname", ".log2",
					    ".buckets", ".percent", ".graph"};

	return names[modifier];
}

static void put_field(const struct hist_field *f, struct seq_buf *s)
{
	seq_puts(s, f->name);
	seq_puts(s, modifier_name(f->modifier));
	if (f->modifier == HIST_BUCKETS) {
		seq_putc(s, '=');
		seq_putu(s, f->buckets);
	}
}

static void put_fields(const struct hist_field *f, uint32_t nr, struct seq_buf *s)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (i)
			seq_putc(s, ',');
		put_field(&f[i], s);
	}
}

void hist_show_trigger(const struct hist *h, struct seq_buf *s)
{
	uint32_t i;

	seq_puts(s, "hist:");
	if (h->name[0]) {
		seq_puts(s, "name=");
		seq_puts(s, h->name);
		seq_putc(s, ':');
	}
	seq_puts(s, "keys=");
	put_fields(h->keys, h->nr_keys, s);
	seq_puts(s, ":vals=");
	put_fields(h->vals + h->no_hitcount, h->nr_vals - h->no_hitcount, s);
	seq_puts(s, ":sort=");
	for (i = 0; i < h->nr_sorts; i++) {
		const struct hist_sort *sort = &h->sorts[i];

		if (i)
			seq_putc(s, ',');
		put_field(sort->is_key ? &h->keys[sort->index] : &h->vals[sort->index], s);
		if (sort->descending)
			seq_puts(s, ".descending");
	}
	seq_puts(s, ":size=");
	seq_putu(s, h->size);
	if (h->no_hitcount)
		seq_puts(s, ":nohitcount");
}

static int is_text(const struct hist_field *f)
{
	return f->from == HIST_STATIC || f->from == HIST_DYN || f->from == HIST_RDYN;
}

static const char *key_text(const struct hist_field *f, const struct hist_row *row)
{
	return (const char *)row->key + f->key_at;
}

static size_t text_bytes(const char *text)
{
	size_t n = 0;

	while (n < HIST_MAX_STRING && text[n])
		n++;
	return n;
}

static void put_key(const struct hist_field *f, const struct hist_row *row, struct seq_buf *s)
{
	uint64_t v = row->key[f->key_at / 8];

	seq_puts(s, f->name);
	seq_puts(s, ": ");
	if (is_text(f)) {
		put_padded(s, key_text(f, row), text_bytes(key_text(f, row)), 50, 1);
		return;
	}
	switch (f->modifier) {
	case HIST_HEX:
		put_number(s, v, 16, 0, 0);
		break;
	case HIST_EXECNAME:
		put_padded(s, row->comm, text_bytes(row->comm), 16, 1);
		seq_putc(s, '[');
		put_number(s, v, 10, 10, 0);
		seq_putc(s, ']');
		break;
	case HIST_LOG2:
		seq_puts(s, "~ 2^");
		put_number(s, v, 10, 2, 1);
		break;
	case HIST_BUCKETS:
		seq_puts(s, "~ ");
		seq_putu(s, v);
		seq_putc(s, '-');
		seq_putu(s, v + f->buckets - 1);
		break;
	default:
		put_number(s, v, 10, 10, 0);
		break;
	}
}

static void put_percent(struct seq_buf *s, uint64_t v, uint64_t total)
{
	uint64_t n = total ? (v > UINT64_MAX / 10000 ? v / total * 10000 : v * 10000 / total) : 0;

	put_number(s, n / 100, 10, 3, 0);
	seq_putc(s, '.');
	seq_putc(s, (char)('0' + n % 100 / 10));
	seq_putc(s, (char)('0' + n % 10));
}

static void put_bar(struct seq_buf *s, uint64_t v, uint64_t max)
{
	static const char bar[] = "####################";
	uint64_t n = max ? (v > UINT64_MAX / BAR_COLUMNS ? v / (max / BAR_COLUMNS + 1)
							 : v * BAR_COLUMNS / max)
			 : 0;

	put_padded(s, bar, n < BAR_COLUMNS ? n : BAR_COLUMNS, BAR_COLUMNS, 1);
}

static void put_val(const struct hist_field *f, uint64_t v, uint64_t total, uint64_t max,
		    struct seq_buf *s)
{
	seq_puts(s, f->name);
	switch (f->modifier) {
	case HIST_PERCENT:
		seq_puts(s, " (%): ");
		put_percent(s, v, total);
		break;
	case HIST_GRAPH:
		seq_puts(s, ": ");
		put_bar(s, v, max);
		break;
	default:
		seq_puts(s, ": ");
		put_number(s, v, f->modifier == HIST_HEX ? 16 : 10, 10, 0);
		break;
	}
}

/* Whether @a comes behind @b. */
static int is_behind(const struct hist *h, const struct hist_row *a, const struct hist_row *b)
{
	uint32_t i;

	for (i = 0; i < h->nr_sorts; i++) {
		const struct hist_sort *sort = &h->sorts[i];
		const struct hist_field *f =
			sort->is_key ? &h->keys[sort->index] : &h->vals[sort->index];
		uint64_t x, y;
		int order;

		if (sort->is_key && is_text(f)) {
			const char *p = key_text(f, a), *q = key_text(f, b);
			size_t n = 0;

			while (n < HIST_MAX_STRING && p[n] && p[n] == q[n])
				n++;
			order = (unsigned char)p[n] - (unsigned char)q[n];
		} else {
			x = sort->is_key ? a->key[f->key_at / 8] : a->vals[sort->index];
			y = sort->is_key ? b->key[f->key_at / 8] : b->vals[sort->index];
			if (f->is_signed)
				order = (int64_t)x < (int64_t)y ? -1 : (int64_t)x > (int64_t)y;
			else
				order = x < y ? -1 : x > y;
		}
		if (order)
			return sort->descending ? order < 0 : order > 0;
	}
	return 0;
}

/* A heap sort: no recursion, no more memory, whatever the order was. */
static void sift(const struct hist *h, const struct hist_row **rows, uint32_t i, uint32_t n)
{
	for (;;) {
		uint32_t child = 2 * i + 1;
		const struct hist_row *row = rows[i];

		if (child >= n)
			return;
		if (child + 1 < n && is_behind(h, rows[child + 1], rows[child]))
			child++;
		if (!is_behind(h, rows[child], row))
			return;
		rows[i] = rows[child];
		rows[child] = row;
		i = child;
	}
}

static void sort_rows(const struct hist *h, const struct hist_row **rows, uint32_t n)
{
	uint32_t i;

	for (i = n / 2; i--;)
		sift(h, rows, i, n);
	for (i = n; i-- > 1;) {
		const struct hist_row *last = rows[i];

		rows[i] = rows[0];
		rows[0] = last;
		sift(h, rows, 0, i);
	}
}

static uint32_t collect(const struct hist_map *m, const struct hist_row **rows)
{
	uint32_t i, nr = 0;

	for (i = 0; i < m->nr_slots && nr < m->nr_rows; i++) {
		uint32_t n = load_acquire(&m->slots[i]);

		if (n)
			rows[nr++] = hist_row(m, n - 1);
	}
	return nr;
}

static void put_row(const struct hist *h, const struct hist_row *row, const uint64_t *totals,
		    const uint64_t *maxima, struct seq_buf *s)
{
	uint32_t i;

	seq_puts(s, "{ ");
	for (i = 0; i < h->nr_keys; i++) {
		if (i)
			seq_puts(s, ", ");
		put_key(&h->keys[i], row, s);
	}
	seq_puts(s, " }");
	for (i = h->no_hitcount; i < h->nr_vals; i++) {
		seq_puts(s, i ? "  " : " ");
		put_val(&h->vals[i], load_relaxed(&row->vals[i]), totals[i], maxima[i], s);
	}
	seq_putc(s, '\n');
}

static void put_total(struct seq_buf *s, const char *name, uint64_t v)
{
	seq_puts(s, name);
	seq_putu(s, v);
	seq_putc(s, '\n');
}

int hist_show(const struct hist *h, const char *filter, struct seq_buf *s)
{
	uint64_t totals[HIST_MAX_VALS] = {0}, maxima[HIST_MAX_VALS] = {0};
	const struct hist_map *m = h->map;
	const struct hist_row **rows = heap_alloc(m->nr_rows * sizeof(*rows));
	uint32_t i, v, nr;

	if (!rows)
		return -ENOMEM;
	seq_puts(s, "# event histogram\n#\n# trigger info: ");
	hist_show_trigger(h, s);
	if (filter) {
		seq_puts(s, " if ");
		seq_puts(s, filter);
	}
	seq_puts(s, hist_paused(h) ? " [paused]\n#\n\n" : " [active]\n#\n\n");
	nr = collect(m, rows);
	sort_rows(h, rows, nr);
	for (i = 0; i < nr; i++)
		for (v = 0; v < h->nr_vals; v++) {
			totals[v] += rows[i]->vals[v];
			if (rows[i]->vals[v] > maxima[v])
				maxima[v] = rows[i]->vals[v];
		}
	for (i = 0; i < nr; i++)
		put_row(h, rows[i], totals, maxima, s);
	put_total(s, "\nTotals:\n    Hits: ", load_relaxed(&m->hits));
	put_total(s, "    Entries: ", nr);
	put_total(s, "    Dropped: ", load_relaxed(&m->drops));
	heap_free(rows);
	return 0;
}
