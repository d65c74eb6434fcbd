/* SPDX-License-Identifier: MIT */
/*
 * See record.h: run a program with the engine in it and write what it did into a trace.dat.
 *
 * Look up names in its files, start it once and judge it before main(); drain while it runs
 * (recorder.c); when it has ended, write the output of the spool. The program's streams, status and
 * signals are its own. vestige prints to stderr, and a Ctrl-C that the terminal sends to both ends
 * the recording; the file is still written. Tests: tests/cli/test_record.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/limits.h"
#include "tools/base/exit_status.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/shell_word.h"
#include "tools/base/time_ns.h"
#include "tools/code/symbols.h"
#include "tools/export/exporter.h"
#include "tools/record/kernel.h"
#include "tools/record/launch.h"
#include "tools/record/program_objects.h"
#include "tools/record/progress.h"
#include "tools/record/record.h"
#include "tools/record/record_text.h"
#include "tools/record/recorder.h"
#include "tools/target/areas_dir.h"
#include "tools/target/function_names.h"

#define TICK_NS		 10000000
#define DEFAULT_TOTAL_KB 65536u
#define BOOT_BYTES	 (124 * 1024) /* the kernel takes 128 KiB for a variable */

struct record_run {
	struct record_options opt;
	struct areas_dir dir;
	struct launch launch;
	struct spool_writer *spool;
	struct recorder *recorder;
	struct kernel_record *kernel; /* NULL: the program alone */
	struct reader *kernel_reader;
	char kernel_path[PATH_MAX]; /* of its trace.dat; "" none */
	struct recorder_summary sum;
	char spool_path[PATH_MAX];
	char boot[BOOT_BYTES];
	char unmodified[BOOT_BYTES]; /* names of objects, see hook/redirect.h */
	char last_comm[16];	     /* of the program when it ended */
	int status;		     /* of the program, as exit() gives it */
	bool ended;		     /* the program has */
	bool ours;		     /* we failed */
};

/* The program's objects, and those that a pattern names: `FUNC:mod:OBJECT`. */
static void name_unmodified(struct record_run *run)
{
	size_t n = (size_t)snprintf(run->unmodified, sizeof(run->unmodified), "1");

	for (unsigned int i = 0; i < run->opt.nr_patterns; i++) {
		const char *at = run->opt.patterns[i].text;

		while (run->opt.patterns[i].kind != 'e' && (at = strstr(at, ":mod:"))) {
			size_t bytes;

			at += strlen(":mod:");
			bytes = strcspn(at, ", ");
			if (n + bytes + 4 > sizeof(run->unmodified))
				return;
			n += (size_t)sprintf(run->unmodified + n, ",%.*s*", (int)bytes, at);
		}
	}
}

/*
 * Where a pattern is a name of the C++ or Rust source: the names in the program's objects in its
 * place, by their files. Return: 0, or -errno with fail() set.
 */
static int name_functions(struct record_run *run)
{
	bool any = false;
	struct meta *m;
	int err;

	for (unsigned int i = 0; i < run->opt.nr_patterns; i++)
		any |= run->opt.patterns[i].kind != 'e';
	err = any ? program_objects(&run->launch, &m) : 0;
	if (err || !any)
		return err;
	for (unsigned int i = 0; i < run->opt.nr_patterns && !err; i++) {
		char word[512], *names;

		if (run->opt.patterns[i].kind == 'e')
			continue;
		err = function_names_boot(m, run->opt.patterns[i].text, &names);
		/* for as long as this process */
		if (!err)
			run->opt.patterns[i].names = names;
		if (err != -ENOENT)
			continue;
		snprintf(word, sizeof(word), "%s", fail_text());
		if (m->nr_functions)
			err = fail(EINVAL, RECORD_NO_FUNCTION, word, run->opt.argv[0]);
		else
			err = fail(EINVAL,
				   "%s has no function that can be traced, and for programs that "
				   "it executes %s has to be named as their objects have it: "
				   "`vestige list -f` shows both names",
				   run->launch.image, word);
	}
	meta_free(m);
	return err;
}

const struct record_param record_params[RECORD_NR_PARAMS] = {{'e', "trace_event"},
							     {'l', "ftrace_filter"},
							     {'n', "ftrace_notrace"},
							     {'g', "ftrace_graph_filter"},
							     {'G', "ftrace_graph_notrace"}};

