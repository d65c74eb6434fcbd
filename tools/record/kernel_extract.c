/* SPDX-License-Identifier: MIT */
/*
 * See kernel_extract.h. The pages of trace_pipe_raw are copied to the file unchanged; the tables of
 * CPUs before them are filled in when their sizes are known.
 */
#include "tools/record/kernel_extract.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/move_bytes.h"
#include "tools/base/note.h"
#include "tools/base/signals.h"
#include "tools/base/time_ns.h"
#include "tools/dat/dat_format.h"
#include "tools/export/dat_file.h"
#include "tools/export/dat_sections.h"
#include "tools/record/kernel_meta.h"
#include "tools/target/target.h"

struct extract {
	const struct kernel_extract *opt;
	FILE *f;
	uint32_t page_bytes, nr_cpus;
	char *page;
};

static int of_instance(const char *name, const char *file, struct target_text *text)
{
	int err = 0;
	struct target *t = target_kernel(name, &err);

	if (!t)
		return err;
	err = target_read(t, file, text);
	target_put(t);
	return err;
}

/* The clock between the brackets of trace_clock. */
static int put_clock(const struct extract *x, const char *name)
{
	struct target_text text;
	char clock[64];
	const char *at;
	int err = of_instance(name, "trace_clock", &text);

	if (err)
		return err;
	at = strchr(text.at, '[');
	snprintf(clock, sizeof(clock), "[%.*s]\n", at ? (int)strcspn(at + 1, "]") : 5,
		 at ? at + 1 : "local");
	free(text.at);
	dat_option_put(x->f, DAT_TRACECLOCK, clock, strlen(clock) + 1);
	return 0;
}

/* The time of day at the stamp 0, by the buffer's own time in its statistics: microseconds. */
static int put_date(const struct extract *x, const char *name)
{
	struct target_text text;
	uint64_t before, after, seconds, us;
	char date[32];
	const char *at;
	int err, n;

	before = time_ns(CLOCK_REALTIME);
	err = of_instance(name, "per_cpu/cpu0/stats", &text);
	after = time_ns(CLOCK_REALTIME);
	if (err)
		return err;
	at = strstr(text.at, "\nnow ts: ");
	n = at ? sscanf(at, "\nnow ts: %" SCNu64 ".%6" SCNu64, &seconds, &us) : 0;
	free(text.at);
	if (n != 2)
		return fail(EINVAL,
			    "--date: the clock of the buffer has no seconds: `vestige set -k "
			    "trace_clock mono`, and record again");
	n = snprintf(date, sizeof(date), "0x%" PRIx64,
		     (before + (after - before) / 2) / 1000 - seconds * 1000000 - us);
	dat_option_put(x->f, DAT_DATE, date, (size_t)n + 1);
	return 0;
}

/*
 * Write the options. Offsets of instances are not known yet: @at gets where they are to be written.
 */
static int put_options(const struct extract *x, long *at)
{
	const char *first = x->opt->nr && !x->opt->top ? x->opt->names[0] : NULL;
	int err;

	fwrite("options  ", 10, 1, x->f);
	err = put_clock(x, first);
	if (!err && x->opt->date)
		err = put_date(x, first);
	for (unsigned int i = 0; i < x->opt->nr && !err; i++) {
		size_t bytes = strlen(x->opt->names[i]) + 1;

		dat_put_u16(x->f, DAT_BUFFER);
		dat_put_u32(x->f, (uint32_t)(8 + bytes));
		at[i] = ftell(x->f);
		dat_put_u64(x->f, 0);
		fwrite(x->opt->names[i], bytes, 1, x->f);
	}
	dat_put_u16(x->f, DAT_DONE);
	return err;
}

static int copy_cpu(struct extract *x, const char *name, uint32_t cpu)
{
	char path[PATH_MAX];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s%s%s/per_cpu/cpu%u/%s", tracefs_tracing_dir(),
		 name ? "/instances/" : "", name ? name : "", cpu,
		 x->opt->snapshot ? "snapshot_raw" : "trace_pipe_raw");
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && x->opt->snapshot)
		return fail(ENOENT, "-s: this kernel has no snapshots (CONFIG_TRACER_SNAPSHOT)");
	/* a CPU that was never there has no folder */
	if (fd < 0 && errno == ENOENT && cpu)
		return 0;
	if (fd < 0)
		return fail_errno(errno, "cannot open '%s'", path);
	while ((n = read(fd, x->page, x->page_bytes)) > 0) {
		memset(x->page + n, 0, x->page_bytes - (size_t)n);
		if (fwrite(x->page, x->page_bytes, 1, x->f) != 1)
			break;
	}
	close(fd);
	return n < 0 && errno != EAGAIN ? fail_errno(errno, "cannot read '%s'", path) : 0;
}

static void pad_to_page(const struct extract *x)
{
	while (!ferror(x->f) && (uint64_t)ftell(x->f) % x->page_bytes)
		fputc(0, x->f);
}

/*
 * A table of CPUs and their pages. @name: of the instance, NULL: the top one; @with: its records.
 */
static int put_buffer(struct extract *x, const char *name, bool with)
{
	long table, start, end;
	int err = 0;

	fwrite("flyrecord", 10, 1, x->f);
	table = ftell(x->f);
	for (uint32_t cpu = 0; cpu < 2 * x->nr_cpus; cpu++)
		dat_put_u64(x->f, 0);
	for (uint32_t cpu = 0; cpu < x->nr_cpus && with && !err; cpu++) {
		pad_to_page(x);
		start = ftell(x->f);
		err = copy_cpu(x, name, cpu);
		end = ftell(x->f);
		if (ferror(x->f) || end < start)
			return 0; /* the caller checks the stream */
		fseek(x->f, table + (long)(cpu * sizeof(uint64_t[2])), SEEK_SET);
		dat_put_u64(x->f, (uint64_t)start);
		dat_put_u64(x->f, (uint64_t)(end - start));
		fseek(x->f, end, SEEK_SET);
	}
	return err;
}

