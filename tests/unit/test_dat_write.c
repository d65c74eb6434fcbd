/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat from a reader and back, and all that can fail on the way: tools/export/dat_write.c.
 */
#include "cm.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "synth.h"
#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/export/dat_write.h"
#include "tools/reader/tasks.h"

static const struct dat_options kinds[] = {
	{.version = 6},
	{.version = 7},
	{.version = 7, .zstd_level = 1},
	{.version = 7, .zstd_level = 9},
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void check_cpu(struct reader *r, unsigned int cpu, uint64_t nr,
		      void (*make)(struct record *rec, unsigned int cpu, uint64_t i))
{
	struct record got[77], want;
	uint64_t i = 0;
	int n, k;

	while ((n = reader_read(r, cpu, got, 77)) > 0) {
		for (k = 0; k < n; k++, i++) {
			memset(&want, 0, sizeof(want));
			make(&want, cpu, i);
			assert_true(i < nr);
			assert_int_equal(got[k].ts, want.ts);
			assert_int_equal(got[k].ip, want.ip);
			assert_int_equal(got[k].parent_ip, want.parent_ip);
			assert_int_equal(got[k].lost, want.lost);
			assert_int_equal(got[k].pid, want.pid);
			assert_int_equal(got[k].cpu, cpu);
			assert_int_equal(got[k].kind, want.kind);
			assert_int_equal(got[k].flags, want.flags);
			assert_int_equal(got[k].preempt_count, want.preempt_count);
		}
	}
	assert_int_equal(n, 0);
	assert_int_equal(i, nr);
}

static void check_tables(struct reader *r, struct reader *src)
{
	unsigned int i;

	for (i = 0; i < SYNTH_FUNCTIONS; i++) {
		const struct symbol *a = symbols_find(r->symbols, synth_addr(i));

		assert_string_equal(a->name, synth_name(i));
		if (i % 2)
			assert_string_equal(a->module, "libfoo.so");
		else
			assert_null(a->module);
	}
	assert_int_equal(tasks_count(r->tasks), tasks_count(src->tasks));
	for (i = 0; i < SYNTH_TASKS; i++)
		assert_string_equal(tasks_comm(r->tasks, SYNTH_PID + (int)i),
				    tasks_comm(src->tasks, SYNTH_PID + (int)i));
}

/* Texts of all lengths, as trace_printk() and marks make them, read back as they were. */
static void make_print(struct record *rec, unsigned int cpu, uint64_t i)
{
	static char text[1024];

	synth_function(rec, cpu, i);
	if (i % 3 == 0)
		return;
	memset(text, 'a', sizeof(text));
	rec->kind = RECORD_PRINT;
	rec->parent_ip = 0;
	rec->data = text;
	rec->data_bytes = (uint32_t)(i * 7 % sizeof(text));
}

static void test_print(void **state)
{
	char *path = scratch_path("print.dat");
	struct record got, want;
	struct reader *src, *r;

	for (size_t k = 0; k < NR_KINDS; k++) {
		src = synth_new(2, 3000, make_print);
		assert_int_equal(dat_write(path, src, &kinds[k]), 0);
		assert_int_equal(reader_open_dat(path, &r), 0);
		for (unsigned int cpu = 0; cpu < 2; cpu++) {
			for (uint64_t i = 0; i < 3000; i++) {
				memset(&want, 0, sizeof(want));
				make_print(&want, cpu, i);
				assert_int_equal(reader_read(r, cpu, &got, 1), 1);
				assert_int_equal(got.kind, want.kind);
				assert_int_equal(got.ts, want.ts);
				assert_int_equal(got.ip, want.ip);
				if (want.kind != RECORD_PRINT)
					continue;
				assert_int_equal(got.data_bytes, want.data_bytes);
				assert_memory_equal(got.data, want.data, want.data_bytes);
			}
			assert_int_equal(reader_read(r, cpu, &got, 1), 0);
		}
		reader_close(r);
		reader_close(src);
	}
	unlink(path);
	free(path);
}

static void round_trip(unsigned int nr_cpus, uint64_t nr,
		       void (*make)(struct record *rec, unsigned int cpu, uint64_t i))
{
	char *path = scratch_path("trip.dat");
	struct reader *src, *r;
	unsigned int cpu;
	size_t k;

	for (k = 0; k < NR_KINDS; k++) {
		src = synth_new(nr_cpus, nr, make);
		assert_int_equal(dat_write(path, src, &kinds[k]), 0);
		assert_int_equal(reader_open_dat(path, &r), 0);
		assert_int_equal(r->nr_cpus, nr_cpus);
		assert_string_equal(r->clock, "local");
		assert_string_equal(r->uname, src->uname);
		assert_string_equal(r->tracer, nr && nr_cpus ? "function" : "nop");
		assert_true(r->ts_is_ns);
		assert_null(r->tep);
		check_tables(r, src);
		for (cpu = 0; cpu < nr_cpus; cpu++) {
			check_cpu(r, cpu, nr, make);
			assert_int_equal(r->stats[cpu].entries, nr);
			assert_int_equal(r->stats[cpu].bytes, nr * 16);
			assert_int_equal(r->stats[cpu].dropped_events, cpu);
			assert_int_equal(r->stats[cpu].read_events, cpu * 2);
			/* microseconds, rounded as the kernel does */
			assert_int_equal(r->stats[cpu].oldest_ts, 1000000001000);
			assert_int_equal(r->stats[cpu].now_ts, 2000000123000);
		}
		reader_close(r);
		reader_close(src);
		unlink(path);
	}
	assert_int_equal(scratch_count(), 0);
	free(path);
}

static void test_round_trip(void **state)
{
	round_trip(1, 1, synth_function);
	round_trip(3, 0, synth_function);
	round_trip(1, 1450, synth_function); /* ten sub-buffers: one chunk */
	round_trip(1, 1451, synth_function);
	round_trip(3, 60000, synth_function);
	round_trip(2, 30000, synth_function_lost);
	round_trip(40, 100, synth_function_lost);
}

static void make_flags(struct record *rec, unsigned int cpu, uint64_t i)
{
	synth_function(rec, cpu, i);
	rec->flags = (uint8_t)i;
	rec->preempt_count = (uint8_t)(i >> 3);
	rec->lost = i % 97 ? 0 : RECORD_LOST_UNKNOWN;
}

static void test_flags(void **state)
{
	round_trip(2, 3000, make_flags);
}

/* Beyond what a TIME_STAMP event holds; now and then backwards. */
static void make_late(struct record *rec, unsigned int cpu, uint64_t i)
{
	synth_function(rec, cpu, i);
	rec->ts = (UINT64_C(3) << 60) + i * 1000 - (i % 10 == 9 ? 5000 : 0);
	if (i % 500 == 499)
		rec->ts -= UINT64_C(1) << 61;
}

static void test_late(void **state)
{
	round_trip(1, 3000, make_late);
}

/* The texts of the statistics are per_cpu/cpuN/stats'. */
static void test_stats_text(void **state)
{
	char *path = scratch_path("stats.dat"), *text;
	struct reader *src = synth_new(2, 10, NULL);
	static const char want[] = "CPU: 1\nentries: 10\noverrun: 0\ncommit overrun: 0\n"
				   "bytes: 160\noldest event ts:  1000.000001\n"
				   "now ts:  2000.000123\ndropped events: 1\nread events: 2\n";
	size_t bytes;

	assert_int_equal(dat_write(path, src, &kinds[1]), 0);
	text = scratch_read(path, &bytes);
	assert_non_null(memmem(text, bytes, want, sizeof(want)));
	free(text);
	unlink(path);
	free(path);
	reader_close(src);
}

static void make_event(struct record *rec, unsigned int cpu, uint64_t i)
{
	synth_function(rec, cpu, i);
	if (i == 700)
		rec->kind = RECORD_CONTEXT;
}

/* Each failure leaves the old file as it was, and nothing beside it. */
static void check_failure(struct reader *src, const struct dat_options *opt, int err,
			  const char *word)
{
	char *path = scratch_path("old.dat"), *text;

	scratch_write(path, "old", 3);
	assert_int_equal(dat_write(path, src, opt), -err);
	assert_non_null(strstr(fail_text(), word));
	text = scratch_read(path, NULL);
	assert_string_equal(text, "old");
	assert_int_equal(scratch_count(), 1);
	unlink(path);
	free(text);
	free(path);
	reader_close(src);
}

static void test_failures(void **state)
{
	struct dat_options bad = {.version = 5}, level = {.version = 7, .zstd_level = 20};
	struct reader *src;
	size_t k;

	for (k = 0; k < NR_KINDS; k++) {
		src = synth_new(2, 100000, NULL);
		synth_fail_after(src, 50000);
		check_failure(src, &kinds[k], EIO, "as the test wants");
		check_failure(synth_new(2, 10000, make_event), &kinds[k], ENOTSUP, "kind 7");
	}
	check_failure(synth_new(1, 1, NULL), &bad, EINVAL, "not 5");
	check_failure(synth_new(1, 1, NULL), &level, EINVAL, "not 20");
}

static void test_file_size_limit(void **state)
{
	struct rlimit old, low;
	size_t k;

	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	for (k = 0; k < NR_KINDS; k++) {
		low.rlim_cur = 200000;
		setrlimit(RLIMIT_FSIZE, &low);
		check_failure(synth_new(2, 300000, NULL), &kinds[k], EFBIG, "ulimit -f");
		low.rlim_cur = 2000; /* in the sections already */
		setrlimit(RLIMIT_FSIZE, &low);
		check_failure(synth_new(2, 300, NULL), &kinds[k], EFBIG, "ulimit -f");
	}
	setrlimit(RLIMIT_FSIZE, &old);
	/* the signal is as it was before */
	assert_int_equal(raise(0), 0);
	assert_ptr_equal(signal(SIGXFSZ, SIG_DFL), SIG_DFL);
}

/* In a mount namespace of the child's own: 0 as it should be, 77 no right to mount. */
static int on_full_disk(const char *dir)
{
	struct reader *src;
	char path[600];
	size_t k;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=200k"))
		return 77;
	snprintf(path, sizeof(path), "%s/full.dat", dir);
	for (k = 0; k < NR_KINDS; k++) {
		src = synth_new(2, 300000, NULL);
		if (dat_write(path, src, &kinds[k]) != -ENOSPC)
			return 1;
		if (!strstr(fail_text(), "full.dat") || !strstr(fail_text(), "No space left"))
			return 2;
		if (access(path, F_OK) == 0 || scratch_count())
			return 3;
		reader_close(src);
	}
	return 0;
}

static void test_full_disk(void **state)
{
	char *inside = scratch_path("");
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(on_full_disk(inside));
	waitpid(pid, &status, 0);
	free(inside);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_places(void **state)
{
	char *dir = scratch_path("dir"), *link = scratch_path("link.dat"),
	     *file = scratch_path("file.dat"), *none = scratch_path("none/x.dat"),
	     *fifo = scratch_path("fifo");
	struct reader *src = synth_new(1, 10, NULL), *r;
	struct stat st;

	mkdir(dir, 0700);
	assert_int_equal(dat_write(dir, src, &kinds[2]), -EISDIR);
	assert_int_equal(dat_write(none, src, &kinds[2]), -ENOENT);
	mkfifo(fifo, 0600);
	assert_int_equal(dat_write(fifo, src, &kinds[2]), -EINVAL);
	/* a link stays one, and its file is what changes */
	scratch_write(file, "old", 3);
	assert_int_equal(symlink("file.dat", link), 0);
	assert_int_equal(dat_write(link, src, &kinds[2]), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(reader_open_dat(file, &r), 0);
	assert_int_equal(r->stats[0].entries, 10);
	reader_close(r);
	assert_int_equal(scratch_count(), 4);
	rmdir(dir);
	unlink(fifo);
	unlink(link);
	unlink(file);
	free(dir);
	free(link);
	free(file);
	free(none);
	free(fifo);
	reader_close(src);
}

static void count_progress(void *arg, uint64_t records, uint64_t total)
{
	uint64_t *last = arg;

	assert_true(records >= *last && (!total || total == 60000));
	*last = records;
}

static void test_progress(void **state)
{
	uint64_t last = 0;
	struct dat_options opt = {
		.version = 7, .zstd_level = 1, .progress = count_progress, .progress_arg = &last};
	char *path = scratch_path("progress.dat");
	struct reader *src = synth_new(2, 30000, NULL);

	assert_int_equal(dat_write(path, src, &opt), 0);
	assert_int_equal(last, 60000);
	unlink(path);
	free(path);
	reader_close(src);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),	cmocka_unit_test(test_flags),
		cmocka_unit_test(test_print),		cmocka_unit_test(test_late),
		cmocka_unit_test(test_stats_text),	cmocka_unit_test(test_failures),
		cmocka_unit_test(test_file_size_limit), cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_places),		cmocka_unit_test(test_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
