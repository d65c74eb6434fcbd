/* SPDX-License-Identifier: MIT */
/* The recorder, with areas that their processes change while it reads them. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_area.h"
#include "tools/area/spool_write.h"
#include "tools/record/recorder.h"

enum { PAGES = 4000, FEW = 4, CALLS = 3 };

static const char session[] = "unit";

/* One CPU whose buffer overwrites, all its pages published. */
static struct fake *overwriting(void)
{
	struct fake *f = fake_new(1, PAGES, 10);
	struct area_buffer *b = fake_row(f, AREA_BUFFERS, 0);

	snprintf(f->head->session, sizeof(f->head->session), "%s", session);
	b->flags |= AREA_BUFFER_OVERWRITE;
	for (unsigned int p = 0; p < PAGES; p++) {
		fake_take(f, 0, p, 100, 1000 + 100 * p);
		for (unsigned int i = 0; i < CALLS; i++)
			fake_call(f, 0, p, i, i, FAKE_BIAS + 0x1000);
		fake_publish(f, 0, p);
	}
	return f;
}

/* The number of pages by the tables. */
static void set_pages(struct fake *f, uint32_t nr)
{
	struct area_cpu *c = fake_row(f, AREA_CPUS, 0);

	AREA_TABLE(f->head, AREA_PAGES)->count = nr;
	c->nr_pages = c->nr_backed = nr;
}

/* The file under the recorder's hands becomes what @f is. */
static void change(struct fake *f, size_t bytes)
{
	int fd = open(fake_path("100.1"), O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, f->bytes, bytes, 0), (ssize_t)bytes);
	close(fd);
}

/* Tables are read again once a second. */
static void tick_for_tables(struct recorder *r)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		recorder_tick(r);
		usleep(10000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 3);
	recorder_tick(r);
}

/* A recorder whose first tick has not come yet. */
static struct recorder *new_recorder(struct fake *f, uint64_t max_kb, struct spool_writer **w)
{
	int folder = open(dirname(strdupa(fake_path("x"))), O_RDONLY | O_DIRECTORY);
	struct recorder *r;

	assert_true(folder >= 0);
	assert_int_equal(rename(fake_write(f, 0), fake_path("100.1")), 0);
	unlink(fake_path("spool"));
	assert_int_equal(spool_create(fake_path("spool"), "fake", max_kb, w), 0);
	assert_int_equal(
		recorder_new(&(struct recorder_of){.dirfd = folder, .session = session}, *w, &r),
		0);
	return r;
}

static struct recorder *begin(struct fake *f, uint64_t max_kb, struct spool_writer **w)
{
	struct recorder *r = new_recorder(f, max_kb, w);

	recorder_tick(r);
	return r;
}

static uint64_t end_of(unsigned int nr_members, struct recorder *r, struct spool_writer *w)
{
	struct recorder_summary sum;
	struct reader *reader;
	uint64_t lost, nr;

	recorder_finish(r, &sum);
	recorder_free(r);
	assert_int_equal(sum.nr_members, nr_members);
	spool_end(w, 1);
	spool_close_writer(w);
	assert_int_equal(reader_open(fake_path("spool"), &reader), 0);
	nr = fake_read_all(reader, &lost);
	reader_close(reader);
	return nr;
}

static uint64_t end(struct recorder *r, struct spool_writer *w)
{
	return end_of(1, r, w);
}

/* Of a buffer that overwrites is kept which pages were written; more pages than at first come. */
static void more_pages_than_at_first(void **state)
{
	struct fake *f = overwriting();
	struct spool_writer *w;
	struct recorder *r;

	set_pages(f, FEW);
	r = begin(f, 0, &w);
	set_pages(f, PAGES);
	AREA_TABLE(f->head, AREA_TASKS)->count++;
	change(f, f->size);
	tick_for_tables(r);
	((struct area_buffer *)fake_row(f, AREA_BUFFERS, 0))->publish_seq++;
	change(f, f->size);
	recorder_tick(r);
	assert_int_equal(end(r, w), PAGES * CALLS);
	fake_free(f);
}

