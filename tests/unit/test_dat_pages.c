/* SPDX-License-Identifier: MIT */
/*
 * Records into sub-buffers, tools/export/dat_pages.c: the edges by their bytes, everything else
 * through libtraceevent's kbuffer, which is how trace-cmd reads them.
 */
#include "cm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <traceevent/kbuffer.h>
#include <unistd.h>

#include "scratch.h"
#include "tools/dat/dat_format.h"
#include "tools/export/dat_pages.h"

#define CHUNK_BYTES (4 * SUBBUF_BYTES)
#define FULL	    145 /* function events in a sub-buffer */

static unsigned char *file; /* what was encoded */
static size_t file_bytes;

static struct record call(uint64_t ts)
{
	return (struct record){.kind = RECORD_FUNCTION,
			       .ts = ts,
			       .ip = 0x1122334455667788,
			       .parent_ip = 0x99aabbccddeeff00,
			       .pid = 0x01020304,
			       .flags = 0x81,
			       .preempt_count = 0x23};
}

/* Encode; what comes out is in `file`. Return: subbuf_add()'s. */
static int encode(const struct record *rec, unsigned int nr)
{
	char *path = scratch_path("pages");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), ret;
	struct chunks *c = chunks_new(fd, CHUNK_BYTES, 0);
	struct subbuf_writer p;

	assert_non_null(c);
	chunks_start(c, 0);
	subbuf_init(&p, c, CHUNK_BYTES);
	ret = subbuf_add(&p, rec, nr);
	assert_int_equal(subbuf_end(&p), 0);
	assert_int_equal(chunks_flush(c), 0);
	assert_int_equal(chunks_offset(c), p.nr_pages * SUBBUF_BYTES);
	assert_int_equal(chunks_count(c), (p.nr_pages + 3) / 4);
	chunks_free(c);
	close(fd);
	free(file);
	file = (unsigned char *)scratch_read(path, &file_bytes);
	unlink(path);
	free(path);
	return ret;
}

static uint32_t word(size_t at)
{
	uint32_t v;

	memcpy(&v, file + at, 4);
	return v;
}

static uint64_t quad(size_t at)
{
	uint64_t v;

	memcpy(&v, file + at, 8);
	return v;
}

static void test_one(void **state)
{
	struct record rec = call(123456789);
	static const unsigned char want[] = {
		6,    0,    0,	  0,					 /* 6 words, no delta */
		1,    0,    0x81, 0x23, 0x04, 0x03, 0x02, 0x01,		 /* common */
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,		 /* ip */
		0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0, 0, 0, /* parent_ip, the rest */
	};

	assert_int_equal(encode(&rec, 1), 0);
	assert_int_equal(file_bytes, SUBBUF_BYTES);
	assert_int_equal(quad(0), 123456789);
	assert_int_equal(quad(8), 28);
	assert_memory_equal(file + 16, want, sizeof(want));
}

static void test_none(void **state)
{
	assert_int_equal(encode(NULL, 0), 0);
	assert_int_equal(file_bytes, 0);
}

static void test_delta(void **state)
{
	struct record rec[3] = {call(1000), call(1000 + 0x7ffffff), call(1000 + 0x7ffffff)};

	assert_int_equal(encode(rec, 3), 0);
	assert_int_equal(quad(8), 3 * 28);
	assert_int_equal(word(16 + 28), 6 | 0x7ffffffu << 5);
	assert_int_equal(word(16 + 56), 6);
	/* one more needs an event of its own */
	rec[1].ts++;
	rec[2].ts += 0x123456789abcd;
	assert_int_equal(encode(rec, 3), 0);
	assert_int_equal(quad(8), 3 * 28 + 2 * 8);
	assert_int_equal(word(16 + 28), 30);
	assert_int_equal(word(16 + 32), 1);
	assert_int_equal(word(16 + 36), 6);
	assert_int_equal(word(16 + 64) & 31, 30);
	assert_int_equal((uint64_t)word(16 + 68) << 27 | word(16 + 64) >> 5, 0x123456789abcc);
}

