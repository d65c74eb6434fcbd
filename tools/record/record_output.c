/* SPDX-License-Identifier: MIT */
/*
 * The files of a recording: first the spool, then the output that is written from it. See
 * record_impl.h.
 * Tests: tests/cli/test_record.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/replace_file.h"
#include "tools/base/shell_word.h"
#include "tools/base/time_ns.h"
#include "tools/code/symbols.h"
#include "tools/export/dat_live.h"
#include "tools/export/exporter.h"
#include "tools/record/progress.h"
#include "tools/record/record_impl.h"
#include "tools/record/record_text.h"

#define KERNEL_HALF ".kernel" /* behind the spool's name */
#define MAX_SPOOLS  1000u     /* of one PID, beside one output */

/*
 * Name the spool number @i of this PID, beside @output. Return: 0 or -ENAMETOOLONG with fail() set.
 */
static int name_spool(struct record_run *run, const char *output, unsigned int i)
{
	char number[16] = "";

	if (i > 1)
		snprintf(number, sizeof(number), ".%u", i);
	/* the kernel's half must have room, too */
	if (snprintf(run->spool_path, PATH_MAX - sizeof(KERNEL_HALF), "%s.spool.%d%s", output,
		     getpid(), number) >= (int)(PATH_MAX - sizeof(KERNEL_HALF)))
		return fail(ENAMETOOLONG, "%s is too long a name", output);
	return 0;
}

/*
 * Create the spool that has been named. Return: 0, or -errno with fail() set; -EEXIST: it is there,
 * or its half with the kernel's records.
 */
static int create_spool(struct record_run *run, const char *cmdline)
{
	char half[PATH_MAX + sizeof(KERNEL_HALF)];
	struct stat st;

	snprintf(half, sizeof(half), "%s" KERNEL_HALF, run->spool_path);
	if (!lstat(half, &st))
		return fail_errno(EEXIST, "cannot create %s", half);
	return spool_create(run->spool_path, cmdline, run->opt.max_kb, &run->spool);
}

/*
 * Create the spool beside the output, or beside the file to which a link leads. An interrupted
 * recorder with this PID may have left one: after a restart, or in another container. It stays.
 */
int record_spool(struct record_run *run, const char *cmdline)
{
	const char *output = run->opt.output;
	char *target = NULL;
	struct stat st;
	int err = -EEXIST, named = 0;

	if (!stat(output, &st) && !S_ISREG(st.st_mode))
		return fail(EINVAL, "%s is not a regular file: name another one with -o", output);
	if (!lstat(output, &st) && S_ISLNK(st.st_mode)) {
		target = realpath(output, NULL);
		if (!target)
			return fail_errno(errno, "cannot follow the link %s", output);
	}
	for (unsigned int i = 1; i <= MAX_SPOOLS && !named && err == -EEXIST; i++) {
		named = name_spool(run, target ? target : output, i);
		if (!named)
			err = create_spool(run, cmdline);
	}
	free(target);
	if (named)
		return named;
	return err ? fail(EIO, "%s (say with -o where %s may be written)", fail_text(), output) : 0;
}

static void live_turn(void *arg, uint64_t spool_bytes, uint64_t stamp)
{
	dat_live_turn(arg, spool_bytes, stamp);
}

static void live_drop(void *arg)
{
	dat_live_drop(arg);
}

void record_live(struct record_run *run)
{
	const struct record_options *opt = &run->opt;

	/* with max_kb the spool is overwritten; other tracers give no calls in columns */
	if (opt->native || opt->file_version != 7 || opt->kernel || opt->max_kb ||
	    strcmp(opt->tracer, "function_graph") != 0)
		return;
	/* if this fails, all is encoded when the program has ended */
	run->live = dat_live_new(opt->output, run->spool_path, true);
	if (!run->live)
		return;
	recorder_turns(run->recorder, live_turn, run->live);
	spool_on_full(run->spool, live_drop, run->live);
}

