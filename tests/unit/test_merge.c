/* SPDX-License-Identifier: MIT */
/* All CPUs in order of time, tools/analysis/merge.c, against sorting them all. */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "synth.h"
#include "tools/analysis/merge.h"
#include "tools/analysis/runs.h"

static unsigned int seed;

/* Times that are often equal to other CPUs' times, in runs of different lengths. */
static void make_ties(struct record *rec, unsigned int cpu, uint64_t i)
{
	uint64_t run = i / (1 + cpu * 13 + seed % 5);

	rec->kind = RECORD_FUNCTION;
	rec->ts = run * (3 + cpu % 4) + seed % 7;
	rec->ip = i;
	rec->pid = (int32_t)cpu;
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

/* The same by runs. */
static void check_runs(struct reader *r, const struct record *all, size_t n, int skip)
{
	struct runs *runs = runs_new(r);
	struct run run;
	size_t i = 0;

	if (skip >= 0)
		runs_skip_cpu(runs, (unsigned int)skip);
	while (runs_next(runs, &run) > 0) {
		assert_true(run.nr && run.nr <= n - i);
		assert_memory_equal(run.recs, &all[i], run.nr * sizeof(*all));
		i += run.nr;
	}
	assert_int_equal(i, n);
	assert_int_equal(runs_next(runs, &run), 0);
	runs_free(runs);
}

static void check(unsigned int nr_cpus, uint64_t nr, int skip)
{
	struct reader *r = synth_new(nr_cpus, nr, make_ties);
	struct record *all = calloc(nr_cpus * nr + 1, sizeof(*all)), *p = all;
	struct merge *m;
	const struct record *rec;
	unsigned int cpu;
	size_t n = 0, i;
	int got;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		while ((int)cpu != skip && (got = reader_read(r, cpu, p, 100)) > 0) {
			p += got;
			n += (size_t)got;
		}
	}
	qsort(all, n, sizeof(*all), by_time);
	synth_rewind(r);
	m = merge_new(r);
	if (skip >= 0)
		merge_skip_cpu(m, (unsigned int)skip);
	for (i = 0; i < n; i++) {
		assert_int_equal(merge_next(m, &rec), 1);
		assert_memory_equal(rec, &all[i], sizeof(*rec));
	}
	assert_int_equal(merge_next(m, &rec), 0);
	assert_int_equal(merge_next(m, &rec), 0);
	merge_free(m);
	synth_rewind(r);
	check_runs(r, all, n, skip);
	reader_close(r);
	free(all);
}

static void test_order(void **state)
{
	static const unsigned int nr_cpus[] = {1, 2, 3, 8, 61};
	size_t i;

	for (seed = 0; seed < 6; seed++) {
		for (i = 0; i < sizeof(nr_cpus) / sizeof(nr_cpus[0]); i++) {
			check(nr_cpus[i], 1, -1);
			check(nr_cpus[i], 256, -1);
			check(nr_cpus[i], 1025, -1);
			check(nr_cpus[i], 700, (int)(seed % nr_cpus[i]));
		}
	}
}

static void test_empty(void **state)
{
	check(0, 0, -1);
	check(4, 0, -1);
}

static void test_source_fails(void **state)
{
	struct reader *r = synth_new(3, 1000, NULL);
	struct merge *m = merge_new(r);
	const struct record *rec;
	uint64_t n = 0;
	int ret;

	synth_fail_after(r, 300);
	while ((ret = merge_next(m, &rec)) > 0)
		n++;
	assert_int_equal(ret, -EIO);
	assert_true(n >= 300 && n <= 900);
	merge_free(m);
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_source_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