static void test_full(void **state)
{
	struct record rec[FULL + 1];
	unsigned int i;

	for (i = 0; i <= FULL; i++)
		rec[i] = call(5000 + i * 10);
	assert_int_equal(encode(rec, FULL), 0);
	assert_int_equal(file_bytes, SUBBUF_BYTES);
	assert_int_equal(quad(8), FULL * 28);
	assert_int_equal(encode(rec, FULL + 1), 0);
	assert_int_equal(file_bytes, 2 * SUBBUF_BYTES);
	assert_int_equal(quad(SUBBUF_BYTES), 5000 + FULL * 10);
	assert_int_equal(quad(SUBBUF_BYTES + 8), 28);
	assert_int_equal(word(SUBBUF_BYTES + 16), 6);
}

/* 144 events and two TIME_EXTENDs leave 32 bytes: an event, but not one with its TIME_EXTEND. */
static void test_extend_stays_with_its_event(void **state)
{
	struct record rec[FULL];
	uint64_t ts = 1000;
	unsigned int i;

	for (i = 0; i < FULL; i++) {
		ts += i == 5 || i == 9 ? UINT64_C(1) << 30 : 10;
		rec[i] = call(ts);
	}
	assert_int_equal(encode(rec, FULL), 0);
	assert_int_equal(file_bytes, SUBBUF_BYTES);
	assert_int_equal(quad(8), FULL * 28 + 16);
	rec[FULL - 1].ts += UINT64_C(1) << 28;
	assert_int_equal(encode(rec, FULL), 0);
	assert_int_equal(file_bytes, 2 * SUBBUF_BYTES);
	assert_int_equal(quad(8), (FULL - 1) * 28 + 16);
	assert_int_equal(quad(SUBBUF_BYTES), rec[FULL - 1].ts);
}

static void test_lost(void **state)
{
	struct record rec[3] = {call(10), call(20), call(30)};

	rec[1].lost = 0x123456789;
	assert_int_equal(encode(rec, 3), 0);
	assert_int_equal(file_bytes, 2 * SUBBUF_BYTES);
	assert_int_equal(quad(8), 28);
	assert_int_equal(quad(SUBBUF_BYTES), 20);
	assert_int_equal(quad(SUBBUF_BYTES + 8), 56 | SUBBUF_MISSED_EVENTS | SUBBUF_MISSED_STORED);
	assert_int_equal(quad(SUBBUF_BYTES + 16 + 56), 0x123456789);
	rec[1].lost = RECORD_LOST_UNKNOWN;
	assert_int_equal(encode(rec, 3), 0);
	assert_int_equal(quad(SUBBUF_BYTES + 8), 56 | SUBBUF_MISSED_EVENTS);
	assert_int_equal(quad(SUBBUF_BYTES + 16 + 56), 0);
}

/* A loss's count has eight bytes behind the events, of which there must be that many fewer. */
static void test_lost_has_room(void **state)
{
	struct record rec[FULL];
	uint64_t ts = 1000;
	unsigned int i;

	for (i = 0; i < FULL; i++) {
		ts += i == 5 || i == 9 ? UINT64_C(1) << 30 : 10;
		rec[i] = call(ts);
	}
	rec[0].lost = 3;
	assert_int_equal(encode(rec, FULL), 0);
	assert_int_equal(file_bytes, 2 * SUBBUF_BYTES);
	assert_int_equal(quad(8) & SUBBUF_COMMIT_MASK, (FULL - 1) * 28 + 16);
	assert_int_equal(quad(16 + (FULL - 1) * 28 + 16), 3);
}

/* The kernel's print: a newline and a NUL behind the text; above 112 bytes a length of its own. */
static void test_print(void **state)
{
	struct record rec[2] = {call(10), call(20)};
	static char text[5000];
	uint32_t sizes[] = {0, 1, 2, 3, 93, 94, 95, 96, 1024, 4016, 4999};

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint32_t kept = sizes[i] > 4028 ? 4028 : sizes[i];
		uint32_t data = (16 + kept + 2 + 3) & ~3u, at = 16 + 4;

		rec[0].kind = RECORD_PRINT;
		rec[0].data = text;
		rec[0].data_bytes = sizes[i];
		rec[0].lost = 7;
		assert_int_equal(encode(rec, 2), 0);
		if (data <= 112) {
			assert_int_equal(word(16), data / 4);
		} else {
			assert_int_equal(word(16), 0);
			assert_int_equal(word(20), data + 4);
			at += 4;
		}
		assert_int_equal(word(at), 5 | 0x81 << 16 | 0x23 << 24);
		assert_int_equal(quad(at + 8), rec[0].ip);
		assert_int_equal(strlen((char *)file + at + 16), kept + 1);
		assert_memory_equal(file + at + 16, text, kept);
		assert_int_equal(file[at + 16 + kept], '\n');
		/* the next event follows, here or in a sub-buffer of its own */
		if (at + data + 28 <= SUBBUF_BYTES - 8)
			assert_int_equal(word(at + data), 6 | 10 << 5);
		else
			assert_int_equal(word(SUBBUF_BYTES + 16), 6);
	}
}

