/* SPDX-License-Identifier: MIT */
/* Areas with false contents: each is refused with a line, or read as far as it makes sense. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h" /* before cmocka, which has a macro of that name */

#include <cmocka.h>

#include "fake_area.h"
#include "tools/area/meta.h"

static struct fake *good(void)
{
	struct fake *f = fake_new(2, 8, 10);

	for (unsigned int c = 0; c < 2; c++)
		for (unsigned int p = 0; p < 4; p++) {
			fake_take(f, c, p, 100, 1000 * (p + 1));
			for (unsigned int i = 0; i < 100; i++)
				fake_call(f, c, p, i, i % 10, FAKE_BIAS + 0x1000);
			if (p < 3)
				fake_publish(f, c, p);
		}
	return f;
}

/* Open the area in @f, and expect the error @err with the text @words. */
static void refused(struct fake *f, int err, const char *words)
{
	struct reader *r;

	assert_int_equal(reader_open_area(fake_write(f, 0), &r), -err);
	if (!strstr(fail_text(), words))
		fail_msg("'%s' does not say '%s'", fail_text(), words);
	fake_free(f);
}

static void published_and_owned_pages_are_read(void **state)
{
	struct fake *f = good();
	struct reader *r;
	uint64_t lost;

	assert_int_equal(reader_open(fake_write(f, 0), &r), 0);
	assert_int_equal(fake_read_all(r, &lost), 800);
	assert_int_equal(lost, 0);
	reader_close(r);
	fake_free(f);
}

static void not_an_area(void **state)
{
	char link[200];
	struct reader *r;
	struct fake *f = good();
	const char *path = fake_write(f, 0);

	snprintf(link, sizeof(link), "%s", fake_path("link"));
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(reader_open_area(link, &r), -ELOOP);
	assert_non_null(strstr(fail_text(), "symbolic link"));
	unlink(link);
	assert_int_equal(mkfifo(link, 0600), 0);
	/* does not wait for a writer */
	assert_int_equal(reader_open_area(link, &r), -EINVAL);
	assert_int_equal(reader_open(link, &r), -EINVAL);
	assert_int_equal(reader_open_area("/tmp", &r), -EINVAL);
	assert_int_equal(reader_open_area(fake_path("nosuch"), &r), -ENOENT);
	assert_int_equal(reader_open_area("/dev/null", &r), -EINVAL);
	if (geteuid() == 0) {
		/* root reads everybody's */
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(reader_open_area(path, &r), 0);
		reader_close(r);
	}
	fake_free(f);
}

static void versions(void **state)
{
	struct fake *f = good();

	f->head->major = 2;
	f->head->minor = 7;
	refused(f, EPROTO, "2.7");
	f = good();
	f->head->major = 2;
	refused(f, EPROTO, "reads 1.10");
	f = good();
	f->head->magic = 0;
	refused(f, EAGAIN, "not filled in");
	f = good();
	f->head->magic ^= 1;
	refused(f, EINVAL, "not an area");
}

/* The header of 1.0 ends before the instance's name: what lies behind it is no name. */
static void older_minor_is_read(void **state)
{
	struct fake *f = good();
	struct reader *r;
	struct meta *m;
	uint64_t lost;
	int fd;

	f->head->minor = 0;
	f->head->header_bytes = AREA_HEADER_BYTES_1_0;
	memset(f->head->instance, 'x', sizeof(f->head->instance));
	fd = open(fake_write(f, 0), O_RDONLY);
	assert_int_equal(meta_load(fd, 0, f->size, "area", &m), 0);
	close(fd);
	assert_string_equal(m->head.instance, "");
	meta_free(m);
	assert_int_equal(reader_open(fake_write(f, 0), &r), 0);
	assert_int_equal(fake_read_all(r, &lost), 800);
	reader_close(r);
	fake_free(f);
}

/* A newer minor version has longer entries and more tables. */
static void newer_minor_is_read(void **state)
{
	struct fake *f = good();
	struct area_table *t = &f->head->tables[AREA_FUNCTIONS];
	struct reader *r;
	uint64_t lost;

	f->head->minor = 9;
	f->head->nr_tables = AREA_MAX_TABLES;
	t->entry_bytes = 24;
	for (uint32_t i = 0; i < 10; i++)
		*(struct area_function *)fake_row(f, AREA_FUNCTIONS, i) =
			(struct area_function){.offset = 0x1000 + 16 * i};
	assert_int_equal(reader_open(fake_write(f, 0), &r), 0);
	assert_int_equal(fake_read_all(r, &lost), 800);
	reader_close(r);
	fake_free(f);
}

