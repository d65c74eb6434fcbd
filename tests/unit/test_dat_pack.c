/* SPDX-License-Identifier: MIT */
/*
 * Chunks of calls as frames of zstd, tools/export/dat_pack.c. The oracle is libzstd: each frame has
 * to unpack to what went in, and a bit that is changed is noticed, or changes nothing.
 */
#include "cm.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tools/dat/dat_format.h"
#include "tools/export/dat_events.h"
#include "tools/export/dat_pack.h"

#define ROOM (DAT_PACK_MAX + (DAT_PACK_MAX >> 4))

static unsigned char raw[DAT_PACK_MAX], frame[ROOM + 1], back[DAT_PACK_MAX];
static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((seed >> 33) % below);
}

/* How the calls of a chunk are. */
struct style {
	uint32_t functions, depths, step; /* step: ns between two events, at most */
	uint32_t threads;
	bool odd; /* other events, times that jump, lost ones */
};

static unsigned char *put(unsigned char *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return to + bytes;
}

/* An event as dat_pages.c writes it. */
static unsigned char *put_event(unsigned char *at, const struct style *style, uint64_t *ts)
{
	uint64_t ip = UINT64_C(0x0812345600401000) + any(style->functions) * 48;
	uint64_t took = any(style->step * 40 + 1);
	uint32_t step = any(style->step + 1), bytes, depth = any(style->depths);
	uint64_t common = any(style->threads) + UINT64_C(4711);

	common <<= 32;
	if (style->odd && !any(50)) {
		uint32_t extend[2] = {EVENT_TIME_EXTEND | 5u << EVENT_TYPE_BITS, 1};

		return put(at, extend, 8);
	}
	if (style->odd && !any(40))
		step = any(1u << 27);
	if (style->odd && !any(40))
		took = (uint64_t)any(UINT32_MAX) << any(30);
	*ts += step;
	bytes = any(2) ? DAT_COMPACT_ENTRY_BYTES : DAT_COMPACT_EXIT_BYTES;
	if (style->odd && !any(30))
		bytes = 4 + 4 * any(EVENT_DATA_MAX);
	step = step << EVENT_TYPE_BITS | bytes / 4;
	at = put(at, &step, 4);
	if (bytes == DAT_COMPACT_ENTRY_BYTES)
		dat_compact_entry(at, common | DAT_ID_ENTRY, ip, depth, 0, 0);
	else if (bytes == DAT_COMPACT_EXIT_BYTES)
		dat_compact_exit(at, common | DAT_ID_EXIT, ip, *ts - took, *ts, depth, 0, 0);
	else
		for (uint32_t i = 0; i < bytes; i++)
			at[i] = (unsigned char)any(256);
	return at + bytes;
}

/* Some pages have no room for an event at their end, so the last sequence is an event's. */
static void fill(const struct style *style, size_t bytes)
{
	const long most = style->odd ? 4 + 4 * EVENT_DATA_MAX : 4 + DAT_COMPACT_EXIT_BYTES;
	uint64_t ts = UINT64_C(123456789012345);

	memset(raw, 0, sizeof(raw));
	for (unsigned char *page = raw; page < raw + bytes; page += SUBBUF_BYTES) {
		unsigned char *at = page + SUBBUF_HEAD_BYTES;
		uint64_t commit;

		memcpy(page, &ts, 8);
		while (at - page <= (long)SUBBUF_BYTES - most && (!style->odd || any(300)))
			at = put_event(at, style, &ts);
		commit = (uint64_t)(at - page) - SUBBUF_HEAD_BYTES;
		memcpy(page + 8, &commit, 8);
	}
}

/* Pack `raw`, and unpack it by libzstd. Return: the frame's size, 0 there is none. */
static size_t check(struct dat_packer *k, size_t bytes)
{
	size_t n = dat_pack(k, frame, ROOM, raw, bytes), got;

	assert_true(n <= ROOM);
	if (!n)
		return 0;
	assert_true(n < bytes);
	assert_int_equal(ZSTD_getFrameContentSize(frame, n), bytes);
	memset(back, 0xee, sizeof(back));
	got = ZSTD_decompress(back, sizeof(back), frame, n);
	if (ZSTD_isError(got))
		print_error("%s\n", ZSTD_getErrorName(got));
	assert_int_equal(got, bytes);
	assert_memory_equal(back, raw, bytes);
	return n;
}