static void test_unknown_kind(void **state)
{
	struct record rec[2] = {call(10), call(20)};

	rec[1].kind = RECORD_CONTEXT;
	assert_int_equal(encode(rec, 2), -ENOTSUP);
	rec[1].kind = 77;
	assert_int_equal(encode(rec, 2), -ENOTSUP);
}

/* `file` through kbuffer: is it @rec? */
static void check_by_kbuffer(const struct record *rec, unsigned int nr)
{
	struct kbuffer *k = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	unsigned long long ts;
	unsigned int n = 0;
	size_t page;

	for (page = 0; page < file_bytes; page += SUBBUF_BYTES) {
		unsigned char *data;

		assert_int_equal(kbuffer_load_subbuffer(k, file + page), 0);
		data = kbuffer_read_event(k, &ts);
		assert_true(n < nr);
		assert_int_equal(kbuffer_missed_events(k),
				 rec[n].lost == RECORD_LOST_UNKNOWN ? -1 : (int)rec[n].lost);
		for (; data; data = kbuffer_next_event(k, &ts)) {
			int32_t pid;
			uint64_t ip;

			assert_true(n < nr);
			assert_int_equal(ts, rec[n].ts);
			assert_int_equal(kbuffer_event_size(k), 24);
			memcpy(&pid, data + 4, 4);
			memcpy(&ip, data + 8, 8);
			assert_int_equal(pid, rec[n].pid);
			assert_int_equal(ip, rec[n].ip);
			n++;
		}
	}
	assert_int_equal(n, nr);
	kbuffer_free(k);
}

static void test_by_kbuffer(void **state)
{
	enum { NR = 3000 };
	struct record *rec = calloc(NR, sizeof(*rec));
	unsigned int round, i, bits;
	uint64_t ts;

	srand(1);
	for (round = 0; round < 60; round++) {
		ts = (uint64_t)rand() << 20;
		for (i = 0; i < NR; i++) {
			/* steps of every length, most of them small */
			bits = (unsigned int)rand() % 12 ? 9 : (unsigned int)rand() % 45;
			ts += ((uint64_t)rand() << 20 ^ (uint64_t)rand()) &
			      ((UINT64_C(1) << bits) - 1);
			rec[i] = call(ts);
			rec[i].pid = rand();
			rec[i].ip = (uint64_t)rand();
			if (rand() % (round + 2) == 0 && round % 3 == 0)
				rec[i].lost = rand() % 5 ? 1 + (uint64_t)rand() % 100000
							 : RECORD_LOST_UNKNOWN;
		}
		assert_int_equal(encode(rec, NR), 0);
		check_by_kbuffer(rec, NR);
	}
	free(rec);
}

/* Times of a clock that runs backwards are kept. */
static void test_backwards(void **state)
{
	struct record rec[4] = {call(UINT64_C(1) << 40), call((UINT64_C(1) << 40) - 1000),
				call((UINT64_C(1) << 40) + 5), call(3)};

	assert_int_equal(encode(rec, 4), 0);
	assert_int_equal(file_bytes, SUBBUF_BYTES);
	check_by_kbuffer(rec, 4);
	/* a sub-buffer has the times that are too large for an event */
	rec[1].ts = UINT64_C(5) << 60;
	assert_int_equal(encode(rec, 4), 0);
	check_by_kbuffer(rec, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_delta),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_extend_stays_with_its_event),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_has_room),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_unknown_kind),
		cmocka_unit_test(test_by_kbuffer),
		cmocka_unit_test(test_backwards),
	};
	int ret = cmocka_run_group_tests(tests, NULL, NULL);

	free(file);
	return ret;
}