/* VESTIGE_BOOT, in the kernel's names of boot parameters. */
static int make_boot(struct record_run *run)
{
	const struct record_options *opt = &run->opt;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t most;
	FILE *f = fmemopen(run->boot, sizeof(run->boot), "w");

	if (!f)
		return fail(ENOMEM, "no memory");
	if (!run->opt.buffer_kb)
		run->opt.buffer_kb = DEFAULT_TOTAL_KB / (uint64_t)(cpus > 0 ? cpus : 1);
	if (run->opt.buffer_kb < 64)
		run->opt.buffer_kb = 64;
	most = LIMIT_BUFFER_BYTES / 1024 / (uint64_t)(cpus > 0 ? cpus : 1);
	if (run->opt.buffer_kb > most) {
		fclose(f);
		return fail(EINVAL,
			    "-b %" PRIu64 ": the buffer of a CPU can have %" PRIu64
			    " KB at most on this machine",
			    run->opt.buffer_kb, most);
	}
	fprintf(f, "ftrace=%s", opt->tracer);
	if (opt->boot)
		fprintf(f, " %s", opt->boot);
	for (unsigned int k = 0; k < RECORD_NR_PARAMS; k++) {
		const char *between = "";

		for (unsigned int i = 0; i < opt->nr_patterns; i++) {
			if (opt->patterns[i].kind != record_params[k].kind)
				continue;
			if (!*between)
				fprintf(f, " %s=\"", record_params[k].name);
			fprintf(f, "%s%s", between,
				opt->patterns[i].names ? opt->patterns[i].names
						       : opt->patterns[i].text);
			between = ",";
		}
		if (*between)
			fputc('"', f);
	}
	if (opt->graph_depth)
		fprintf(f, " ftrace_graph_max_depth=%" PRIu64, opt->graph_depth);
	if (opt->thresh_us)
		fprintf(f, " tracing_thresh=%" PRIu64, opt->thresh_us);
	if (opt->budget)
		fprintf(f, " guard_budget=%" PRIu64, opt->budget);
	fprintf(f, " trace_buf_size=%" PRIu64 "k trace_options=nooverwrite%s", opt->buffer_kb,
		opt->budget ? ",guard" : "");
	for (unsigned int i = 0; i < opt->nr_options; i++)
		fprintf(f, ",%s", opt->options[i]);
	if (fflush(f) || ftell(f) >= (long)sizeof(run->boot) - 1) {
		fclose(f);
		return fail(
			E2BIG,
			"the patterns of -e, -l, -n, -g and --graph-notrace are too long together");
	}
	fclose(f);
	return 0;
}

static int make_spool(struct record_run *run)
{
	char cmdline[256] = "", *at = cmdline;
	struct stat st;

	if (!stat(run->opt.output, &st) && !S_ISREG(st.st_mode))
		return fail(EINVAL, "%s is not a regular file: name another one with -o",
			    run->opt.output);
	if (snprintf(run->spool_path, PATH_MAX, "%s.spool.%d", run->opt.output, getpid()) >=
	    PATH_MAX)
		return fail(ENAMETOOLONG, "%s is too long a name", run->opt.output);
	for (char **a = run->opt.argv; *a && at < cmdline + sizeof(cmdline) - 1; a++)
		at += snprintf(at, (size_t)(cmdline + sizeof(cmdline) - at), "%s%s",
			       at > cmdline ? " " : "", *a);
	unlink(run->spool_path);
	if (spool_create(run->spool_path, cmdline, run->opt.max_kb, &run->spool))
		return fail(EIO, "%s (say with -o where %s may be written)", fail_text(),
			    run->opt.output);
	return 0;
}

static void forward(struct record_run *run, int fd)
{
	struct signalfd_siginfo si;
	static int interrupts;

	while (read(fd, &si, sizeof(si)) == sizeof(si)) {
		int sig = (int)si.ssi_signo;

		if (sig == SIGCHLD)
			continue;
		/* From the terminal the program has got it too. */
		if (si.ssi_code != SI_KERNEL)
			kill(run->launch.pid, sig);
		if (sig == SIGINT && ++interrupts == 2) {
			note("the recording ends; %s still runs", run->launch.path);
			run->status = 128 + SIGINT;
			run->ended = true;
		}
	}
}

/* Has the program ended? Its last name tells whether it executed something else. */
static void reap(struct record_run *run)
{
	siginfo_t si = {0};
	int status;

	if (run->ended || waitid(P_PID, (id_t)run->launch.pid, &si, WEXITED | WNOHANG | WNOWAIT) ||
	    !si.si_pid)
		return;
	launch_start_time(run->launch.pid, run->last_comm);
	if (waitpid(run->launch.pid, &status, 0) == run->launch.pid) {
		run->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		run->ended = true;
	}
}