int record_kernel(const struct record_options *opt, struct kernel_record **out)
{
	const struct kernel_wish wish = {.events = opt->kernel_events,
					 .nr_events = opt->nr_kernel_events,
					 .rules = opt->rules + opt->nr_rules,
					 .nr_rules = opt->nr_kernel_rules,
					 .ignore_missing = opt->ignore_missing,
					 .tracer = opt->kernel_tracer};

	return opt->kernel ? kernel_record_new(&wish, opt->output, out) : 0;
}

int record_kernel_start(const struct record_options *opt, struct kernel_record *k, const int *pids,
			unsigned int nr)
{
	int err = k && opt->kernel_limited ? kernel_record_limit(k, pids, nr) : 0;

	return err || !k ? err : kernel_record_start(k);
}

/* End the kernel's part. Errors in it do not affect the program's part. */
static void end_kernel(struct record_run *run)
{
	int err;

	if (snprintf(run->kernel_path, sizeof(run->kernel_path), "%s" KERNEL_HALF,
		     run->spool_path) >= (int)sizeof(run->kernel_path))
		err = fail(ENAMETOOLONG, "%s is too long a name", run->opt.output);
	else
		err = kernel_record_end(run->kernel, run->kernel_path);
	if (!err)
		err = reader_open_dat(run->kernel_path, &run->kernel_reader);
	if (!err)
		return;
	run->ours = true;
	run->kernel_path[0] = '\0';
	note("the kernel's records are lost: %s", fail_text());
}

void record_end(struct record_run *run)
{
	recorder_finish(run->recorder, &run->sum);
	if (run->kernel)
		end_kernel(run);
	if (spool_failed(run->spool)) {
		if (!run->ours)
			note("%s", fail_text());
		run->ours = true;
		run->sum.spool_failed = true;
	}
}

/* Rename the spool to the output, with the permissions of a new file. */
static int keep_native(const struct record_run *run)
{
	char *target = realpath(run->opt.output, NULL);
	const char *output = target ? target : run->opt.output;
	mode_t mask = umask(0);
	int err = 0;

	umask(mask);
	err = chmod(run->spool_path, 0666 & ~mask) ? -errno : replace_file(run->spool_path, output);
	if (err)
		err = fail_errno(-err, "cannot write '%s'", run->opt.output);
	free(target);
	return err;
}

void record_kernel_symbols(struct symbols *s)
{
	FILE *f = fopen("/proc/kallsyms", "re"), *mem;
	char part[4096], *text = NULL;
	size_t bytes = 0, n;

	if (!f)
		return;
	mem = open_memstream(&text, &bytes);
	while (mem && (n = fread(part, 1, sizeof(part), f)) > 0)
		fwrite(part, 1, n, mem);
	fclose(f);
	if (!mem || fclose(mem))
		return;
	/* for a user without permission all addresses are 0 */
	if (strstr(text, "\nf"))
		symbols_add_kallsyms(s, text, bytes);
	free(text);
}

/*
 * Was the file written since the machine was started? Otherwise the kernel's addresses are
 * different.
 */
static bool is_of_this_boot(const struct stat *st)
{
	return (uint64_t)st->st_mtime * 1000000000 >=
	       time_ns(CLOCK_REALTIME) - time_ns(CLOCK_BOOTTIME);
}

int record_kernel_half(const char *spool, struct reader *r, struct reader **kernel)
{
	char path[PATH_MAX];
	struct stat st;
	int err;

	*kernel = NULL;
	if (!strstr(spool, ".spool.") ||
	    snprintf(path, sizeof(path), "%s" KERNEL_HALF, spool) >= (int)sizeof(path) ||
	    stat(path, &st))
		return 0;
	err = reader_open_dat(path, kernel);
	if (!err && is_of_this_boot(&st))
		record_kernel_symbols(r->symbols);
	return err;
}

