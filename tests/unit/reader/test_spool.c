/* SPDX-License-Identifier: MIT */
/* The spool: the same stream as the area's, cut, damaged, limited, on a full disk. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h" /* before cmocka, which has a macro of that name */

#include <cmocka.h>

#include "fake_area.h"
#include "tools/area/area.h"
#include "tools/area/pages.h"
#include "tools/area/spool_format.h"
#include "tools/area/spool_pack.h"
#include "tools/area/spool_write.h"
#include "tools/code/symbols.h"

enum { CPUS = 2, PAGES = 30, CALLS = 200 };

static struct fake *good(void)
{
	struct fake *f = fake_new(CPUS, PAGES, 10);

	for (unsigned int p = 0; p < PAGES; p++)
		for (unsigned int c = 0; c < CPUS; c++) {
			fake_take(f, c, p, 100 + (int)(p % 3), 1000 + 150 * p)->dropped_events = p;
			for (unsigned int i = 0; i < CALLS; i++)
				fake_call(f, c, p, i, i % 10, FAKE_BIAS + 0x1000 + i);
			fake_publish(f, c, p);
		}
	return f;
}

static const void *page_of(struct fake *f, unsigned int cpu, unsigned int p)
{
	return f->bytes + f->head->pages_offset + (size_t)(cpu * PAGES + p) * PAGE_BYTES;
}

static struct meta *meta_of(struct fake *f)
{
	int fd = open(fake_write(f, 0), O_RDONLY);
	struct meta *m;

	assert_int_equal(meta_load(fd, 0, f->size, "fake", &m), 0);
	close(fd);
	return m;
}

static struct spool_writer *begin(uint64_t max_kb)
{
	struct spool_writer *w;

	unlink(fake_path("spool"));
	assert_int_equal(spool_create(fake_path("spool"), "fake args", max_kb, &w), 0);
	return w;
}

static int put(struct spool_writer *w, struct fake *f, unsigned int cpu, unsigned int from,
	       unsigned int to)
{
	struct spool_page pages[PAGES];

	for (unsigned int p = from; p < to; p++)
		pages[p - from] = (struct spool_page){page_of(f, cpu, p), p + 1};
	return spool_put_pages(w, 0, cpu, pages, to - from);
}

static void write_all(struct fake *f, uint64_t max_kb)
{
	struct spool_writer *w = begin(max_kb);
	struct meta *m = meta_of(f);

	assert_int_equal(spool_put_meta(w, 0, m), 0);
	for (unsigned int p = 0; p < PAGES; p += 5)
		for (unsigned int c = 0; c < CPUS; c++)
			assert_int_equal(put(w, f, c, p, p + 5), 0);
	assert_int_equal(spool_put_meta(w, 0, m), 0);
	assert_int_equal(spool_end(w, 77777), 0);
	spool_close_writer(w);
	meta_free(m);
}

static void area_and_spool_give_the_same_stream(void **state)
{
	struct fake *f = good();
	struct reader *area, *spool;
	struct record a, s;

	write_all(f, 0);
	assert_int_equal(reader_open(fake_write(f, 0), &area), 0);
	assert_int_equal(reader_open(fake_path("spool"), &spool), 0);
	assert_string_equal(spool->cmdline, "fake args");
	assert_int_equal(spool->stats[0].now_ts, 77777);
	for (unsigned int c = 0; c < CPUS; c++) {
		int n;

		while ((n = reader_read(area, c, &a, 1)) == 1) {
			assert_int_equal(reader_read(spool, c, &s, 1), 1);
			assert_memory_equal(&a, &s, sizeof(a));
		}
		assert_int_equal(n, 0);
		assert_int_equal(reader_read(spool, c, &s, 1), 0);
		assert_int_equal(spool->stats[c].entries, PAGES * CALLS);
	}
	reader_close(area);
	reader_close(spool);
	fake_free(f);
}