static int drain_until_end(struct record_run *run, int signals)
{
	struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	bool told = false;

	if (timer < 0 || timerfd_settime(timer, 0, &every, NULL))
		return fail_errno(errno, "cannot make a timer");
	while (!run->ended) {
		struct pollfd fds[] = {{timer, POLLIN, 0}, {signals, POLLIN, 0}};
		uint64_t ticks;

		if (!recorder_tick(run->recorder))
			poll(fds, 2, 1000);
		if (run->kernel && kernel_record_drain(run->kernel) && !run->ours) {
			run->ours = true;
			note("%s", fail_text());
		}
		if (read(timer, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
			break;
		forward(run, signals);
		reap(run);
		if (spool_failed(run->spool) && !told) {
			told = true;
			run->ours = true;
			note("%s: the recording stops, what is recorded so far is kept; the "
			     "program runs on",
			     fail_text());
		}
	}
	close(timer);
	return 0;
}

/* The spool takes the output's place, with the permissions of a new file. */
static int keep_native(const struct record_run *run)
{
	char *target = realpath(run->opt.output, NULL);
	const char *output = target ? target : run->opt.output;
	mode_t mask = umask(0);
	int err = 0;

	umask(mask);
	if (chmod(run->spool_path, 0666 & ~mask) || rename(run->spool_path, output))
		err = fail_errno(errno, "cannot write '%s'", run->opt.output);
	free(target);
	return err;
}

/* Of the native form, which is complete, the records are counted for it. */
static void print_stats(const struct record_run *run, struct reader **r)
{
	if (run->opt.native) {
		reader_close(*r);
		*r = NULL;
		if (reader_open_spool(run->opt.output, r)) {
			note("no statistics: %s", fail_text());
			return;
		}
	}
	record_print_stats(*r);
}

/* The names of the kernel's functions, for its events that tell addresses. */
static void add_kernel_symbols(struct symbols *s)
{
	FILE *f = fopen("/proc/kallsyms", "re"), *mem;
	char part[65536], *text = NULL;
	size_t bytes = 0, n;

	if (!f)
		return;
	mem = open_memstream(&text, &bytes);
	while (mem && (n = fread(part, 1, sizeof(part), f)) > 0)
		fwrite(part, 1, n, mem);
	fclose(f);
	if (!mem || fclose(mem))
		return;
	/* who may not know them is told 0 */
	if (strstr(text, "\nf"))
		symbols_add_kallsyms(s, text, bytes);
	free(text);
}

/* What is said of the kernel's part at the end. */
static void tell_kernel(struct record_run *run)
{
	uint64_t bracket, off, lost = kernel_record_lost(run->kernel);
	int err = kernel_record_check(run->kernel, run->kernel_reader, &bracket, &off);

	if (err == -ENOENT)
		note("the kernel's clock was not compared: its buffer has lost the marks");
	else if (off)
		note("the kernel's stamps are up to %" PRIu64 " ns off", off);
	if (lost)
		note("the kernel's buffer lost %" PRIu64 " events", lost);
	if (!err && !run->opt.quiet && !run->opt.no_statistics)
		fprintf(stderr, "kernel clock: within %" PRIu64 " ns\n", bracket + off);
}

/* What was recorded becomes the output. Where that fails, the spool stays and is named. */
static void make_output(struct record_run *run)
{
	const struct exporter *to = exporter_find(run->opt.file_version == 6 ? "dat6" : "dat");
	char convert[5 * PATH_MAX], hint[6 * PATH_MAX];
	char words[2][SHELL_WORD_BYTES];
	struct reader *r = NULL;
	struct progress p;
	int err;

	snprintf(convert, sizeof(convert), "vestige convert %s%s %s",
		 run->opt.file_version == 6 ? "--to dat6 " : "",
		 shell_word(run->spool_path, words[0]), shell_word(run->opt.output, words[1]));
	snprintf(hint, sizeof(hint),
		 "the recording has ended and is being written to %s. Ctrl-C ends that and loses "
		 "nothing: `%s` writes it later",
		 run->opt.output, convert);
	progress_begin(&p, run->opt.output, hint, run->opt.quiet);
	err = run->opt.native ? reader_open_spool_tables(run->spool_path, &r)
			      : reader_open_spool(run->spool_path, &r);
	/* the spool needs no object from then on */
	if (!err && spool_put_symbols(run->spool, r->symbols))
		note("%s: the symbols are read from the program when it is shown", fail_text());
	if (!err && run->kernel_reader) {
		tell_kernel(run);
		add_kernel_symbols(r->symbols);
		p.kernel = run->kernel_reader;
	}
	if (!err)
		err = run->opt.native ? keep_native(run)
				      : progress_write(&p, to, run->opt.no_native, r);
	if (progress_end(&p) && err)
		err = fail(EINTR, "interrupted: %s is not written: `%s` writes it", run->opt.output,
			   convert);
	if (!err && !run->opt.quiet && !run->opt.no_statistics)
		print_stats(run, &r);
	reader_close(r);
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
	if (run->kernel_path[0])
		note("what the kernel recorded is in %s, which `trace-cmd report` reads, too",
		     run->kernel_path);
}

/* Hold the program before main() and see whether there is anything to record. */
static int start(struct record_run *run)
{
	struct launch *l = &run->launch;
	const struct meta *m;
	int err;

	err = launch_start(l, run->opt.argv, false);
	if (err)
		return err;
	if (l->ended) {
		/* The loader did not come to the entry: it has said why. */
		run->status =
			WIFEXITED(l->status) ? WEXITSTATUS(l->status) : 128 + WTERMSIG(l->status);
		run->ended = true;
		return 0;
	}
	if (l->at_entry) {
		m = recorder_meta(run->recorder, l->pid);
		err = record_judge(&run->opt, l, m);
		if (err)
			return err;
	}
	launch_go(l);
	return 0;
}

/* The kernel's part ends: the program's stays whole, whatever becomes of it. */
static void end_kernel(struct record_run *run)
{
	int err;

	if (snprintf(run->kernel_path, sizeof(run->kernel_path), "%s.kernel", run->spool_path) >=
	    (int)sizeof(run->kernel_path))
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

static int run_it(struct record_run *run, int signals)
{
	int err;

	err = recorder_new(run->dir.fd, run->launch.session, run->spool, &run->recorder);
	if (err)
		return err;
	if (run->kernel)
		err = kernel_record_start(run->kernel);
	if (!err)
		err = start(run);
	if (!err && !run->ended)
		err = drain_until_end(run, signals);
	if (err) {
		char why[1024];

		snprintf(why, sizeof(why), "%s", fail_text());
		launch_kill(&run->launch);
		recorder_finish(run->recorder, &run->sum);
		return fail(-err, "%s", why);
	}
	recorder_finish(run->recorder, &run->sum);
	if (run->kernel)
		end_kernel(run);
	if (spool_failed(run->spool)) {
		if (!run->ours)
			note("%s", fail_text());
		run->ours = true;
	}
	return 0;
}

static int record_program(struct record_run *run)
{
	sigset_t block;
	int signals, err;

	err = launch_find(&run->launch, run->opt.argv[0]);
	if (err)
		return err;
	err = areas_dir_open(&run->dir);
	if (err)
		return fail(EIO, "%s", fail_text());
	if (run->opt.unmodified) {
		name_unmodified(run);
		run->launch.unmodified = run->unmodified;
	}
	err = name_functions(run);
	if (!err)
		err = make_boot(run);
	if (!err)
		err = make_spool(run);
	if (!err && run->opt.kernel) {
		err = kernel_record_new(run->opt.kernel_events, run->opt.nr_kernel_events,
					run->opt.output, &run->kernel);
		if (err)
			unlink(run->spool_path);
	}
	if (err)
		return fail(EIO, "%s", fail_text());
	run->launch.areas_dir = run->dir.path;
	run->launch.boot = run->boot;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, NULL);
	signals = signalfd(-1, &block, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals < 0)
		return fail(EIO, "cannot read signals: %s", strerror(errno));
	launch_ignore();
	err = run_it(run, signals);
	close(signals);
	if (err) {
		unlink(run->spool_path);
		return err == -EACCES ? err : fail(EIO, "%s", fail_text());
	}
	spool_end(run->spool, time_ns(CLOCK_MONOTONIC));
	make_output(run);
	if (record_tell(&run->opt, &run->launch, &run->sum, run->last_comm))
		run->ours = true;
	return 0;
}

int record(const struct record_options *opt)
{
	static struct record_run run;
	int err;

	run.opt = *opt;
	run.dir.fd = -1;
	err = record_program(&run);
	if (err)
		note("%s", fail_text());
	reader_close(run.kernel_reader);
	kernel_record_free(run.kernel);
	recorder_free(run.recorder);
	spool_close_writer(run.spool);
	areas_dir_close(&run.dir);
	if (err == -ENOENT)
		return CMD_NOT_FOUND;
	if (err == -EACCES)
		return CMD_CANNOT_EXEC;
	if (err)
		return CMD_OURS;
	return run.status ? run.status : run.ours ? CMD_OURS : 0;
}
