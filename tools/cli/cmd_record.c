/* SPDX-License-Identifier: MIT */
/*
 * vestige record: run a program with the engine in it and write what it did into a trace.dat.
 *
 * Start it and judge it before main(); drain while it runs (recorder.c); when it has ended,
 * transcode the spool. The program's streams, status and signals are its own: what vestige has to
 * say goes to stderr, and a Ctrl-C that the terminal sends to both ends the recording, not the file.
 * Tests: tests/cli/test_record.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/target/areas_dir.h"
#include "tools/cli/cmd.h"
#include "tools/cli/launch.h"
#include "tools/cli/record_text.h"
#include "tools/cli/recorder.h"
#include "tools/export/dat_write.h"
#include "tools/text/duration.h"

#define TICK_NS		 10000000
#define DEFAULT_TOTAL_KB 65536u
#define MAX_KB		 (UINT64_C(1) << 40)
#define ZSTD_LEVEL	 1

struct record_run {
	struct record_options opt;
	struct areas_dir dir;
	struct launch launch;
	struct spool_writer *spool;
	struct recorder *recorder;
	struct recorder_summary sum;
	char spool_path[PATH_MAX];
	char boot[65536];
	char last_comm[16]; /* of the program when it ended */
	int status;	    /* of the program, as exit() gives it */
	bool ended;	    /* the program has */
	bool ours;	    /* we failed */
};

enum {
	FILE_VERSION = 1,
	GRAPH_NOTRACE,
	GRAPH_DEPTH,
	THRESH,
	NO_NATIVE,
	FUNC_ARGS,
	GRAPH_ARGS,
	FIRST_LETTER = 32
};

static const struct option long_options[] = {
	{"file-version", required_argument, NULL, FILE_VERSION},
	{"graph-notrace", required_argument, NULL, GRAPH_NOTRACE},
	{"max-graph-depth", required_argument, NULL, GRAPH_DEPTH},
	{"tracing-thresh", required_argument, NULL, THRESH},
	{"no-native", no_argument, NULL, NO_NATIVE},
	{"func-args", no_argument, NULL, FUNC_ARGS},
	{"funcgraph-args", no_argument, NULL, GRAPH_ARGS},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int usage_error(const char *what, const char *which)
{
	note("record: %s%s (vestige record --help tells the flags)", what, which);
	return CMD_OURS;
}

static bool parse_kb(const char *text, uint64_t *kb)
{
	char *end;

	errno = 0;
	*kb = strtoull(text, &end, 10);
	return !errno && *text >= '0' && *text <= '9' && !*end && *kb && *kb <= MAX_KB;
}

static int add_pattern(struct record_options *opt, char kind, const char *text)
{
	if (!*text || strpbrk(text, "\"\n"))
		return usage_error("not a pattern: ", text);
	if (opt->nr_patterns == RECORD_MAX_PATTERNS)
		return usage_error("too many patterns, the last is ", text);
	opt->patterns[opt->nr_patterns].kind = kind;
	opt->patterns[opt->nr_patterns++].text = text;
	return 0;
}

/* The flags of function_graph. Return: 0 or an exit status. */
static int parse_graph(struct record_options *opt, int c)
{
	char *end;

	switch (c) {
	case GRAPH_NOTRACE:
		return add_pattern(opt, 'G', optarg);
	case GRAPH_DEPTH:
		opt->graph_depth = strtoull(optarg, &end, 10);
		if (*optarg < '0' || *optarg > '9' || *end || !opt->graph_depth ||
		    opt->graph_depth > UINT32_MAX)
			return usage_error("--max-graph-depth: not a number of levels: ", optarg);
		return 0;
	case THRESH:
		if (!duration_parse(optarg, 1000, &opt->thresh_us, NULL) || opt->thresh_us < 1000)
			return usage_error("--tracing-thresh: not a time of 1us or more: ", optarg);
		opt->thresh_us /= 1000;
		return 0;
	default:
		return add_pattern(opt, (char)c, optarg);
	}
}

/* Return: -1 to go on, else an exit status. */
static int parse(struct record_options *opt, int argc, char **argv)
{
	char flag[3] = "-";
	int c;

	*opt = (struct record_options){.output = "trace.dat", .file_version = 7};
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:p:e:l:n:g:b:m:o:O:qh", long_options, NULL)) != -1) {
		switch (c) {
		case 'p':
			opt->tracer = optarg;
			if (!*optarg || strpbrk(optarg, " \t\n\"="))
				return usage_error("-p: not a tracer: ", optarg);
			break;
		case 'e':
		case 'l':
		case 'n':
		case 'g':
		case GRAPH_NOTRACE:
		case GRAPH_DEPTH:
		case THRESH:
			if (parse_graph(opt, c))
				return CMD_OURS;
			break;
		case 'b':
			if (!parse_kb(optarg, &opt->buffer_kb))
				return usage_error("-b: not a number of KB: ", optarg);
			break;
		case 'm':
			if (!parse_kb(optarg, &opt->max_kb))
				return usage_error("-m: not a number of KB: ", optarg);
			break;
		case 'o':
			opt->output = optarg;
			break;
		case 'q':
			opt->quiet = true;
			break;
		case 'O':
			if (!*optarg || strpbrk(optarg, "\"\n ,="))
				return usage_error("-O: not an option: ", optarg);
			/* fall through */
		case FUNC_ARGS:
		case GRAPH_ARGS:
			if (opt->nr_options == RECORD_MAX_OPTIONS)
				return usage_error("too many of -O, the last is ",
						   argv[optind - 1]);
			opt->options[opt->nr_options++] = c == 'O'	   ? optarg
							  : c == FUNC_ARGS ? "func-args"
									   : "funcgraph-args";
			break;
		case FILE_VERSION:
			if (strcmp(optarg, "6") && strcmp(optarg, "7"))
				return usage_error("--file-version: 6 or 7, not ", optarg);
			opt->file_version = optarg[0] - '0';
			break;
		case NO_NATIVE:
			opt->no_native = true;
			break;
		case 'h':
			fputs(record_help, stdout);
			return 0;
		case ':':
			flag[1] = (char)optopt;
			return usage_error(optopt >= FIRST_LETTER ? flag : argv[optind - 1],
					   " wants a value");
		default:
			flag[1] = (char)optopt;
			return usage_error("no such flag: ", optopt > 1 ? flag : argv[optind - 1]);
		}
	}
	if (optind >= argc)
		return usage_error("no program is named: vestige record [FLAGS] -- PROG ARGS", "");
	opt->argv = argv + optind;
	/* who names events wants those, and calls only with -p */
	for (unsigned int i = 0; i < opt->nr_patterns && !opt->tracer; i++)
		if (opt->patterns[i].kind == 'e')
			opt->tracer = "nop";
	if (!opt->tracer)
		opt->tracer = "function";
	return -1;
}