/* The messages about the kernel's part at the end. */
static void report_kernel(struct record_run *run)
{
	uint64_t bracket, off, lost = kernel_record_lost(run->kernel);
	int err = kernel_record_check(run->kernel, run->kernel_reader, &bracket, &off);

	if (err == -ENOENT)
		note("the kernel's clock was not compared: its buffer has lost the marks");
	else if (off)
		note("the kernel's stamps are up to %" PRIu64 " ns off", off);
	if (lost)
		note("the kernel's buffer lost %" PRIu64 " events", lost);
	if (kernel_record_left(run->kernel))
		note("the disk of %s was full: the kernel's first records are in the recording, "
		     "its last %" PRIu64 " are lost; make room, or name another disk with -o",
		     run->opt.output, kernel_record_left(run->kernel));
	run->kernel_clock_ns = err ? 0 : bracket + off;
}

/* The counts of a recording, over all CPUs. */
struct total {
	uint64_t records, lost;
	uint64_t first_ns, end_ns; /* of the program's */
};

static void add_stats(struct total *t, const struct reader_cpu_stats *s, uint64_t records)
{
	t->records += records;
	t->lost += s->overrun + s->commit_overrun + s->dropped_events;
}

static void count_all(struct total *t, const struct reader *r, const struct kernel_record *k)
{
	const struct reader_cpu_stats *s;

	for (unsigned int c = 0; r->stats && c < r->nr_cpus; c++) {
		s = &r->stats[c];
		add_stats(t, s, s->entries);
		if (s->entries && (!t->first_ns || s->oldest_ts < t->first_ns))
			t->first_ns = s->oldest_ts;
		t->end_ns = s->now_ts > t->end_ns ? s->now_ts : t->end_ns;
	}
	/* what was read is in the file */
	for (unsigned int c = 0; k && (s = kernel_record_stats(k, c)); c++)
		add_stats(t, s, s->read_events);
	t->lost += k ? kernel_record_left(k) : 0;
}

/* The command to suggest for reading the file. */
static const char *reader_of(const struct record_options *opt)
{
	return strcmp(opt->tracer, "function_graph") ? "report" : "replay";
}

/*
 * Two lines at the end; before them the statistics of each CPU, if requested or if records were
 * lost.
 */
static void print_summary(const struct record_run *run, const struct reader *r)
{
	const struct kernel_record *k = run->kernel_reader ? run->kernel : NULL;
	const struct reader_cpu_stats *s;
	struct total t = {0};
	char word[SHELL_WORD_BYTES];
	const char *file = "";
	uint64_t ms;

	count_all(&t, r, k);
	ms = t.first_ns && t.end_ns > t.first_ns ? (t.end_ns - t.first_ns) / 1000000 : 0;
	for (unsigned int c = 0; (run->opt.statistics || t.lost) && r->stats && c < r->nr_cpus; c++)
		record_print_stats(&r->stats[c], c, "");
	for (unsigned int c = 0;
	     (run->opt.statistics || t.lost) && k && (s = kernel_record_stats(k, c)); c++)
		record_print_stats(s, c, "kernel ");
	fprintf(stderr, "%s: %" PRIu64 " records", run->opt.output, t.records);
	if (t.first_ns || !k) /* of the kernel's records alone the time is not known here */
		fprintf(stderr, " in %" PRIu64 ".%03" PRIu64 " s", ms / 1000, ms % 1000);
	fprintf(stderr, ", %" PRIu64 " lost", t.lost);
	if (run->kernel_clock_ns)
		fprintf(stderr, ", the kernel's clock within %" PRIu64 " ns", run->kernel_clock_ns);
	fputc('\n', stderr);
	if (!t.records)
		return;
	if (strcmp(run->opt.output, "trace.dat") != 0)
		file = shell_word(run->opt.output, word);
	fprintf(stderr, "vestige %s%s%s shows them\n", reader_of(&run->opt), *file ? " " : "",
		file);
}

/* The native form is complete; only its records are counted. */
static void sum_up(const struct record_run *run, struct reader **r)
{
	if (run->opt.native) {
		reader_close(*r);
		*r = NULL;
		if (reader_open_spool(run->opt.output, r)) {
			note("the records are not counted: %s", fail_text());
			return;
		}
	}
	print_summary(run, *r);
}