/* With names in it no object is asked, and there is no note of one that is not there. */
static void names_are_those_that_were_put(void **state)
{
	static const char text[] = "0800000000001000 T one\n0800000000002000 t two\t[lib]";
	struct fake *f = good();
	struct spool_writer *w = begin(0);
	struct meta *m = meta_of(f);
	struct reader *r;

	assert_int_equal(spool_put_meta(w, 0, m), 0);
	assert_int_equal(put(w, f, 0, 0, 5), 0);
	assert_int_equal(spool_end(w, 77777), 0);
	assert_int_equal(spool_put_names(w, text, sizeof(text) - 1), 0);
	spool_close_writer(w);
	assert_int_equal(reader_open(fake_path("spool"), &r), 0);
	assert_int_equal(r->stats[0].entries, 5 * CALLS);
	/* SYMBOLS_MARK_NAME, and these */
	assert_int_equal(symbols_count(r->symbols), 3);
	assert_string_equal(symbols_find(r->symbols, 0x0800000000001234)->name, "one");
	assert_string_equal(symbols_find(r->symbols, 0x0800000000002000)->module, "lib");
	reader_close(r);
	meta_free(m);
	fake_free(f);
}

/* A killed recorder leaves any beginning of the file: whole pages of it are read. */
static void cut_anywhere(void **state)
{
	struct fake *f = good();
	uint64_t last = 0, lost;
	bool parts = false; /* of a chunk, which has 5 pages */
	struct stat st;

	write_all(f, 0);
	assert_int_equal(stat(fake_path("spool"), &st), 0);
	for (off_t n = st.st_size; n >= 0; n -= 3001) {
		struct reader *r;
		uint64_t nr;

		assert_int_equal(truncate(fake_path("spool"), n), 0);
		if (n < (off_t)sizeof(struct spool_head)) {
			assert_true(reader_open(fake_path("spool"), &r) < 0);
			continue;
		}
		if (reader_open(fake_path("spool"), &r)) {
			assert_non_null(strstr(fail_text(), "no record of it can be read"));
			last = 1;
			continue;
		}
		nr = fake_read_all(r, &lost);
		assert_true(!last || nr <= last);
		assert_int_equal(nr % CALLS, 0);
		parts |= nr % (5 * CALLS) != 0;
		if (n == st.st_size)
			assert_int_equal(nr, CPUS * PAGES * CALLS);
		last = nr;
		reader_close(r);
	}
	assert_true(parts);
	fake_free(f);
}

static void limit_keeps_the_newest_halves(void **state)
{
	struct fake *f = good();
	struct reader *r;
	struct stat st;

	/* 8 pages a CPU, in halves of 4: of 30 pages the last full half and 2 of the next stay */
	write_all(f, 32);
	assert_int_equal(stat(fake_path("spool"), &st), 0);
	assert_true(st.st_size < CPUS * 8 * 4112 + 40000);
	assert_int_equal(reader_open(fake_path("spool"), &r), 0);
	for (unsigned int c = 0; c < CPUS; c++) {
		struct record rec;

		assert_int_equal(r->stats[c].entries, 6 * CALLS);
		assert_int_equal(reader_read(r, c, &rec, 1), 1);
		assert_int_equal(rec.ts, 1000 + 150 * 24);
		assert_int_equal(rec.lost, 24);
	}
	reader_close(r);
	fake_free(f);
}

/* A full disk (here: a limit on the file's size) ends the spool, which stays readable. */
static void full_disk(void **state)
{
	struct fake *f = good();
	struct spool_writer *w = begin(0);
	struct meta *m = meta_of(f);
	struct rlimit old, small;
	struct reader *r;
	uint64_t lost;
	int err = 0;
	unsigned int p;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 50000;
	spool_put_meta(w, 0, m);
	setrlimit(RLIMIT_FSIZE, &small);
	for (p = 0; p < PAGES && !err; p++)
		err = put(w, f, 0, p, p + 1);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err, -EFBIG);
	assert_int_equal(spool_failed(w), EFBIG);
	assert_int_equal(put(w, f, 0, p, p + 1), -EFBIG);
	spool_end(w, 1);
	spool_close_writer(w);
	assert_int_equal(reader_open(fake_path("spool"), &r), 0);
	assert_int_equal(fake_read_all(r, &lost), (p - 1) * CALLS);
	reader_close(r);
	meta_free(m);
	fake_free(f);
}