/* VESTIGE_BOOT, in the kernel's names of boot parameters. */
static int make_boot(struct record_run *run)
{
	static const struct {
		char kind;
		const char *param;
	} lists[] = {{'e', "trace_event"},
		     {'l', "ftrace_filter"},
		     {'n', "ftrace_notrace"},
		     {'g', "ftrace_graph_filter"},
		     {'G', "ftrace_graph_notrace"}};
	const struct record_options *opt = &run->opt;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	FILE *f = fmemopen(run->boot, sizeof(run->boot), "w");

	if (!f)
		return fail(ENOMEM, "no memory");
	if (!run->opt.buffer_kb)
		run->opt.buffer_kb = DEFAULT_TOTAL_KB / (uint64_t)(cpus > 0 ? cpus : 1);
	if (run->opt.buffer_kb < 64)
		run->opt.buffer_kb = 64;
	fprintf(f, "ftrace=%s", opt->tracer);
	for (unsigned int k = 0; k < sizeof(lists) / sizeof(*lists); k++) {
		const char *between = "";

		for (unsigned int i = 0; i < opt->nr_patterns; i++) {
			if (opt->patterns[i].kind != lists[k].kind)
				continue;
			if (!*between)
				fprintf(f, " %s=\"", lists[k].param);
			fprintf(f, "%s%s", between, opt->patterns[i].text);
			between = ",";
		}
		if (*between)
			fputc('"', f);
	}
	if (opt->graph_depth)
		fprintf(f, " ftrace_graph_max_depth=%" PRIu64, opt->graph_depth);
	if (opt->thresh_us)
		fprintf(f, " tracing_thresh=%" PRIu64, opt->thresh_us);
	fprintf(f, " trace_buf_size=%" PRIu64 "k trace_options=nooverwrite", opt->buffer_kb);
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

static void progress(void *arg, uint64_t records)
{
	const struct record_run *run = arg;

	fprintf(stderr, "\rvestige: writing %s: %" PRIu64 " events ", run->opt.output, records);
}

/* Spool to trace.dat. Where it fails, the spool stays and is named. */
static void transcode(struct record_run *run)
{
	struct dat_options dat = {.version = run->opt.file_version,
				  .zstd_level = ZSTD_LEVEL,
				  .native = !run->opt.no_native};
	bool tty = isatty(STDERR_FILENO) && !run->opt.quiet;
	struct reader *r;
	int err;

	if (tty) {
		dat.progress = progress;
		dat.progress_arg = run;
	}
	err = reader_open(run->spool_path, &r);
	if (!err) {
		err = dat_write(run->opt.output, r, &dat);
		if (tty)
			fputs("\r\033[K", stderr);
		if (!err && !run->opt.quiet)
			record_print_stats(r);
		reader_close(r);
	}
	if (!err) {
		unlink(run->spool_path);
		return;
	}
	run->ours = true;
	note("%s", fail_text());
	note("what was recorded is in %s: `vestige report %s` reads it", run->spool_path,
	     run->spool_path);
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

static int run_it(struct record_run *run, int signals)
{
	int err;

	err = recorder_new(run->dir.fd, run->launch.session, run->spool, &run->recorder);
	if (err)
		return err;
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
	if (spool_failed(run->spool)) {
		if (!run->ours)
			note("%s", fail_text());
		run->ours = true;
	}
	return 0;
}

static uint64_t mono_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int record(struct record_run *run)
{
	sigset_t block;
	int signals, err;

	err = launch_find(&run->launch, run->opt.argv[0]);
	if (err)
		return err;
	err = areas_dir_open(&run->dir);
	if (err)
		return fail(EIO, "%s", fail_text());
	err = make_boot(run);
	if (!err)
		err = make_spool(run);
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
	/* Ctrl-\ is the program's. */
	signal(SIGQUIT, SIG_IGN);
	err = run_it(run, signals);
	close(signals);
	if (err) {
		unlink(run->spool_path);
		return err == -EACCES ? err : fail(EIO, "%s", fail_text());
	}
	spool_end(run->spool, mono_now_ns());
	spool_close_writer(run->spool);
	run->spool = NULL;
	transcode(run);
	if (record_tell(&run->opt, &run->launch, &run->sum, run->last_comm))
		run->ours = true;
	return 0;
}

int cmd_record(int argc, char **argv)
{
	static struct record_run run;
	int status, err;

	run.dir.fd = -1;
	status = parse(&run.opt, argc, argv);
	if (status >= 0)
		return status;
	err = record(&run);
	if (err)
		note("%s", fail_text());
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
