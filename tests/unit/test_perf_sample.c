/* SPDX-License-Identifier: MIT */
/* Samples of perf: canned records, as a kernel makes them, cut ones, and false counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/process/perf_sample.h"

#define NR 3u

/* In words, as perf orders them. */
struct plain {
	struct perf_event_header head;
	uint64_t id;
	int32_t pid, tid;
	uint64_t ns;
	uint32_t cpu, reserved;
	uint64_t period;
};

struct branches {
	struct plain plain;
	uint64_t nr;
	struct perf_branch_entry at[NR];
};

static struct plain plain(uint16_t bytes)
{
	return (struct plain){.head = {.type = PERF_RECORD_SAMPLE, .size = bytes},
			      .id = 77,
			      .pid = 10,
			      .tid = 11,
			      .ns = 123456789,
			      .cpu = 1,
			      .period = 1000};
}

static struct branches branches(void)
{
	return (struct branches){.plain = plain(sizeof(struct branches)),
				 .nr = NR,
				 .at = {{.from = 0x401030, .to = 0x401000},
					{.from = 0x401020, .to = 0x401028, .mispred = 1},
					{.from = 0x401010, .to = 0x401018}}};
}

/* The record is in memory of its own length, so that a sanitizer sees each byte behind it. */
static int take(struct perf_record *rec, uint64_t type, const void *record, uint32_t bytes,
		uint8_t **copy)
{
	*copy = malloc(bytes ? bytes : 1);
	assert_non_null(*copy);
	memcpy(*copy, record, bytes);
	*rec = (struct perf_record){.kind = 5};
	return perf_sample_take(rec, PERF_SAMPLE_COMMON | type, *copy, bytes);
}

static void stacks(void **state)
{
	const struct branches b = branches();
	struct perf_record rec;
	uint64_t from, to, id;
	uint8_t *copy;

	(void)state;
	assert_true(take(&rec, PERF_SAMPLE_BRANCH_STACK, &b, sizeof(b), &copy));
	assert_true(rec.kind == 5 && rec.id == 77 && rec.pid == 10 && rec.tid == 11 &&
		    rec.ns == 123456789 && rec.nr_branches == NR);
	for (uint32_t i = 0; i < NR; i++) {
		perf_sample_branch(&rec, i, &from, &to);
		assert_true(from == b.at[i].from && to == b.at[i].to);
	}
	assert_true(perf_sample_id(copy, sizeof(b), &id) && id == 77);
	free(copy);
}

/* Counts that say more than there is; none is believed. */
static void lies(void **state)
{
	static const uint64_t counts[] = {NR + 1,
					  32,
					  UINT32_MAX,
					  UINT64_C(1) << 32,
					  (UINT64_C(1) << 32) + 1,
					  UINT64_MAX / 24 + 1,
					  UINT64_MAX};
	struct branches b = branches();
	struct perf_record rec;
	uint8_t *copy;

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		b.nr = counts[i];
		assert_false(take(&rec, PERF_SAMPLE_BRANCH_STACK, &b, sizeof(b), &copy));
		assert_true(!rec.branches && !rec.nr_branches && !rec.ns && rec.kind == 5);
		free(copy);
	}
	for (b.nr = 0; b.nr <= NR; b.nr++) {
		assert_true(take(&rec, PERF_SAMPLE_BRANCH_STACK, &b, sizeof(b), &copy));
		assert_int_equal(rec.nr_branches, b.nr);
		free(copy);
	}
}

static void cut(void **state)
{
	const struct branches b = branches();
	struct perf_record rec;
	uint64_t id;
	uint8_t *copy;

	(void)state;
	for (uint32_t n = 0; n < sizeof(b); n++) {
		assert_false(take(&rec, PERF_SAMPLE_BRANCH_STACK, &b, n, &copy));
		assert_true(!rec.branches && !rec.tid);
		assert_int_equal(perf_sample_id(copy, n, &id), n >= 16);
		free(copy);
	}
}

static void raw(void **state)
{
	struct {
		struct plain plain;
		uint32_t bytes;
		uint8_t data[12];
	} r = {.plain = plain(sizeof(r)), .bytes = 12, .data = "tracepoint"};
	struct perf_record rec;
	uint8_t *copy;

	(void)state;
	assert_true(take(&rec, PERF_SAMPLE_RAW, &r, sizeof(r), &copy));
	assert_true(rec.raw_bytes == 12 && !memcmp(rec.raw, "tracepoint", 11) && rec.tid == 11);
	free(copy);
	for (uint32_t lie = 13; lie; lie = lie < 1u << 31 ? lie * 2 : 0) {
		r.bytes = lie;
		assert_false(take(&rec, PERF_SAMPLE_RAW, &r, sizeof(r), &copy));
		assert_null(rec.raw);
		free(copy);
	}
}

static void ip(void **state)
{
	const struct plain p = plain(56);
	uint64_t words[7];
	struct perf_record rec;
	uint8_t *copy;

	(void)state;
	memcpy(words, &p, 16);
	words[2] = 0x401234;
	memcpy(words + 3, (const uint8_t *)&p + 16, 32);
	assert_true(take(&rec, PERF_SAMPLE_IP, words, sizeof(words), &copy));
	assert_true(rec.ip == 0x401234 && rec.tid == 11 && rec.ns == 123456789);
	free(copy);
}

/* Of the branch trace store: where each branch was, and where it went. */
static void trace_store(void **state)
{
	const struct plain p = plain(64);
	uint64_t words[8];
	struct perf_record rec;
	uint8_t *copy;

	(void)state;
	memcpy(words, &p, 16);
	words[2] = 0x401234;
	memcpy(words + 3, (const uint8_t *)&p + 16, 16);
	words[5] = 0x401300;
	memcpy(words + 6, (const uint8_t *)&p + 32, 16);
	assert_true(take(&rec, PERF_SAMPLE_IP | PERF_SAMPLE_ADDR, words, sizeof(words), &copy));
	assert_true(rec.ip == 0x401234 && rec.addr == 0x401300 && rec.tid == 11 && rec.pid == 10 &&
		    rec.ns == 123456789 && rec.id == 77 && !rec.nr_branches);
	free(copy);
	for (uint32_t n = 0; n < sizeof(words); n++) {
		assert_false(take(&rec, PERF_SAMPLE_IP | PERF_SAMPLE_ADDR, words, n, &copy));
		assert_true(!rec.ip && !rec.addr && !rec.tid);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks), cmocka_unit_test(lies), cmocka_unit_test(cut),
		cmocka_unit_test(raw),	  cmocka_unit_test(ip),	  cmocka_unit_test(trace_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