static void tables_that_lie(void **state)
{
	for (int i = 0; i < AREA_NR_TABLES; i++) {
		struct fake *f = good();
		struct area_table *t = AREA_TABLE(f->head, i);

		t->count = t->capacity = UINT32_MAX;
		refused(f, EINVAL, "damaged");
		f = good();
		t = AREA_TABLE(f->head, i);
		t->count = 1;
		t->capacity = 1;
		t->offset = UINT64_MAX - 3;
		refused(f, EINVAL, "outside the file");
		f = good();
		t = AREA_TABLE(f->head, i);
		t->count = 1;
		t->capacity = 1;
		t->offset = f->size;
		refused(f, EINVAL, "outside the file");
		f = good();
		t = AREA_TABLE(f->head, i);
		t->count = 1;
		t->capacity = 1;
		t->entry_bytes = 0;
		refused(f, EINVAL, "entries of 0 bytes");
	}
}

/* A file may be large and hold nothing: what is asked for is bounded by what it holds. */
static void tables_in_holes(void **state)
{
	static const int tables[] = {AREA_FUNCTIONS, AREA_REFUSED, AREA_STRINGS, AREA_TASKS};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct fake *f = good();
		struct area_table *t = AREA_TABLE(f->head, tables[i]);
		const off_t big = (off_t)1 << 36;
		struct reader *r;
		const char *path;

		t->offset = (f->size + 4095) & ~UINT64_C(4095);
		t->count = t->capacity = 1u << 20;
		if (t->entry_bytes < 64)
			t->entry_bytes = tables[i] == AREA_STRINGS ? 32 : 4096;
		f->head->file_bytes = (uint64_t)big;
		path = fake_write(f, 0);
		assert_int_equal(truncate(path, big), 0);
		assert_int_equal(reader_open_area(path, &r), -EINVAL);
		if (!strstr(fail_text(), "of which it holds few"))
			fail_msg("'%s' is another reason", fail_text());
		fake_free(f);
	}
}

static void numbers_that_lie(void **state)
{
	struct fake *f = good();

	f->head->nr_cpus = 0;
	refused(f, EINVAL, "CPUs");
	f = good();
	f->head->nr_cpus = UINT32_MAX;
	refused(f, EINVAL, "CPUs");
	f = good();
	f->head->nr_cpus = 1; /* but rows for two */
	refused(f, EINVAL, "CPU");
	f = good();
	f->head->page_bytes = 8192;
	refused(f, EINVAL, "pages");
	f = good();
	f->head->header_bytes = 100;
	refused(f, EINVAL, "header");
	f = good();
	f->head->nr_tables = 3;
	refused(f, EINVAL, "tables");
	f = good();
	f->head->clock = 77;
	refused(f, EINVAL, "clock");
	f = good();
	f->head->pages_offset = UINT64_MAX - 4095;
	refused(f, EINVAL, "pages");
	f = good();
	((struct area_buffer *)fake_row(f, AREA_BUFFERS, 0))->nr_cpus = 3;
	refused(f, EINVAL, "buffer");
	f = good();
	((struct area_buffer *)fake_row(f, AREA_BUFFERS, 0))->first_cpu = UINT32_MAX;
	refused(f, EINVAL, "buffer");
	f = good();
	((struct area_cpu *)fake_row(f, AREA_CPUS, 1))->first_page = UINT32_MAX;
	refused(f, EINVAL, "pages that do not exist");
	f = good();
	((struct area_cpu *)fake_row(f, AREA_CPUS, 1))->nr_pages = UINT32_MAX;
	refused(f, EINVAL, "pages that do not exist");
}

/* A page whose CPU does not exist is left out, backed memory that is not there is not read. */
static void pages_that_lie(void **state)
{
	struct fake *f = good();
	struct page_head *head = (struct page_head *)(f->bytes + f->head->pages_offset);
	struct reader *r;
	uint64_t lost;

	head->cpu = 70000;
	((struct page_head *)((char *)head + PAGE_BYTES))->cpu = 2;
	((struct area_cpu *)fake_row(f, AREA_CPUS, 1))->nr_backed = UINT32_MAX;
	assert_int_equal(reader_open(fake_write(f, 0), &r), 0);
	assert_int_equal(fake_read_all(r, &lost), 600);
	reader_close(r);
	fake_free(f);
}