/* Records of a spool into which @room more bytes fit; its pages come @at_once in a call. */
static uint64_t written_until_full(struct fake *f, uint64_t room, unsigned int at_once)
{
	struct spool_writer *w = begin(0);
	struct meta *m = meta_of(f);
	struct rlimit old, small;
	struct reader *r;
	struct stat st;
	uint64_t lost, n, end;
	int err = 0;

	signal(SIGXFSZ, SIG_IGN);
	spool_put_meta(w, 0, m);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = spool_bytes(w) + room;
	setrlimit(RLIMIT_FSIZE, &small);
	for (unsigned int p = 0; p < PAGES && !err; p += at_once)
		err = put(w, f, 0, p, p + at_once);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err, -EFBIG);
	/* nothing incomplete is left behind the last chunk */
	assert_int_equal(stat(fake_path("spool"), &st), 0);
	assert_int_equal(st.st_size, spool_bytes(w));
	end = spool_bytes(w);
	spool_end(w, 1);
	assert_int_equal(spool_bytes(w) - end,
			 sizeof(struct spool_chunk) + sizeof(struct spool_end));
	spool_close_writer(w);
	assert_int_equal(reader_open(fake_path("spool"), &r), 0);
	n = fake_read_all(r, &lost);
	reader_close(r);
	meta_free(m);
	return n;
}

/* Of pages that are written in one call those are kept that fit. */
static void full_disk_keeps_what_fits(void **state)
{
	struct fake *f = good();

	for (uint64_t room = 4000; room < 24000; room += 1500) {
		uint64_t one = written_until_full(f, room, 1);
		uint64_t all = written_until_full(f, room, PAGES);

		/* a chunk of several pages needs fewer bytes than several chunks */
		assert_true(one >= CALLS && all >= one && all <= one + 2ull * CALLS);
		assert_int_equal(all % CALLS, 0);
	}
	fake_free(f);
}

/*
 * With a limit pages are written from a mapping: when its file shrinks, nothing of them is there,
 * and there is no signal.
 */
static void mapping_that_shrinks(void **state)
{
	struct fake *f = good();
	const char *path = fake_write(f, 0);
	struct spool_writer *w = begin(1000);
	struct meta *m = meta_of(f);
	int fd = open(path, O_RDWR);
	const unsigned char *map = mmap(NULL, f->size, PROT_READ, MAP_SHARED, fd, 0);
	uint64_t at = area_page_offset(&m->head, 0), before, lost;
	struct spool_page pages[3] = {
		{map + at, 1}, {map + at + PAGE_BYTES, 2}, {map + at + 2 * PAGE_BYTES, 3}};
	struct reader *r;

	spool_put_meta(w, 0, m);
	assert_int_equal(spool_put_pages(w, 0, 0, pages, 1), 0);
	before = spool_bytes(w);
	assert_int_equal(ftruncate(fd, (off_t)at + 2 * PAGE_BYTES), 0);
	assert_int_equal(spool_put_pages(w, 0, 0, pages + 1, 2), -EFAULT);
	assert_int_equal(spool_failed(w), 0);
	assert_int_equal(spool_bytes(w), before);
	assert_int_equal(spool_put_pages(w, 0, 0, pages + 1, 1), 0);
	spool_end(w, 1);
	spool_close_writer(w);
	assert_int_equal(reader_open(fake_path("spool"), &r), 0);
	assert_int_equal(fake_read_all(r, &lost), 2 * CALLS);
	reader_close(r);
	munmap((void *)map, f->size);
	close(fd);
	meta_free(m);
	fake_free(f);
}

enum page_kind { GRAPH, CALLS_ALONE, WIDE_IDS, WIDE_STEPS, CALLERS, NOISE, NR_PAGE_KINDS };

/* A page of one kind, with a commit that may lie beyond its end. */
static void fill_page(uint64_t *page, enum page_kind kind, uint64_t commit)
{
	struct page_head *head = (struct page_head *)page;
	uint64_t stamp = 0;

	memset(page, 0, PAGE_BYTES);
	*head = (struct page_head){.commit = commit, .base_stamp = 12345, .tid = 7, .seq = 3};
	for (uint64_t i = PAGE_HEAD_BYTES / 8; i < commit / 8 && i < PAGE_BYTES / 8; i++) {
		uint64_t id = kind == WIDE_IDS ? 16383 + i % 2 : i % 50;
		uint64_t type =
			i % 50 == 9 && kind != CALLS_ALONE ? RECORD_STACK : RECORD_ENTRY + i % 3;

		stamp += kind == WIDE_STEPS && i % 3 == 0 ? 65536 : 40 + i % 9;
		page[i] = type << RECORD_KIND_SHIFT | id << RECORD_ID_SHIFT | (uint32_t)stamp;
		if (kind == CALLERS && i % 2)
			page[i] = UINT64_C(0x00005555deadbeef) + i;
		if (kind == NOISE)
			page[i] = (uint64_t)random() << 33 ^ (uint64_t)random();
	}
}