/* Send the output to a listener; if that fails, the file stays here. */
static void send_output(struct record_run *run)
{
	struct progress p;
	char hint[3 * PATH_MAX];
	int err;

	snprintf(hint, sizeof(hint),
		 "%s is being sent to %s. Ctrl-C ends that: the recording stays here",
		 run->opt.output, run->opt.net);
	progress_begin_after(&p, run->opt.output, hint, run->opt.quiet);
	err = net_sender_send(run->sender, run->opt.output,
			      &(struct net_watch){&p.stop, progress_step, &p});
	progress_end(&p);
	if (err) {
		run->ours = true;
		note("%s", fail_text());
		note("the recording stays here, in %s", run->opt.output);
		return;
	}
	unlink(run->opt.output);
	if (!run->opt.quiet)
		note("sent to %s", run->opt.net);
}

/* The flags with which `vestige convert` writes the same file, each with a space behind it. */
static void convert_flags(const struct record_options *opt, char *to, size_t bytes)
{
	char offset[32] = "";

	if (opt->ts_offset_ns)
		snprintf(offset, sizeof(offset), "--ts-offset %" PRId64 " ", opt->ts_offset_ns);
	/* the flags of the stamps leave out the native part by themselves */
	snprintf(to, bytes, "%s%s%s%s", opt->file_version == 6 ? "--to dat6 " : "",
		 opt->no_native && !opt->date && !opt->ts_offset_ns ? "--no-native " : "",
		 opt->date ? "--date " : "", offset);
}

void record_output(struct record_run *run)
{
	const struct exporter *to = exporter_find(run->opt.file_version == 6 ? "dat6" : "dat");
	/* the stack may be small */
	static char convert[5 * PATH_MAX], hint[6 * PATH_MAX], words[2][SHELL_WORD_BYTES];
	char flags[64];
	struct reader *r = NULL;
	struct progress p;
	int err;

	convert_flags(&run->opt, flags, sizeof(flags));
	snprintf(convert, sizeof(convert), "vestige convert %s%s %s", flags,
		 shell_word(run->spool_path, words[0]), shell_word(run->opt.output, words[1]));
	snprintf(hint, sizeof(hint),
		 "the recording has ended and is being written to %s. Ctrl-C ends that and loses "
		 "nothing: `%s` writes it later",
		 run->opt.output, convert);
	spool_end(run->spool, time_ns(CLOCK_MONOTONIC));
	progress_begin_after(&p, run->opt.output, hint, run->opt.quiet);
	err = run->opt.native ? reader_open_spool_tables(run->spool_path, &r)
			      : reader_open_spool(run->spool_path, &r);
	if (!err)
		reader_move_stamps(r, run->opt.date, run->opt.ts_offset_ns);
	/* the spool needs no object from then on */
	if (!err && spool_put_symbols(run->spool, r->symbols))
		note("%s: the symbols are read from the program when it is shown", fail_text());
	if (!err && run->kernel_reader) {
		report_kernel(run);
		record_kernel_symbols(r->symbols);
		p.kernel = run->kernel_reader;
	}
	p.live = run->live;
	if (!err)
		err = run->opt.native ? keep_native(run)
				      : progress_write(&p, to, run->opt.no_native, r);
	if (progress_end(&p) && err)
		err = fail(EINTR, "interrupted: %s is not written: `%s` writes it", run->opt.output,
			   convert);
	if (!err && !run->opt.quiet && !run->opt.no_summary && !run->sender)
		sum_up(run, &r);
	reader_close(r);
	if (!err && run->sender)
		send_output(run);
	if (!err) {
		if (!run->opt.native)
			unlink(run->spool_path);
		if (run->kernel_path[0])
			unlink(run->kernel_path);
		return;
	}
	run->ours = true;
	note("%s", fail_text());
	note("what was recorded is in %s: `vestige report %s` reads it", run->spool_path,
	     shell_word(run->spool_path, words[0]));
	if (run->sender)
		note("nothing was sent to %s", run->opt.net);
	if (run->kernel_path[0])
		note("what the kernel recorded is in %s, which `trace-cmd report` reads: `%s` "
		     "writes both into %s",
		     run->kernel_path, convert, run->opt.output);
}
