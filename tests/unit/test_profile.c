/* SPDX-License-Identifier: MIT */
/* Counts of calls, tools/analysis/profile.c, against counting in a plain table. */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "synth.h"
#include "tools/analysis/profile.h"

#define NR_CPUS	   3
#define NR_RECORDS 200000

static unsigned int function_of(uint64_t addr)
{
	unsigned int n;

	for (n = 0; n < SYNTH_FUNCTIONS; n++) {
		if (addr - synth_addr(n) < 64)
			return n;
	}
	abort();
}

static void test_counts(void **state)
{
	static uint64_t hits[SYNTH_FUNCTIONS], calls[SYNTH_FUNCTIONS][SYNTH_FUNCTIONS];
	struct reader *r = synth_new(NR_CPUS, NR_RECORDS, NULL);
	struct profile *p = profile_new(r, NULL);
	struct record rec;
	unsigned int cpu, f, g;
	uint64_t i, sum = 0;
	size_t n;

	assert_non_null(p);
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		for (i = 0; i < NR_RECORDS; i++) {
			memset(&rec, 0, sizeof(rec));
			synth_function(&rec, cpu, i);
			f = function_of(rec.ip);
			g = function_of(rec.parent_ip);
			hits[f]++;
			calls[f][g]++;
		}
	}
	assert_int_equal(profile_hits(p), (uint64_t)NR_CPUS * NR_RECORDS);
	assert_int_equal(profile_lost(p), 0);
	for (n = 0; n < profile_count(p); n++) {
		const struct profile_row *row = profile_at(p, n);
		struct profile_caller *callers = profile_callers(p, row);
		uint64_t k;

		f = function_of(row->ip);
		assert_string_equal(row->name, synth_name(f));
		assert_int_equal(row->hits, hits[f]);
		if (n)
			assert_true(profile_at(p, n - 1)->hits >= row->hits);
		for (k = 0; k < row->nr_callers; k++) {
			g = function_of(callers[k].addr);
			assert_string_equal(callers[k].name, synth_name(g));
			assert_int_equal(callers[k].hits, calls[f][g]);
			if (k)
				assert_true(callers[k - 1].hits >= callers[k].hits);
			sum += callers[k].hits;
		}
		free(callers);
	}
	assert_int_equal(sum, (uint64_t)NR_CPUS * NR_RECORDS);
	assert_null(profile_at(p, profile_count(p)));
	profile_sort(p, PROFILE_BY_NAME);
	for (n = 1; n < profile_count(p); n++)
		assert_true(strcmp(profile_at(p, n - 1)->name, profile_at(p, n)->name) < 0);
	profile_free(p);
	reader_close(r);
}

static void make_mixed(struct record *rec, unsigned int cpu, uint64_t i)
{
	synth_function_lost(rec, cpu, i);
	rec->ip = 0x10; /* below every symbol */
	if (i % 10 == 3)
		rec->kind = RECORD_EVENT;
	if (i == 1500 && cpu == 1)
		rec->lost = RECORD_LOST_UNKNOWN;
}

static void test_others(void **state)
{
	struct reader *r = synth_new(2, 2000, make_mixed);
	bool first[2] = {true, false};
	struct profile *p = profile_new(r, first);

	assert_int_equal(profile_count(p), 1);
	assert_null(profile_at(p, 0)->name);
	assert_int_equal(profile_hits(p), 1800);
	assert_int_equal(profile_lost(p), 7 + 8);
	profile_free(p);
	synth_rewind(r);
	p = profile_new(r, NULL);
	assert_true(profile_lost(p) == RECORD_LOST_UNKNOWN);
	assert_int_equal(profile_hits(p), 3600);
	profile_free(p);
	synth_rewind(r);
	synth_fail_after(r, 1000);
	assert_null(profile_new(r, NULL));
	reader_close(r);
}

static void test_empty(void **state)
{
	struct reader *r = synth_new(2, 0, NULL);
	struct profile *p = profile_new(r, NULL);

	assert_int_equal(profile_count(p), 0);
	assert_int_equal(profile_hits(p), 0);
	profile_free(p);
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