static void packed_pages_come_back(void **state)
{
	static const uint64_t commits[] = {0, 8, 64, 72, 200, 2008, 4088, 4096, 4104, UINT64_MAX};
	uint64_t page[PAGE_BYTES / 8], again[PAGE_BYTES / 8], packed[SPOOL_PACKED_MAX / 8 + 1];

	srandom(5);
	for (unsigned int i = 0; i < NR_PAGE_KINDS * sizeof(commits) / sizeof(*commits); i++) {
		uint64_t commit = commits[i / NR_PAGE_KINDS];
		size_t n;

		fill_page(page, i % NR_PAGE_KINDS, commit);
		packed[SPOOL_PACKED_MAX / 8] = 0x5a5a;
		n = spool_pack(page, 4, 99, packed);
		assert_true(n % 8 == 0 && n <= SPOOL_PACKED_MAX);
		assert_int_equal(packed[SPOOL_PACKED_MAX / 8], 0x5a5a);
		if (i % NR_PAGE_KINDS == GRAPH && commit >= 4096)
			assert_in_range(n, 2096, 2300);
		memset(again, 0xff, sizeof(again));
		assert_int_equal(spool_unpack(packed, sizeof(packed), again), n);
		assert_memory_equal(page, again, PAGE_BYTES);
		assert_int_equal(spool_unpack(packed, n - 1, again), -EINVAL);
	}
}

/* What spool_look() says of a page is what is in it. Return: whether it says something. */
static bool look_is_right(const void *packed, size_t bytes, const uint64_t *page, long used)
{
	uint32_t last, greatest = 0, nr = 0, stamp = 0;
	struct page_calls calls;
	long n = spool_look(packed, bytes, &calls, &last);

	if (!n)
		return false;
	assert_int_equal(n, used);
	assert_memory_equal(&calls.head, page, sizeof(calls.head));
	for (size_t i = PAGE_HEAD_BYTES / 8; i < PAGE_BYTES / 8; i++) {
		uint32_t kind = (uint32_t)record_word_kind(page[i]), word;

		if (!page[i])
			continue;
		assert_true(nr < calls.nr && i - PAGE_HEAD_BYTES / 8 == nr);
		assert_true(kind >= RECORD_ENTRY && kind <= RECORD_EXIT);
		word = page_calls_word(&calls, nr++);
		stamp += page_calls_step(word);
		assert_int_equal(stamp, record_word_stamp(page[i]));
		assert_int_equal(page_calls_upper(word), page[i] >> 32);
		assert_int_equal(page_calls_id(word), record_word_id(page[i]));
		if (stamp > greatest)
			greatest = stamp;
	}
	assert_int_equal(calls.nr, nr);
	assert_int_equal(last, greatest);
	return true;
}

/* Whatever the bytes are, what comes back is a page or nothing. */
static void damaged_packed_pages(void **state)
{
	uint64_t page[PAGE_BYTES / 8], packed[SPOOL_PACKED_MAX / 8];
	unsigned int good_ones = 0, looked = 0;

	srandom(6);
	for (unsigned int i = 0; i < 20000; i++) {
		size_t n;
		long used;

		fill_page(page, i % NR_PAGE_KINDS, 4096 - 8 * (i % 64));
		n = spool_pack(page, 4, 99, packed);
		for (unsigned int k = 0; k < 1 + i % 4; k++)
			((char *)packed)[(size_t)random() % (k % 2 ? n : 40)] = (char)random();
		used = spool_unpack(packed, n, page);
		assert_true(used == -EINVAL || (used > 0 && (size_t)used <= n && used % 8 == 0));
		good_ones += used > 0;
		looked += look_is_right(packed, n, page, used);
	}
	assert_in_range(good_ones, 100, 19900);
	assert_in_range(looked, 100, good_ones);
}

