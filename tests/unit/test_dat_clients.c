/* SPDX-License-Identifier: MIT */
/*
 * Our trace.dat in the hands of stock trace-cmd, and the kernel's in ours: names, callers, times,
 * CPUs, tasks, losses, statistics. Skipped where trace-cmd is not installed.
 */
#include "cm.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"
#include "synth.h"
#include "tools/analysis/merge.h"
#include "tools/code/symbols.h"
#include "tools/export/dat_write.h"
#include "tools/reader/tasks.h"
#include "tools/text/trace_text.h"

static const struct dat_options kinds[] = {
	{.version = 6}, {.version = 7}, {.version = 7, .zstd_level = 1}};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* What `trace-cmd report -O parent=1` says of @r's records, in its own format. */
static char *expected_report(struct reader *r)
{
	struct merge *m = merge_new(r);
	const struct record *rec;
	char *text;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	fprintf(f, "cpus=%u\n", r->nr_cpus);
	while (merge_next(m, &rec) > 0) {
		uint64_t us = (rec->ts + 500) / 1000;
		char name[32], parent[32];

		if (rec->lost == RECORD_LOST_UNKNOWN)
			fprintf(f, "CPU:%u [EVENTS DROPPED]\n", rec->cpu);
		else if (rec->lost)
			fprintf(f, "CPU:%u [%" PRIu64 " EVENTS DROPPED]\n", rec->cpu, rec->lost);
		snprintf(name, sizeof(name), "%s", symbols_find(r->symbols, rec->ip)->name);
		snprintf(parent, sizeof(parent), "%s",
			 symbols_find(r->symbols, rec->parent_ip)->name);
		fprintf(f, "%16s-%-5d [%03u] %5" PRIu64 ".%06" PRIu64 ": %-20s %s <-- %s\n",
			tasks_comm(r->tasks, rec->pid), rec->pid, rec->cpu, us / 1000000,
			us % 1000000, "function:", name, parent);
	}
	merge_free(m);
	fclose(f);
	return text;
}

/* One blank for many, none at a line's end: columns are not what is compared. */
static void squeeze(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == ' ' && (to[-1] == ' ' || to[-1] == '\n'))
			continue;
		*to++ = *text;
	}
	*to = '\0';
}

static void check_equal(const char *got, const char *want)
{
	size_t i = 0, line = 0;

	if (strcmp(got, want) == 0)
		return;
	while (got[i] && got[i] == want[i]) {
		if (got[i] == '\n')
			line = i + 1;
		i++;
	}
	fail_msg("got:  %.200s\nwant: %.200s\n", got + line, want + line);
}

static void make_unknown_losses(struct record *rec, unsigned int cpu, uint64_t i)
{
	synth_function(rec, cpu, i);
	if (i % 1234 == 1000)
		rec->lost = RECORD_LOST_UNKNOWN;
}

static void check_report(unsigned int nr_cpus, uint64_t nr,
			 void (*make)(struct record *rec, unsigned int cpu, uint64_t i))
{
	char *path = scratch_path("r.dat"), *got, *want;
	struct reader *src = synth_new(nr_cpus, nr, make);
	size_t k;

	want = expected_report(src);
	squeeze(want);
	for (k = 0; k < NR_KINDS; k++) {
		synth_rewind(src);
		assert_int_equal(dat_write(path, src, &kinds[k]), 0);
		got = scratch_run("trace-cmd report -O parent=1 -i %s 2>&1", path);
		squeeze(got);
		check_equal(got, want);
		free(got);
	}
	free(want);
	unlink(path);
	free(path);
	reader_close(src);
}

static void test_report(void **state)
{
	check_report(1, 1, synth_function);
	check_report(2, 20000, synth_function);
	check_report(2, 20000, synth_function_lost);
	check_report(3, 5000, make_unknown_losses);
	check_report(17, 200, synth_function_lost);
}

/* A CPU without records beside others. */
static void make_one_cpu(struct record *rec, unsigned int cpu, uint64_t i)
{
	synth_function(rec, cpu, i);
}

static void test_empty(void **state)
{
	check_report(4, 0, make_one_cpu);
}

static void test_statistics(void **state)
{
	char *path = scratch_path("s.dat"), *got;
	struct reader *src = synth_new(2, 100, NULL);
	size_t k;

	for (k = 0; k < NR_KINDS; k++) {
		synth_rewind(src);
		assert_int_equal(dat_write(path, src, &kinds[k]), 0);
		got = scratch_run("trace-cmd report --stat -i %s 2>&1", path);
		assert_non_null(strstr(got, "CPU: 0\nentries: 100\noverrun: 0\ncommit overrun: 0\n"
					    "bytes: 1600\noldest event ts:  1000.000001\n"
					    "now ts:  2000.000123\ndropped events: 0\n"
					    "read events: 0\n"));
		assert_non_null(strstr(got, "CPU: 1\n"));
		free(got);
		got = scratch_run("trace-cmd report --uname -i %s 2>&1", path);
		assert_non_null(strstr(got, "Linux host 6.1.0 x86_64"));
		assert_null(strstr(got, "unknown"));
		free(got);
		got = scratch_run("trace-cmd dump --validate -i %s 2>&1", path);
		assert_non_null(strstr(got, "is a valid trace-cmd file"));
		free(got);
	}
	unlink(path);
	free(path);
	reader_close(src);
}

/* Our report of a kernel's file, without the flags' column, which trace-cmd does not print. */
static char *our_report(const char *path)
{
	char *out_path = scratch_path("ours.txt"), *text, *p, *to;
	int fd = open(out_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	const struct record *rec;
	struct trace_text *t;
	struct reader *r;
	struct merge *m;
	struct out o;

	assert_int_equal(reader_open_dat(path, &r), 0);
	assert_int_equal(out_init(&o, fd), 0);
	m = merge_new(r);
	t = trace_text_new(r, &o, NULL);
	while (merge_next(m, &rec) > 0)
		trace_text_record(t, rec);
	trace_text_free(t);
	merge_free(m);
	assert_int_equal(out_end(&o), 0);
	reader_close(r);
	close(fd);
	text = scratch_read(out_path, NULL);
	for (p = to = text; *p;) {
		char *close_bracket = strstr(p, "] "), *end = strchr(p, '\n') + 1;

		assert_non_null(close_bracket);
		memmove(to, p, (size_t)(close_bracket + 2 - p));
		to += close_bracket + 2 - p;
		memmove(to, close_bracket + 7, (size_t)(end - close_bracket - 7));
		to += end - close_bracket - 7;
		p = end;
	}
	*to = '\0';
	unlink(out_path);
	free(out_path);
	return text;
}

static void test_kernel_files(void **state)
{
	static const char *const files[] = {"kernel-v6.dat", "kernel-v7.dat", "kernel-v7-zstd.dat"};
	size_t i;

	for (i = 0; i < 3; i++) {
		char *path = data_path(files[i]), *ours = our_report(path), *theirs;

		/* -N: the formats' own text, which is the kernel's, not the plugins' */
		theirs = scratch_run("trace-cmd report -N -i %s 2>/dev/null | tail -n +2", path);
		squeeze(ours + 1);
		squeeze(theirs + 1);
		check_equal(ours, theirs);
		assert_non_null(strstr(ours, "sched_switch: prev_comm="));
		free(theirs);
		free(ours);
		free(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_kernel_files),
	};

	if (system("command -v trace-cmd >/dev/null 2>&1")) {
		puts("trace-cmd is not installed");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