static void test_calls(void **state)
{
	static const struct style styles[] = {
		{.functions = 1, .depths = 1, .step = 1, .threads = 1},
		{.functions = 20, .depths = 2, .step = 60, .threads = 1},
		{.functions = 500, .depths = 30, .step = 300, .threads = 1},
		{.functions = 5000, .depths = 2000, .step = 5000, .threads = 7},
		{.functions = 1, .depths = 1, .step = 100000000, .threads = 2},
		{.functions = 30, .depths = 5, .step = 100, .threads = 3, .odd = true},
	};
	static const unsigned int pages[] = {1, 2, 7, 24, 31, 32};
	struct dat_packer *k = dat_packer_new();

	assert_non_null(k);
	for (unsigned int i = 0; i < 240; i++) {
		size_t bytes = pages[i / 6 % 6] * SUBBUF_BYTES, n;

		seed = i;
		fill(&styles[i % 6], bytes);
		n = check(k, bytes);
		if (i % 6 < 2 && bytes > 20u * SUBBUF_BYTES) {
			assert_true(n);
			assert_true(n < bytes / 2);
		}
	}
	dat_packer_free(k);
	(void)state;
}

/* Bytes that mean nothing are stored by zstd, or are right. */
static void test_any_bytes(void **state)
{
	static const struct style style = {.functions = 9, .depths = 3, .step = 90, .threads = 1};
	struct dat_packer *k = dat_packer_new();
	unsigned int packed = 0;

	assert_non_null(k);
	for (unsigned int i = 0; i < 300; i++) {
		size_t bytes = (1 + i % 32) * SUBBUF_BYTES;

		seed = i;
		fill(&style, bytes);
		/* from a few changed bytes to all of them, heads of pages included */
		for (uint32_t nr = i % 3 ? any(1u << any(17)) : 0; nr; nr--)
			raw[any((uint32_t)bytes)] = (unsigned char)any(256);
		if (i % 10 == 9)
			memset(raw, i % 20 == 9 ? 0 : (int)any(256), bytes);
		packed += check(k, bytes) != 0;
	}
	assert_true(packed > 150);
	dat_packer_free(k);
	(void)state;
}

/* Each event differs from all others in every fifth byte: a chunk has no more sequences. */
static void test_many_sequences(void **state)
{
	static const unsigned int differ[] = {6, 11, 16, 21};
	struct dat_packer *k = dat_packer_new();
	uint32_t nr = 0;

	assert_non_null(k);
	memset(raw, 0, sizeof(raw));
	for (unsigned char *page = raw; page < raw + sizeof(raw); page += SUBBUF_BYTES) {
		unsigned char *at = page + SUBBUF_HEAD_BYTES;
		uint64_t commit = (SUBBUF_BYTES - SUBBUF_HEAD_BYTES) / 24 * 24;

		memcpy(page + 8, &commit, 8);
		for (uint64_t left = commit; left; left -= 24, at += 24, nr++) {
			*at = DAT_COMPACT_ENTRY_BYTES / 4;
			for (unsigned int i = 0; i < 4; i++)
				at[differ[i]] = (unsigned char)(nr >> i | 1u << (nr + i) % 8);
		}
	}
	check(k, sizeof(raw));
	dat_packer_free(k);
	(void)state;
}

static void test_sizes(void **state)
{
	static const struct style style = {.functions = 9, .depths = 3, .step = 90, .threads = 1};
	struct dat_packer *k = dat_packer_new();
	size_t n;

	assert_non_null(k);
	fill(&style, sizeof(raw));
	assert_int_equal(dat_pack(k, frame, ROOM, raw, 0), 0);
	assert_int_equal(dat_pack(k, frame, ROOM, raw, SUBBUF_BYTES - 1), 0);
	assert_int_equal(dat_pack(k, frame, ROOM, raw, DAT_PACK_MAX + SUBBUF_BYTES), 0);
	/* what does not fit is not begun */
	n = check(k, sizeof(raw));
	assert_true(n);
	for (size_t room = 0; room < n; room += 997) {
		memset(frame, 0xaa, sizeof(frame));
		assert_int_equal(dat_pack(k, frame, room, raw, sizeof(raw)), 0);
		assert_int_equal(frame[room], 0xaa);
	}
	dat_packer_free(k);
	(void)state;
}

static void test_damage(void **state)
{
	static const struct style style = {.functions = 9, .depths = 3, .step = 90, .threads = 1};
	struct dat_packer *k = dat_packer_new();
	size_t n, got, undone = 0;

	assert_non_null(k);
	fill(&style, sizeof(raw));
	n = check(k, sizeof(raw));
	assert_true(n);
	for (size_t at = 0; at < n; at += 211) {
		frame[at] ^= 0x10;
		got = ZSTD_decompress(back, sizeof(back), frame, n);
		/* the same bytes may be at another offset, too */
		if (!ZSTD_isError(got)) {
			assert_int_equal(got, sizeof(raw));
			assert_memory_equal(back, raw, sizeof(raw));
		}
		undone += !ZSTD_isError(got);
		frame[at] ^= 0x10;
	}
	assert_true(undone < n / 211 / 50);
	dat_packer_free(k);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),	       cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_many_sequences), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