/* Words in the long form say more bytes than any page has: 504 of them are 6,048. */
static void packed_page_that_grows(void **state)
{
	uint64_t page[PAGE_BYTES / 8], packed[2 * PAGE_BYTES / 8];
	struct spool_packed *p = (struct spool_packed *)packed;
	unsigned char *data = (unsigned char *)(p + 1);

	for (uint32_t nr = 1; nr <= PAGE_DATA_BYTES / 8; nr++) {
		memset(packed, 0, sizeof(packed));
		*p = (struct spool_packed){
			.bytes = (uint16_t)(12 * nr),
			.packed = 1,
			.publish_seq = 1,
			.head = {.commit = PAGE_HEAD_BYTES + 8 * nr, .seq = 1},
		};
		for (uint32_t i = 0; i < nr; i++) {
			uint64_t word = fake_record(RECORD_ENTRY, 0, i);

			memcpy(data + 12 * i, &(uint32_t){3u << 30}, 4);
			memcpy(data + 12 * i + 4, &word, sizeof(word));
		}
		assert_int_equal(spool_unpack(packed, sizeof(packed), page), -EINVAL);
	}
}

/* A packed page in the middle is damaged: the other chunks are read. */
static void damaged_chunk(void **state)
{
	struct fake *f = good();
	struct spool_chunk c;
	uint16_t bytes = 8;
	struct reader *r;
	uint64_t lost, at = sizeof(struct spool_head);
	int fd, err = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);

	write_all(f, 0);
	fd = open(fake_path("spool"), O_RDWR);
	do {
		assert_int_equal(pread(fd, &c, sizeof(c), (off_t)at), sizeof(c));
		at += sizeof(c) + c.length;
	} while (c.type != SPOOL_PACKED);
	pwrite(fd, &bytes, sizeof(bytes),
	       (off_t)(at - c.length + offsetof(struct spool_packed, bytes)));
	close(fd);
	dup2(null, STDERR_FILENO);
	assert_int_equal(reader_open(fake_path("spool"), &r), 0);
	assert_int_equal(fake_read_all(r, &lost), (CPUS * PAGES - 5) * CALLS);
	reader_close(r);
	dup2(err, STDERR_FILENO);
	close(err);
	close(null);
	fake_free(f);
}

static void versions(void **state)
{
	struct fake *f = good();
	uint16_t major = 9;
	struct reader *r;
	int fd;

	write_all(f, 0);
	fd = open(fake_path("spool"), O_WRONLY);
	pwrite(fd, &major, 2, offsetof(struct spool_head, major));
	close(fd);
	assert_int_equal(reader_open(fake_path("spool"), &r), -EPROTO);
	assert_non_null(strstr(fail_text(), "9.2"));
	assert_non_null(strstr(fail_text(), "2.2"));
	fake_free(f);
}