/* What lies beyond the mapping is not read by way of it: the rest of the recorder's memory is
 * there. */
static void an_area_that_grows(void **state)
{
	struct fake *f = overwriting();
	size_t whole = f->size;
	struct spool_writer *w;
	struct recorder *r;

	((struct area_buffer *)fake_row(f, AREA_BUFFERS, 0))->flags = 0;
	set_pages(f, FEW);
	f->size = f->head->pages_offset + FEW * PAGE_BYTES;
	/* with a limit pages are written from the mapping */
	r = begin(f, 100000, &w);
	set_pages(f, PAGES);
	AREA_TABLE(f->head, AREA_TASKS)->count++;
	((struct area_buffer *)fake_row(f, AREA_BUFFERS, 0))->publish_seq++;
	change(f, whole);
	tick_for_tables(r);
	assert_int_equal(end(r, w), FEW * CALLS);
	fake_free(f);
}

static bool renames; /* when a scan ends, 100.1 gets the name 100.0 */

/* The recorder's scan ends with this call. */
int closedir(DIR *dir)
{
	int (*next)(DIR *) = (int (*)(DIR *))dlsym(RTLD_NEXT, "closedir");

	if (renames)
		assert_int_equal(rename(fake_path("100.1"), fake_path("100.0")), 0);
	renames = false;
	return next(dir);
}

static void no_turn(void *arg, uint64_t spool_bytes, uint64_t stamp)
{
}

/*
 * The process ends just after a scan, and exec had renamed its area before. Its last drain comes
 * later, and the file is not found a second time under its new name.
 */
static void an_area_that_exec_renames(void **state)
{
	struct fake *f = overwriting();
	struct spool_writer *w;
	struct recorder *r;

	set_pages(f, FEW);
	r = new_recorder(f, 0, &w);
	renames = true;
	recorder_turns(r, no_turn, NULL);
	recorder_tick(r);
	/* it has just been found, so it is not finished yet */
	assert_int_equal(access(fake_path("100.0"), F_OK), 0);
	tick_for_tables(r);
	assert_int_equal(access(fake_path("100.0"), F_OK), -1);
	assert_int_equal(end(r, w), FEW * CALLS);
	fake_free(f);
}

/* The same at the end of the recording. */
static void an_area_that_exec_renames_last(void **state)
{
	struct fake *f = overwriting();
	struct spool_writer *w;
	struct recorder *r;

	set_pages(f, FEW);
	r = begin(f, 0, &w);
	renames = true;
	assert_int_equal(end(r, w), FEW * CALLS);
	assert_int_equal(access(fake_path("100.0"), F_OK), -1);
	fake_free(f);
}

static bool replaces; /* when the recorder has looked at 100.1, that becomes another image's area */

/* The recorder looks at a file before it opens it. */
int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	int (*next)(int, const char *, struct stat *, int) =
		(int (*)(int, const char *, struct stat *, int))dlsym(RTLD_NEXT, "fstatat");
	int err = next(dirfd, path, st, flags);

	if (replaces && !strcmp(path, "100.1")) {
		assert_int_equal(rename(fake_path("100.1"), fake_path("100.0")), 0);
		assert_int_equal(rename(fake_path("next"), fake_path("100.1")), 0);
		replaces = false;
	}
	return err;
}

/* exec renames an area while the recorder opens it. Both images are recorded, each once. */
static void an_area_that_exec_replaces(void **state)
{
	struct fake *f = overwriting();
	struct spool_writer *w;
	struct recorder *r;

	set_pages(f, FEW + 1);
	assert_int_equal(rename(fake_write(f, 0), fake_path("next")), 0);
	set_pages(f, FEW);
	r = new_recorder(f, 0, &w);
	replaces = true;
	recorder_tick(r);
	assert_false(replaces);
	assert_int_equal(end_of(2, r, w), (FEW + FEW + 1) * CALLS);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_pages_than_at_first),
		cmocka_unit_test(an_area_that_grows),
		cmocka_unit_test(an_area_that_exec_renames),
		cmocka_unit_test(an_area_that_exec_renames_last),
		cmocka_unit_test(an_area_that_exec_replaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
