/* SPDX-License-Identifier: MIT */
/* Histograms of an area with false contents: fields outside of their rows, broken tables. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_area.h"
#include "tools/analysis/histogram_sum.h"
#include "tools/area/histogram.h"
#include "tools/area/meta.h"
#include "tools/text/histogram_text.h"

enum { ID = 30, MAP_AT = 1024, SLOTS = 8, ROWS_AT = 256 };

/* An area with one event and one histogram of it, as an engine leaves it, to be broken. */
struct bed {
	struct fake *f;
	struct area_hist *row;
	struct area_hist_desc *about;
	struct area_hist_map *map;
};

/* Keys: a number that is shown with a name in the row, and the hit count. */
static struct bed make_bed(uint32_t row_bytes)
{
	struct bed b = {.f = fake_new(1, 1, 1)};
	uint8_t *room = fake_row(b.f, AREA_HIST_ROOM, 0);
	struct area_event *e = fake_row(b.f, AREA_EVENTS, 0);
	char *strings = fake_row(b.f, AREA_STRINGS, 0);

	strcpy(strings + 8, "shop");
	strcpy(strings + 16, "order");
	*e = (struct area_event){.system = 8, .name = 16, .id = ID};
	AREA_TABLE(b.f->head, AREA_HISTS)->count = 1;
	AREA_TABLE(b.f->head, AREA_HIST_ROOM)->count = 1;
	b.row = fake_row(b.f, AREA_HISTS, 0);
	*b.row = (struct area_hist){.gen = 2, .event = ID, .about = 8, .map = MAP_AT};
	b.about = (struct area_hist_desc *)(room + 8);
	*b.about = (struct area_hist_desc){.bytes = 512,
					   .nr_fields = 2,
					   .field_bytes = sizeof(struct area_hist_field),
					   .trigger = 400};
	strcpy((char *)b.about + 400, "hist:keys=pid.execname");
	strcpy((char *)b.about + 480, "pid");
	strcpy((char *)b.about + 490, "hitcount");
	b.about->fields[0] = (struct area_hist_field){.kind = AREA_HIST_KEY,
						      .modifier = AREA_HIST_EXECNAME,
						      .at = 16,
						      .bytes = 8,
						      .comm = 24,
						      .name = 480};
	b.about->fields[1] =
		(struct area_hist_field){.kind = AREA_HIST_VAL, .at = 8, .bytes = 8, .name = 490};
	b.map = (struct area_hist_map *)(room + MAP_AT);
	*b.map = (struct area_hist_map){.hits = 3,
					.nr_slots = SLOTS,
					.nr_rows = 2,
					.row_bytes = row_bytes,
					.slots_at = 128,
					.rows_at = ROWS_AT};
	memcpy(room + MAP_AT + 128, (const uint32_t[SLOTS]){0, 2, 0, 1}, SLOTS * 4);
	for (unsigned int i = 0; i < 2 && row_bytes >= 40; i++) {
		uint64_t *row = (uint64_t *)(room + MAP_AT + ROWS_AT + (size_t)i * row_bytes);

		row[1] = 1 + i;
		row[2] = 100 + i;
		strcpy((char *)(row + 3), i ? "waiter" : "cook");
	}
	return b;
}

static int load(struct bed *b, struct histograms *hs)
{
	int fd = open(fake_write(b->f, 0), O_RDONLY), err;
	struct meta *m;

	assert_true(fd >= 0);
	assert_int_equal(meta_load(fd, 0, b->f->size, "fake", &m), 0);
	err = histograms_load(fd, m, b->f->size, "shop", "order", "fake", hs);
	meta_free(m);
	close(fd);
	return err;
}

static void refused(struct bed b)
{
	struct histograms hs;

	assert_int_equal(load(&b, &hs), -EINVAL);
	histograms_free(&hs);
	fake_free(b.f);
}

static int to_stream(void *arg, const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, arg) == bytes ? 0 : -EIO;
}

static char *printed(const struct histogram *h)
{
	struct out o;
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(out_init_sink(&o, to_stream, f), 0);
	histogram_print(h, NULL, &o);
	assert_int_equal(out_end(&o), 0);
	fclose(f);
	return text;
}

static void a_good_one(void **state)
{
	struct bed b = make_bed(40);
	struct histograms hs;
	char *text;

	assert_int_equal(load(&b, &hs), 0);
	assert_int_equal(hs.nr, 1);
	assert_int_equal(hs.at[0].nr_rows, 2);
	text = printed(&hs.at[0]);
	assert_non_null(strstr(text, "{ pid: waiter          [       101] } hitcount:          2"));
	assert_non_null(strstr(text, "    Hits: 3\n    Entries: 2\n"));
	free(text);
	histograms_free(&hs);
	fake_free(b.f);
}

/* A row of 24 bytes has no room for a name of 16 at any place, a name at 0 included. */
static void a_name_outside_of_its_row(void **state)
{
	static const uint32_t places[] = {0, 9, 23, 24, 25, 1u << 30, UINT32_MAX - 8};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct bed b = make_bed(i ? 24 : 8);

		b.about->fields[0].comm = places[i];
		if (!i)
			b.about->nr_fields = 1;
		if (!i)
			b.about->fields[0].at = 0;
		refused(b);
	}
}

/* With nothing counted there is no row to measure fields by; they are measured all the same. */
static void fields_without_rows(void **state)
{
	static const uint32_t places[] = {70000, 1u << 31, UINT32_MAX, UINT32_MAX - 7};

	for (size_t i = 0; i < 2 * sizeof(places) / sizeof(*places); i++) {
		struct bed b = make_bed(40);
		uint32_t at = places[i / 2];

		b.row->map = 0;
		if (i % 2)
			b.about->fields[0].comm = at;
		else
			b.about->fields[1].at = at;
		refused(b);
	}
}

/* Of two processes with the same trigger one has no rows: it takes over the other's, not their
 * places. */
static void sum_of_unlike_ones(void **state)
{
	struct bed empty = make_bed(40), full = make_bed(40);
	struct histograms a, b;
	char *text;

	empty.row->map = 0;
	empty.about->fields[0].comm = 65536 - 16;
	assert_int_equal(load(&empty, &a), 0);
	assert_int_equal(load(&full, &b), 0);
	assert_int_equal(histogram_add(&a.at[0], &b.at[0]), 0);
	text = printed(&a.at[0]);
	assert_non_null(strstr(text, "Entries: 0\n"));
	free(text);
	histograms_free(&a);
	/* and one that is alike has them */
	empty.about->fields[0].comm = 24;
	assert_int_equal(load(&empty, &a), 0);
	assert_int_equal(histogram_add(&a.at[0], &b.at[0]), 0);
	text = printed(&a.at[0]);
	assert_non_null(strstr(text, "waiter"));
	free(text);
	histograms_free(&a);
	histograms_free(&b);
	fake_free(empty.f);
	fake_free(full.f);
}

/* More rows than the area has room for are not asked memory for. */
static void rows_outside_of_the_room(void **state)
{
	struct bed b = make_bed(40);

	b.map->nr_rows = 1u << 21;
	b.map->row_bytes = 200;
	((uint32_t *)((uint8_t *)b.map + 128))[0] = 1u << 21;
	refused(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_one),
		cmocka_unit_test(a_name_outside_of_its_row),
		cmocka_unit_test(fields_without_rows),
		cmocka_unit_test(sum_of_unlike_ones),
		cmocka_unit_test(rows_outside_of_the_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