static void cut_files(void **state)
{
	struct fake *f = good();

	for (size_t n = 1; n < f->size; n += n < 8192 ? 61 : 1999) {
		struct reader *r;
		uint64_t lost;

		if (reader_open_area(fake_write(f, n), &r))
			continue;
		assert_true(fake_read_all(r, &lost) <= 800);
		reader_close(r);
	}
	fake_free(f);
}

/* The file shrinks between opening and reading: what is gone is lost, or an error; no signal. */
static void file_that_shrinks(void **state)
{
	struct fake *f = good();
	const char *path = fake_write(f, 0);
	struct record recs[1000];
	struct reader *r;

	assert_int_equal(reader_open_area(path, &r), 0);
	assert_int_equal(truncate(path, (off_t)f->head->pages_offset + PAGE_BYTES), 0);
	assert_int_equal(reader_read(r, 0, recs, 1000), 100);
	assert_int_equal(reader_read(r, 1, recs, 1000), 0);
	reader_close(r);
	fake_free(f);
}

/* A page that was used for something else since it was seen is lost, and says so. */
static void page_that_was_taken_again(void **state)
{
	struct fake *f = good();
	struct record recs[1000];
	struct reader *r;

	assert_int_equal(reader_open_area(fake_write(f, 0), &r), 0);
	fake_take(f, 0, 1, 101, 9000);
	fake_call(f, 0, 1, 0, 1, 0);
	fake_publish(f, 0, 1);
	fake_write(f, 0);
	assert_int_equal(reader_read(r, 0, recs, 1000), 300);
	assert_int_equal(recs[100].ts, 3000);
	assert_int_equal(recs[100].lost, 100);
	reader_close(r);
	fake_free(f);
}

/* Bytes at random: whatever comes out, nothing is read out of bounds (the sanitizers watch). */
static void random_damage(void **state)
{
	srandom(3);
	for (int round = 0; round < 1500; round++) {
		struct fake *f = good();
		struct reader *r;
		uint64_t lost;

		for (int i = 0; i < 1 + round % 8; i++) {
			size_t at =
				(size_t)random() % (i % 2 ? f->size : sizeof(struct area_header));

			f->bytes[at] = (unsigned char)random();
		}
		if (!reader_open_area(fake_write(f, 0), &r)) {
			assert_true(fake_read_all(r, &lost) <= 4000);
			reader_close(r);
		}
		fake_free(f);
	}
}

static void packed_tables_are_the_same(void **state)
{
	struct fake *f = good();
	int fd = open(fake_write(f, 0), O_RDONLY), packed;
	struct meta *one, *two;
	size_t bytes;
	void *block;

	assert_int_equal(meta_load(fd, 0, f->size, "area", &one), 0);
	assert_int_equal(meta_pack(one, &block, &bytes), 0);
	assert_int_equal(bytes % 8, 0);
	packed = open(fake_path("packed"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(pwrite(packed, block, bytes, 24), (ssize_t)bytes);
	assert_int_equal(meta_load(packed, 24, bytes, "packed", &two), 0);
	assert_int_equal(two->nr_pages, 0);
	assert_int_equal(one->nr_functions, two->nr_functions);
	assert_memory_equal(one->functions, two->functions, 10 * sizeof(*one->functions));
	assert_memory_equal(one->cpus, two->cpus, 2 * sizeof(*one->cpus));
	assert_memory_equal(one->tasks, two->tasks, sizeof(*one->tasks));
	assert_string_equal(one->head.exe, two->head.exe);
	free(block);
	meta_free(one);
	meta_free(two);
	close(fd);
	close(packed);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_and_owned_pages_are_read),
		cmocka_unit_test(not_an_area),
		cmocka_unit_test(versions),
		cmocka_unit_test(older_minor_is_read),
		cmocka_unit_test(newer_minor_is_read),
		cmocka_unit_test(tables_that_lie),
		cmocka_unit_test(tables_in_holes),
		cmocka_unit_test(numbers_that_lie),
		cmocka_unit_test(pages_that_lie),
		cmocka_unit_test(cut_files),
		cmocka_unit_test(file_that_shrinks),
		cmocka_unit_test(page_that_was_taken_again),
		cmocka_unit_test(random_damage),
		cmocka_unit_test(packed_tables_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