static void random_damage(void **state)
{
	struct fake *f = good();
	int fd, null, err = dup(STDERR_FILENO);
	struct stat st;
	char *bytes;

	write_all(f, 0);
	fd = open(fake_path("spool"), O_RDWR);
	fstat(fd, &st);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	srandom(4);
	/* Notes about damage are expected, hundreds of them. */
	null = open("/dev/null", O_WRONLY);
	dup2(null, STDERR_FILENO);
	close(null);
	for (int round = 0; round < 600; round++) {
		struct reader *r;
		uint64_t lost;

		for (int i = 0; i < 1 + round % 5; i++) {
			/* half of them where lengths and tables are */
			off_t at = random() % (i % 2 ? st.st_size : 4000);
			char c = (char)random();

			pwrite(fd, &c, 1, at);
		}
		if (!reader_open(fake_path("spool"), &r)) {
			fake_read_all(r, &lost);
			reader_close(r);
		}
		assert_int_equal(pwrite(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	}
	dup2(err, STDERR_FILENO);
	close(err);
	close(fd);
	free(bytes);
	fake_free(f);
}

enum { MANY = 600, WORDS = 60 };

/* Pages of two threads, a CPU each: each page has records behind the first ones of the next. */
static void write_many(uint32_t odd_kind)
{
	struct fake *f = fake_new(CPUS, 1, 10);
	struct spool_writer *w = begin(0);
	struct meta *m;

	for (unsigned int c = 0; c < CPUS; c++) {
		fake_take(f, c, 0, 100 + (int)c, 1000);
		fake_call(f, c, 0, 0, 1, FAKE_BIAS + 0x1000);
		fake_publish(f, c, 0);
	}
	m = meta_of(f);
	assert_int_equal(spool_put_meta(w, 0, m), 0);
	for (unsigned int i = 0; i < MANY; i++) {
		uint64_t page[PAGE_BYTES / 8] = {0}, *word = page + PAGE_HEAD_BYTES / 8;
		const struct spool_page put = {page, i + 1};
		const struct page_head head = {.commit = PAGE_HEAD_BYTES + WORDS * 8,
					       .base_stamp = 1000 + i / CPUS * 400,
					       .tid = 100 + (int)(i % CPUS),
					       .cpu = i % CPUS,
					       .seq = i + 1};

		memcpy(page, &head, sizeof(head));
		for (unsigned int k = 0; k < WORDS; k++) {
			uint64_t kind = k % 2 ? RECORD_EXIT : RECORD_ENTRY;

			if (i == MANY - 1 && k == 5 && odd_kind)
				kind = odd_kind;
			*word++ = kind << RECORD_KIND_SHIFT |
				  (uint64_t)(i % 10) << RECORD_ID_SHIFT | (k * 10);
		}
		assert_int_equal(spool_put_pages(w, 0, i % CPUS, &put, 1), 0);
	}
	assert_int_equal(spool_end(w, 77777), 0);
	spool_close_writer(w);
	meta_free(m);
	fake_free(f);
}

/* The records that @r still has are the next ones of @whole. Return: how many. */
static unsigned int same_rest(struct reader *r, struct reader *whole, unsigned int cpu)
{
	struct record a, b;
	unsigned int nr = 0;

	while (reader_read(r, cpu, &a, 1) == 1) {
		assert_int_equal(reader_read(whole, cpu, &b, 1), 1);
		assert_memory_equal(&a, &b, sizeof(a));
		nr++;
	}
	return nr;
}

/*
 * Two readers of one file give all records, each once and in order; if the second is given up the
 * first does.
 */
static void two_readers_give_all(void **state)
{
	for (unsigned int dropped = 0; dropped < 2; dropped++) {
		struct reader *whole, *first, *later;

		write_many(0);
		assert_int_equal(reader_open(fake_path("spool"), &whole), 0);
		assert_int_equal(reader_open(fake_path("spool"), &first), 0);
		later = pages_part(first);
		assert_non_null(later);
		assert_null(pages_part(first));
		for (unsigned int c = 0; c < CPUS; c++) {
			unsigned int half = MANY / CPUS * WORDS / 2;

			assert_in_range(same_rest(first, whole, c), half - 2 * WORDS,
					half + 2 * WORDS);
			if (!dropped)
				assert_in_range(same_rest(later, whole, c), half - 2 * WORDS,
						half + 2 * WORDS);
		}
		pages_part_free(later);
		if (dropped)
			pages_part_drop(first);
		for (unsigned int c = 0; c < CPUS; c++) {
			struct record rec;

			if (dropped)
				same_rest(first, whole, c);
			assert_int_equal(reader_read(whole, c, &rec, 1), 0);
		}
		reader_close(first);
		reader_close(whole);
	}
}

/* A later page has a record of a stack: there is one reader. */
static void a_stack_needs_one_reader(void **state)
{
	struct reader *r;

	write_many(RECORD_STACK);
	assert_int_equal(reader_open(fake_path("spool"), &r), 0);
	assert_null(pages_part(r));
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(area_and_spool_give_the_same_stream),
		cmocka_unit_test(names_are_those_that_were_put),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(two_readers_give_all),
		cmocka_unit_test(a_stack_needs_one_reader),
		cmocka_unit_test(limit_keeps_the_newest_halves),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(full_disk_keeps_what_fits),
		cmocka_unit_test(mapping_that_shrinks),
		cmocka_unit_test(packed_pages_come_back),
		cmocka_unit_test(damaged_packed_pages),
		cmocka_unit_test(packed_page_that_grows),
		cmocka_unit_test(damaged_chunk),
		cmocka_unit_test(versions),
		cmocka_unit_test(random_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
