/* SPDX-License-Identifier: MIT */
/* See view_flags.h. Tests: tests/cli/test_views.py. */
#include "tools/cli/view_flags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/cpu_list.h"
#include "tools/text/duration.h"

#define MOST_CPUS 65536u /* more than a recording has */

static int add_pattern(const struct parsing *p, const char **list, unsigned int *nr,
		       const char *text)
{
	if (!*text)
		return options_bad(p, "not the name of a function", text);
	if (*nr == CALL_FILTER_MAX)
		return options_bad(p, "too many functions, the last is", text);
	list[(*nr)++] = text;
	return 0;
}

int view_take_under(const struct parsing *p, void *to, const char *value)
{
	struct call_wish *w = &((struct view *)to)->wish;

	return add_pattern(p, w->under, &w->nr_under, value);
}

static int take_not_under(const struct parsing *p, void *to, const char *value)
{
	struct call_wish *w = &((struct view *)to)->wish;

	return add_pattern(p, w->not_under, &w->nr_not_under, value);
}

static int take_depth(const struct parsing *p, void *to, const char *value)
{
	struct view *v = to;
	unsigned long long n;
	int status = options_take_number(p, value, 1, UINT32_MAX, "not a number of levels", &n);

	if (!status)
		v->wish.max_depth = (uint32_t)n;
	return status;
}

static int take_time(const struct parsing *p, void *to, const char *value)
{
	struct view *v = to;

	if (!duration_parse(value, 1000, &v->wish.min_ns, NULL))
		return options_bad(p, "not a time, as in 20us", value);
	return 0;
}

/*
 * One end of a range. Without a unit it is a time in seconds as printed; with one it counts from
 * the first record.
 */
static bool parse_end(const char *text, const char **rest, uint64_t *ns, bool *from_start)
{
	size_t n = strspn(text, "0123456789.");

	*from_start = text[n] >= 'a' && text[n] <= 'z';
	return duration_parse(text, UINT64_C(1000000000), ns, rest);
}

static bool parse_range(struct view *v, const char *text)
{
	const char *p = text;

	if (*p != '~' && !parse_end(p, &p, &v->wish.from, &v->range_from_start))
		return false;
	if (*p++ != '~')
		return false;
	if (!*p)
		return p > text + 1;
	return parse_end(p, &p, &v->wish.to, &v->range_to_start) && !*p && v->wish.to &&
	       (v->range_from_start != v->range_to_start || v->wish.from <= v->wish.to);
}

int view_take_range(const struct parsing *p, void *to, const char *value)
{
	return parse_range(to, value) ? 0 : options_bad(p, "not FROM~TO", value);
}

int view_take_tids(const struct parsing *parsing, void *to, const char *value)
{
	struct view *v = to;
	const char *p = value;
	char *end;

	do {
		unsigned long tid = strtoul(p, &end, 10);

		if (*p < '0' || *p > '9' || tid > INT32_MAX || (*end && *end != ',') ||
		    v->wish.nr_tids == CALL_FILTER_MAX)
			return options_bad(parsing, "not numbers of threads", value);
		v->wish.tids[v->wish.nr_tids++] = (int32_t)tid;
		p = end + 1;
	} while (*end);
	return 0;
}

int view_take_cpus(const struct parsing *p, const char **to, const char *value)
{
	bool *cpus = NULL;
	int err = cpu_list_parse(value, MOST_CPUS, &cpus);

	free(cpus);
	if (err == -EINVAL)
		return options_bad(p, "not a list of CPUs, as in 0,2-3", value);
	*to = value;
	return 0;
}

static int take_cpus(const struct parsing *p, void *to, const char *value)
{
	return view_take_cpus(p, &((struct view *)to)->cpu_text, value);
}

int view_take_demangle(const struct parsing *p, void *to, const char *value)
{
	return demangle_parse(value, to) ? 0 : options_bad(p, "not full, short or none", value);
}

static int take_demangle(const struct parsing *p, void *to, const char *value)
{
	return view_take_demangle(p, &((struct view *)to)->demangle, value);
}

static int take_no_demangle(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	(void)value;
	((struct view *)to)->demangle = DEMANGLE_NONE;
	return 0;
}

const struct flag view_flags[] = {
	{'i', "input", "FILE", "the same as FILE", NULL, offsetof(struct view, path)},
	{'F', "filter", "FUNC", "only calls of FUNC and what they call (a glob; may be repeated)",
	 view_take_under, 0},
	{'N', "notrace", "FUNC", "leave out FUNC and what it calls (may be repeated)",
	 take_not_under, 0},
	{'D', "depth", "DEPTH", "only DEPTH levels of calls", take_depth, 0},
	{'t', "time-filter", "TIME", "only calls that took TIME or longer: 500ns, 20us, 1.5ms, 2s",
	 take_time, 0},
	{'r', "time-range", "FROM~TO",
	 "only calls that began in this time: with a unit, since the first record (10ms~20ms), "
	 "without one, seconds of the trace's clock; either may be left out",
	 view_take_range, 0},
	{0, "tid", "LIST", "only these threads: 4711,4712", view_take_tids, 0},
	{0, "cpu", "LIST", "only what these CPUs recorded: 0,2-3", take_cpus, 0},
	{0, "demangle", "HOW",
	 "names of C++ and Rust: full, short (default: parameters and arguments of templates are "
	 "left "
	 "out) or none",
	 take_demangle, 0, demangle_words},
	{0, "no-demangle", NULL, "the same as --demangle none", take_no_demangle, 0},
	{0, "srcline", NULL, "each function's file and line, if its object can be read", NULL,
	 offsetof(struct view, srcline)},
	FLAGS_END};

int view_parse(struct view *v, const struct command *c, void *own, int argc, char **argv)
{
	int status;

	view_init(v);
	status = options_parse(c, (void *[]){v, own}, &argc, &argv);
	/* without a word view_open() uses trace.dat */
	return status < 0 && argc ? cmd_take_file(c, argc, argv, &v->path) : status;
}
