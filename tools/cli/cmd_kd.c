/* SPDX-License-Identifier: MIT */
/* `vestige kd`: KFT's kd; tools/kft/kd.h. Tests: tests/cli/test_kd.py. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"
#include "tools/cli/view_flags.h"
#include "tools/kft/kd.h"

struct options {
	struct kd_options kd;
	const char *names;
};

static int take_number(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;
	unsigned long long n;
	int err = options_take_number(p, value, 1, UINT32_MAX, "not a number", &n);

	if (err)
		return err;
	if (!strcmp(p->flag->name, "number"))
		opt->kd.first = (unsigned int)n;
	else
		opt->kd.min_ns = n * 1000;
	return 0;
}

static int take_columns(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;

	if (!*value || value[strspn(value, KD_COLUMNS)] || strlen(value) > KD_MAX_COLUMNS)
		return options_bad(
			p,
			"not columns: F function, c count, t time, a average, l local, m "
			"child with the most time, n how often that was called",
			value);
	opt->kd.columns = value;
	return 0;
}

static int take_sort(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;

	if (!*value || value[1] || !strchr(KD_COLUMNS, *value))
		return options_bad(p, "not a column: F, c, t, a, l, m or n", value);
	opt->kd.sort = *value;
	return 0;
}

#define AT(field) offsetof(struct options, field)

static const struct flag flags[] = {
	{'n', "number", "N", "only the first N rows", take_number, 0},
	{'t', "time", "USECS", "only functions (with -c: calls) of at least USECS microseconds",
	 take_number, 0},
	{'f', "format", "COLUMNS",
	 "which columns, by letters: F function, c count, t time, a average, l local time, m the "
	 "child that took the most time, n how often that was called (" KD_USUAL_COLUMNS ")",
	 take_columns, 0},
	{'s', "sort", "COLUMN", "sort by this column (t)", take_sort, 0,
	 (const char *const[]){"F", "c", "t", "a", "l", "m", "n", NULL}},
	{'c', "call-trace", NULL, "print the calls, in the order in which they began", NULL,
	 AT(kd.trace)},
	{'l', "local", NULL, "with -c: local times, too", NULL, AT(kd.locals)},
	{'i', "interlace", NULL,
	 "with -c: interrupts (signal handlers) within the calls that they interrupted, and where "
	 "another thread goes on",
	 NULL, AT(kd.interlace)},
	{0, "json", NULL, "all columns, or with -c the calls, as JSON, times in ns", NULL,
	 AT(kd.json)},
	{0, "names", "FILE",
	 "names for a log's bare addresses: a program, a System.map, or a trace.dat", NULL,
	 AT(names)},
	FLAGS_END};

static int print(const struct options *opt, struct view *v)
{
	struct kd kd = {0};
	struct out o;
	uint8_t marks = 0;
	int err = kd_load(&kd, v, opt->names, opt->kd.trace);

	if (!err && out_init(&o, STDOUT_FILENO))
		err = fail(ENOMEM, "out of memory");
	else if (!err)
		err = out_end_stdout(&o, kd_print(&kd, &opt->kd, &o, &marks), "the table");
	if (!err && (marks & KD_FILTERED))
		note("local times with * may hold time of calls that are not in it, as filters "
		     "left "
		     "them out or they were lost");
	if (!err && (marks & KD_SWITCHED))
		note("local times with ~ hold time in which the thread did not run");
	if (!err && kd.nr_watches && !opt->kd.trace)
		note("%llu lines of stack watches are not counted: -c shows them",
		     (unsigned long long)kd.nr_watches);
	kd_free(&kd);
	return err;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	const char *path = NULL;
	struct view v;
	int err, status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status < 0)
		status = cmd_take_file(c, argc, argv, &path);
	if (status >= 0)
		return status;
	if ((opt.kd.locals || opt.kd.interlace) && !opt.kd.trace)
		return options_wrong(c, "-l and -i are of the call trace: with -c");
	if (opt.kd.trace && (opt.kd.columns || opt.kd.sort))
		return options_wrong(c, "-f and -s are of the table: without -c");
	if (opt.kd.json && (opt.kd.columns || opt.kd.locals || opt.kd.interlace))
		return options_wrong(c, "--json has all columns: leave out -%s",
				     opt.kd.columns  ? "f"
				     : opt.kd.locals ? "l"
						     : "i");
	view_init(&v);
	v.path = path;
	err = print(&opt, &v);
	err = cmd_end(err);
	view_close(&v);
	return err;
}

const struct command command_kd = {
	.name = "kd",
	.words = "[LOG]",
	.what = "a log of KFT, or a recording, by function or call by call",
	.help = "Print where the time went, as KFT's kd does. LOG is a log of KFT or KFI, or any "
		"recording that has calls\n(default: trace.dat). Times are microseconds. A "
		"function's "
		"local time is its time without the calls\nbeneath it; * and ~ mark wrong ones.\n"
		"\n"
		"  vestige kd -n 20 kft.log\n"
		"  vestige kd -s l -f Fcl kft.log\n"
		"  vestige kd -c -l -i --names System.map raw.log\n",
	.flags = (const struct flag *const[]){flags, pager_flags, NULL},
	.run = run,
};
