/* SPDX-License-Identifier: MIT */
/*
 * `vestige sched`: the command; text/sched_text.c prints. `sched record` is `record` with the
 * events that the views are made of. Tests: tests/cli/test_sched.py.
 */
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"

#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/cli/view_flags.h"
#include "tools/code/symbols.h"
#include "tools/reader/joined.h"
#include "tools/record/record.h"
#include "tools/text/sched_text.h"

static const char *const views[] = {
	[SCHED_LATENCY] = "latency", [SCHED_MAP] = "map",	[SCHED_TIMEHIST] = "timehist",
	[SCHED_WAITS] = "waits",     [SCHED_OFFCPU] = "offcpu",
};

static const struct flag record_flags[] = {
	{'o', NULL, "FILE", "output (default: trace.dat)", NULL,
	 offsetof(struct record_options, output)},
	{'q', NULL, NULL, "no statistics at the end, and no line while the file is written", NULL,
	 offsetof(struct record_options, quiet)},
	FLAGS_END};

static int run_record(const struct command *c, int argc, char **argv)
{
	static const char *const events[] = {
		"sched_switch", "sched_waking", "sched_wakeup_new", "sched_stat_runtime",
		"lock",		"raw_syscalls", "files:descriptor"};
	/* without privilege events that need the kernel's tracepoints are refused */
	unsigned int nr = sizeof(events) / sizeof(*events);
	static struct record_options opt;
	int status;

	opt = (struct record_options){.output = "trace.dat", .file_version = 7, .tracer = "nop"};
	status = options_parse(c, (void *[]){&opt}, &argc, &argv);
	if (status >= 0)
		return status;
	if (!argc)
		return options_wrong(c, "no program is named: vestige sched record -- PROG ARGS");
	for (unsigned int i = 0; i < nr; i++) {
		if (geteuid() && i > 0 && i < 4)
			continue;
		opt.patterns[opt.nr_patterns].kind = 'e';
		opt.patterns[opt.nr_patterns++].text = events[i];
	}
	opt.options[opt.nr_options++] = "stacktrace";
	opt.argv = argv;
	return record(&opt);
}

static const struct command record_command = {
	.name = "sched record",
	.words = "[--] PROG [ARGS]",
	.help = "Run PROG and record what `vestige sched` shows: context switches and wakings, "
		"locks,\nsystem calls, with stacks. PROG needs no flag of the compiler. Only root "
		"gets the kernel's wakings.\n",
	.more = "The exit status is PROG's; 125 vestige failed, 126 PROG cannot be executed, 127 "
		"no\n"
		"PROG.\n",
	.flags = (const struct flag *const[]){record_flags, NULL},
	.runs_program = true,
	.usage_status = CMD_OURS,
	.run = run_record,
};

struct options {
	const char *path;
	enum demangle how;
	bool json;
};

static int take_demangle(const struct parsing *p, void *to, const char *value)
{
	return view_take_demangle(p, &((struct options *)to)->how, value);
}

static const struct flag flags[] = {
	{'i', "input", "FILE", "the same as FILE", NULL, offsetof(struct options, path)},
	{0, "demangle", "HOW", "names of C++ and Rust: short (default), full or none",
	 take_demangle, 0, demangle_words},
	{0, "json", NULL, "the rows as JSON, with times in nanoseconds; not of map", NULL,
	 offsetof(struct options, json)},
	FLAGS_END};

static int show(const struct options *opt, enum sched_view view)
{
	struct reader *r;
	struct out o;
	int ret = reader_open(opt->path ? opt->path : "trace.dat", &r);

	/* a recording of `record -k` has the switches in the kernel's buffer */
	if (!ret)
		ret = reader_join(r, &r);
	if (ret)
		return ret;
	symbols_demangle(r->symbols, opt->how);
	ret = out_init(&o, STDOUT_FILENO);
	if (ret)
		ret = fail(-ret, "out of memory for the output");
	else
		ret = out_end_stdout(&o, sched_print(r, view, opt->json, &o), "the view");
	reader_close(r);
	return ret;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {.how = DEMANGLE_SHORT};
	unsigned int view = 0;
	int status;

	if (argc > 1 && !strcmp(argv[1], "record"))
		return run_record(&record_command, argc - 1, argv + 1);
	status = options_parse(c, (void *[]){&opt}, &argc, &argv);
	if (status >= 0)
		return status;
	if (argc) {
		while (view < sizeof(views) / sizeof(*views) && strcmp(views[view], argv[0]))
			view++;
		if (view < sizeof(views) / sizeof(*views)) {
			argc--;
			argv++;
		} else if (argc == 1 && !access(argv[0], F_OK)) {
			view = 0;
		} else {
			return options_wrong(c,
					     "%s is no file and none of latency, map, timehist, "
					     "waits, offcpu, record",
					     argv[0]);
		}
	}
	status = cmd_take_file(c, argc, argv, &opt.path);
	if (status >= 0)
		return status;
	if (opt.json && view == SCHED_MAP)
		return options_wrong(c, "--json: map is a picture, timehist has its facts");
	return cmd_end(show(&opt, (enum sched_view)view));
}

const struct command command_sched = {
	.name = "sched",
	.words = "[latency|map|timehist|waits|offcpu] [FILE]",
	.what = "show when threads ran and waited, and why",
	.help = "Print from FILE (a trace.dat, a spool or an area; default: trace.dat) what its "
		"threads\ndid:\n  latency   each thread: time running, runnable and blocked; its "
		"delays from\n            a wakeup or a preemption until it ran (default)\n  map   "
		"    which thread was on which CPU, a line a context switch\n  timehist  each stay "
		"on a CPU, what was before it, and why it ended\n  waits     blocked time by "
		"thread and reason: the lock and its holder, the\n            system call, sleep, "
		"page fault\n  offcpu    blocked time in microseconds by stack, reason and waker, "
		"as folded\n            lines for flame graphs\n",
	.more = "`vestige sched record [-o FILE] [-q] [--] PROG [ARGS]` records the events\nfor "
		"this.\n",
	.flags = (const struct flag *const[]){flags, pager_flags, NULL},
	.run = run,
};
