/* SPDX-License-Identifier: MIT */
/*
 * `vestige profile`: the command. text/profile_graph.c prints the time of each function;
 * text/profile_hits.c, for function records, the number of calls. Tests: tests/cli.
 */
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"

#include <string.h>

#include "tools/cli/view_flags.h"
#include "tools/text/profile_graph.h"
#include "tools/text/profile_hits.h"

static int take_sort(const struct parsing *parsing, void *to, const char *value)
{
	struct profile_options *opt = to;
	const char *p = value;

	opt->nr_keys = 0;
	for (;; p++) {
		size_t n = strcspn(p, ",");
		unsigned int k = 0;

		while (k < SORT_NR &&
		       (strlen(call_sort_names[k]) != n || strncmp(p, call_sort_names[k], n)))
			k++;
		if (n == 4 && !strncmp(p, "hits", n))
			k = SORT_CALLS;
		if (k == SORT_NR || opt->nr_keys == PROFILE_MAX_KEYS)
			return options_bad(parsing, "not something to sort by", value);
		opt->keys[opt->nr_keys++] = (enum call_sort)k;
		p += n;
		if (!*p)
			return 0;
	}
}

static const char *const by_words[] = {"function", "thread", "object", NULL};

static int take_by(const struct parsing *p, void *to, const char *value)
{
	struct profile_options *opt = to;

	for (unsigned int i = 0; by_words[i]; i++) {
		if (!strcmp(value, by_words[i])) {
			opt->by = (enum call_table_by)i;
			return 0;
		}
	}
	return options_bad(p, "not function, thread or object", value);
}

static int take_top(const struct parsing *p, void *to, const char *value)
{
	struct profile_options *opt = to;
	unsigned long long n;
	int status = options_take_number(p, value, 1, SIZE_MAX, "not a number of rows", &n);

	if (!status)
		opt->top = n;
	return status;
}

static const struct flag flags[] = {
	{'s', "sort", "KEY",
	 "self (default), total, suspended, calls, avg, min, max, p50, p90, p99, tid, name; "
	 "several with "
	 "commas. "
	 "Without times: hits (default) or name",
	 take_sort, 0, call_sort_names},
	{0, "by", "WHAT", "a row for each function (default), thread or object", take_by, 0,
	 by_words},
	{0, "threads", NULL, "a row for each function of each thread", NULL,
	 offsetof(struct profile_options, threads)},
	{0, "diff", "OLD",
	 "what has changed since OLD, another recording; threads are matched by their names", NULL,
	 offsetof(struct profile_options, diff)},
	{0, "top", "N", "only the first N rows", take_top, 0},
	{0, "callers", NULL, "under each function its callers", NULL,
	 offsetof(struct profile_options, callers)},
	{0, "json", NULL, "the table as JSON, times in nanoseconds", NULL,
	 offsetof(struct profile_options, json)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct profile_options opt = {0};
	struct view v;
	int status = view_parse(&v, c, &opt, argc, argv), ret;

	if (status >= 0)
		return status;
	if (opt.callers && (opt.by != TABLE_BY_FUNCTION || opt.threads || opt.diff))
		return options_wrong(c, "only a plain table of functions has --callers");
	ret = view_open(&v);
	if (!ret)
		ret = v.r->graph ? profile_graph(&v, &opt) : profile_hits_print(&v, &opt);
	ret = cmd_end(ret);
	view_close(&v);
	return ret;
}

const struct command command_profile = {
	.name = "profile",
	.words = "[FILE]",
	.what = "show where a recording's time went, by function",
	.help = "Print which functions of FILE (a trace.dat, a spool or an area; default: "
		"trace.dat) took\nthe time: their own time, their total time, the number of calls, "
		"and the average,\npercentiles and maximum of a call. A recording by -p function "
		"has no times: it gives\nthe number of calls.\nWhere stacks of coroutines or "
		"signal handlers were suspended, SUSPENDED is the\ntime in which the function was "
		"the innermost call of such a stack. TOTAL includes\nit, SELF does not.\n",
	.flags = (const struct flag *const[]){view_flags, flags, pager_flags, NULL},
	.run = run,
};
