/* SPDX-License-Identifier: MIT */
/* Our trace.dat in libkshark, which is KernelShark without its windows. */
#include "cm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libkshark.h>

#include "scratch.h"
#include "synth.h"
#include "tools/analysis/merge.h"
#include "tools/code/symbols.h"
#include "tools/export/dat_write.h"
#include "tools/reader/tasks.h"

/* libkshark forgets the name of each stream. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:kshark_add_stream\n";
}

static void check_function(const struct kshark_entry *e, const struct record *rec, struct reader *r)
{
	char want[128], name[40], *got;

	assert_int_equal(e->ts, rec->ts);
	assert_int_equal(e->cpu, rec->cpu);
	assert_int_equal(kshark_get_pid(e), rec->pid);
	got = kshark_get_event_name(e);
	assert_string_equal(got, "ftrace/function");
	free(got);
	got = kshark_get_task(e);
	assert_string_equal(got, tasks_comm(r->tasks, rec->pid));
	free(got);
	snprintf(name, sizeof(name), "%s", symbols_find(r->symbols, rec->ip)->name);
	snprintf(want, sizeof(want), "%s <-- %s", name,
		 symbols_find(r->symbols, rec->parent_ip)->name);
	got = kshark_get_info(e);
	assert_non_null(strstr(got, want));
	free(got);
}

static void check_lost(const struct kshark_entry *e, const struct record *rec)
{
	char want[64], *got;

	assert_int_equal(e->event_id, KS_EVENT_OVERFLOW);
	assert_int_equal(e->cpu, rec->cpu);
	got = kshark_get_event_name(e);
	assert_string_equal(got, "missed_events");
	free(got);
	snprintf(want, sizeof(want), "missed_events=%" PRIu64, rec->lost);
	got = kshark_get_info(e);
	assert_string_equal(got, want);
	free(got);
}

/* libkshark orders entries of one time as it likes; compare CPU by CPU. */
static void check_file(const struct dat_options *opt)
{
	char *path = scratch_path("k.dat");
	struct reader *src = synth_new(2, 5000, synth_function_lost);
	struct kshark_context *k = NULL;
	struct kshark_entry **entries = NULL;
	struct record rec;
	unsigned int cpu;
	ssize_t n, i;
	int sd;

	assert_int_equal(dat_write(path, src, opt), 0);
	assert_true(kshark_instance(&k));
	sd = kshark_open(k, path);
	assert_true(sd >= 0);
	n = kshark_load_entries(k, sd, &entries);
	/* the losses: before records 0, 1000, ... 4000 of both CPUs */
	assert_int_equal(n, 2 * (5000 + 5));
	for (cpu = 0; cpu < 2; cpu++) {
		synth_rewind(src);
		for (i = 0; i < n; i++) {
			if (entries[i]->cpu != (int)cpu)
				continue;
			assert_int_equal(reader_read(src, cpu, &rec, 1), 1);
			if (rec.lost) {
				check_lost(entries[i], &rec);
				do
					i++;
				while (entries[i]->cpu != (int)cpu);
			}
			check_function(entries[i], &rec, src);
		}
		assert_int_equal(reader_read(src, cpu, &rec, 1), 0);
	}
	for (i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	kshark_free(k);
	unlink(path);
	free(path);
	reader_close(src);
}

static void test_v6(void **state)
{
	check_file(&(struct dat_options){.version = 6});
}

static void test_v7(void **state)
{
	check_file(&(struct dat_options){.version = 7});
}

static void test_v7_zstd(void **state)
{
	check_file(&(struct dat_options){.version = 7, .zstd_level = 1});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v6),
		cmocka_unit_test(test_v7),
		cmocka_unit_test(test_v7_zstd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