/* trace_pipe_raw has pages of this size; a kernel without the file has pages of memory. */
static uint32_t subbuf_bytes(const char *name)
{
	struct target_text text;
	unsigned long kb = 0;

	if (!of_instance(name, "buffer_subbuf_size_kb", &text)) {
		kb = strtoul(text.at, NULL, 10);
		free(text.at);
	}
	return kb && kb < 1024 ? (uint32_t)kb * 1024 : (uint32_t)sysconf(_SC_PAGESIZE);
}

/* The most bytes that the pages of a buffer take. @name: of the instance; NULL: the top one. */
static uint64_t bytes_of(const struct extract *x, const char *name)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < x->nr_cpus; cpu++) {
		struct reader_cpu_stats stats = {0};
		struct target_text text;
		char file[64];

		snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu);
		if (of_instance(name, file, &text))
			continue;
		kernel_meta_stats(text.at, &stats);
		free(text.at);
		/* the end of a page may be free, and the first and the last one are not full */
		sum += stats.bytes / 7 * 8 + UINT64_C(3) * x->page_bytes;
	}
	return sum;
}

/*
 * Reserve room for the pages: reading takes them out of the kernel's buffer, so the disk must not
 * be full then. File systems that cannot reserve are tried. Return: 0 or -errno with fail() set.
 */
static int reserve(const struct extract *x)
{
	uint64_t bytes = x->opt->top ? bytes_of(x, NULL) : 0;
	long at = fflush(x->f) ? -1 : ftell(x->f);

	for (unsigned int i = 0; i < x->opt->nr; i++)
		bytes += bytes_of(x, x->opt->names[i]);
	if (at < 0 || x->opt->snapshot || !bytes)
		return 0; /* the caller checks the stream */
	if (fallocate(fileno(x->f), FALLOC_FL_KEEP_SIZE, at, (off_t)bytes) && errno != EOPNOTSUPP)
		return fail_errno(errno,
				  "no room for %" PRIu64 " MB (the kernel's buffer stays as it is; "
				  "name another disk with -o)",
				  bytes >> 20);
	return 0;
}

static int put_all(struct extract *x, struct target *top)
{
	long *at = calloc(x->opt->nr + 1u, sizeof(*at));
	int err = at ? kernel_meta_put(top, "/proc/kallsyms", x->f) : fail(ENOMEM, "out of memory");

	if (!err)
		dat_put_u32(x->f, x->nr_cpus);
	if (!err)
		err = put_options(x, at);
	if (!err)
		err = reserve(x);
	if (!err)
		err = put_buffer(x, NULL, x->opt->top);
	for (unsigned int i = 0; i < x->opt->nr && !err && !ferror(x->f); i++) {
		long here = ftell(x->f);

		fseek(x->f, at[i], SEEK_SET);
		dat_put_u64(x->f, (uint64_t)here);
		fseek(x->f, here, SEEK_SET);
		err = put_buffer(x, x->opt->names[i], true);
	}
	free(at);
	return err;
}

/*
 * Check, before the first record is consumed, that all instances exist and have the same page size.
 */
static int look_at(struct extract *x)
{
	x->page_bytes = subbuf_bytes(NULL);
	for (unsigned int i = 0; i < x->opt->nr; i++) {
		int err = 0;
		struct target *t = target_kernel(x->opt->names[i], &err);

		if (!t)
			return err;
		target_put(t);
		if (subbuf_bytes(x->opt->names[i]) != x->page_bytes)
			return fail(EINVAL,
				    "the instance %s has another buffer_subbuf_size_kb than the "
				    "top buffer, and a file has one",
				    x->opt->names[i]);
	}
	return 0;
}

/* Free what was reserved and not needed. */
static void give_back(int fd)
{
	struct stat st;

	if (!fstat(fd, &st) && ftruncate(fd, st.st_size))
		note("more of the disk is in use than is needed");
}

int kernel_extract(const struct kernel_extract *opt, const char *path)
{
	long nr = sysconf(_SC_NPROCESSORS_CONF);
	struct extract x = {.opt = opt, .nr_cpus = nr > 0 ? (uint32_t)nr : 1};
	struct dat_file file;
	sigset_t ending, before;
	int err = 0, bad = 0;
	struct target *top = target_kernel(NULL, &err);

	if (!top)
		return err;
	err = look_at(&x);
	x.page = malloc(x.page_bytes);
	if (!err && !x.page)
		err = fail(ENOMEM, "out of memory");
	if (!err)
		err = dat_file_create(&file, path);
	if (err) {
		free(x.page);
		target_put(top);
		return err;
	}
	/* what is taken out of the buffer is nowhere else: a signal ends this when it is written */
	signals_ending(&ending);
	sigprocmask(SIG_BLOCK, &ending, &before);
	x.f = fdopen(dup(file.fd), "w");
	err = x.f ? put_all(&x, top) : fail_errno(errno, "cannot write '%s'", path);
	if (x.f) {
		bad = stream_error(x.f);
		if (fclose(x.f) && !bad)
			bad = -errno;
	}
	if (!err && bad)
		err = dat_file_failed(&file, bad);
	if (!err)
		give_back(file.fd);
	if (err)
		dat_file_abort(&file);
	else
		err = dat_file_commit(&file);
	sigprocmask(SIG_SETMASK, &before, NULL);
	free(x.page);
	target_put(top);
	return err;
}
