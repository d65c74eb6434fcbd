/* SPDX-License-Identifier: MIT */
/* See view.h. Tests: tests/cli/test_views.py. */
#include "tools/cli/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/runs.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/cpu_list.h"
#include "tools/reader/srcline.h"
#include "tools/text/value_text.h"
#include "tools/reader/symbols.h"
#include "tools/text/duration.h"

void view_init(struct view *v, const char *command)
{
	memset(v, 0, sizeof(*v));
	v->command = command;
	v->demangle = DEMANGLE_SHORT;
}

int view_bad(const struct view *v, const char *what, const char *word)
{
	note("%s: %s '%s'; see `vestige %s --help`", v->command, what, word, v->command);
	return CMD_USAGE;
}

static int add_pattern(struct view *v, const char **list, unsigned int *nr, const char *text)
{
	if (!*text)
		return view_bad(v, "not the name of a function:", text);
	if (*nr == CALL_FILTER_MAX)
		return view_bad(v, "too many functions, the last is", text);
	list[(*nr)++] = text;
	return 0;
}

/* One end of a range. Without a unit it is seconds, and no time since the first record. */
static bool parse_end(const char *text, const char **rest, uint64_t *ns, bool *from_start)
{
	size_t n = strspn(text, "0123456789.");

	*from_start = text[n] >= 'a' && text[n] <= 'z';
	return duration_parse(text, UINT64_C(1000000000), ns, rest);
}

static int parse_range(struct view *v, const char *text)
{
	const char *p = text;

	if (*p != '~' && !parse_end(p, &p, &v->wish.from, &v->range_from_start))
		return view_bad(v, "-r takes FROM~TO, not", text);
	if (*p != '~')
		return view_bad(v, "-r takes FROM~TO, not", text);
	p++;
	if (!*p)
		return p > text + 1 ? 0 : view_bad(v, "-r takes FROM~TO, not", text);
	if (!parse_end(p, &p, &v->wish.to, &v->range_to_start) || *p || !v->wish.to)
		return view_bad(v, "-r takes FROM~TO, not", text);
	return 0;
}

static int parse_tids(struct view *v, const char *text)
{
	const char *p = text;
	char *end;

	do {
		unsigned long tid = strtoul(p, &end, 10);

		if (*p < '0' || *p > '9' || tid > INT32_MAX || (*end && *end != ',') ||
		    v->wish.nr_tids == CALL_FILTER_MAX)
			return view_bad(v, "--tid takes numbers of threads, not", text);
		v->wish.tids[v->wish.nr_tids++] = (int32_t)tid;
		p = end + 1;
	} while (*end);
	return 0;
}

int view_option(struct view *v, int c, char **argv)
{
	struct call_wish *w = &v->wish;
	unsigned long depth;
	char *end;

	switch (c) {
	case 'i':
		v->path = optarg;
		return 0;
	case 'F':
		return add_pattern(v, w->under, &w->nr_under, optarg);
	case 'N':
		return add_pattern(v, w->not_under, &w->nr_not_under, optarg);
	case 'D':
		depth = strtoul(optarg, &end, 10);
		if (*optarg < '0' || *optarg > '9' || *end || !depth || depth > UINT32_MAX)
			return view_bad(v, "-D takes a number of levels, not", optarg);
		w->max_depth = (uint32_t)depth;
		return 0;
	case 't':
		if (!duration_parse(optarg, 1000, &w->min_ns, NULL))
			return view_bad(v, "-t takes a time, as in 20us, not", optarg);
		return 0;
	case 'r':
		return parse_range(v, optarg);
	case VIEW_CPU:
		v->cpu_text = optarg;
		return 0;
	case VIEW_TID:
		return parse_tids(v, optarg);
	case VIEW_DEMANGLE:
		if (!demangle_parse(optarg, &v->demangle))
			return view_bad(v, "--demangle is full, short or none, not", optarg);
		return 0;
	case VIEW_NO_DEMANGLE:
		v->demangle = DEMANGLE_NONE;
		return 0;
	case VIEW_SRCLINE:
		v->srcline = true;
		return 0;
	case ':':
		return view_bad(v, "a value is missing behind", argv[optind - 1]);
	default:
		return view_bad(v, "unknown option", argv[optind - 1]);
	}
}

int view_open(struct view *v)
{
	int ret;

	if (!v->path)
		v->path = "trace.dat";
	ret = reader_open(v->path, &v->r);
	if (ret)
		return ret;
	symbols_demangle(v->r->symbols, v->demangle);
	if (v->cpu_text)
		ret = cpu_list_parse(v->cpu_text, v->r->nr_cpus, &v->cpus);
	if (ret)
		return ret;
	if (v->r->values) {
		v->values = value_text_new(v->r);
		if (!v->values)
			return fail(ENOMEM, "out of memory");
	}
	if (v->srcline) {
		v->lines = srcline_new(v->r->symbols);
		if (!v->lines)
			return fail(ENOMEM, "out of memory");
	}
	v->filter = call_filter_new(v->r, &v->wish);
	return v->filter ? 0 : -ENOMEM;
}

void view_close(struct view *v)
{
	call_filter_free(v->filter);
	srcline_free(v->lines);
	value_text_free(v->values);
	free(v->cpus);
	reader_close(v->r);
	v->filter = NULL;
	v->lines = NULL;
	v->values = NULL;
	v->cpus = NULL;
	v->r = NULL;
}

bool view_has_filters(const struct view *v)
{
	const struct call_wish *w = &v->wish;

	return w->nr_under || w->nr_not_under || w->max_depth || w->min_ns || w->from || w->to ||
	       w->nr_tids;
}

static void count_lost(struct view *v, uint64_t lost)
{
	if (lost == RECORD_LOST_UNKNOWN || v->lost == RECORD_LOST_UNKNOWN)
		v->lost = RECORD_LOST_UNKNOWN;
	else
		v->lost += lost;
}

static void count_run(struct view *v, const struct run *run)
{
	v->last_ts = run_ts(run, run->nr - 1);
	if (!run->recs && run->head.lost)
		count_lost(v, run->head.lost);
	for (unsigned int i = 0; run->recs && i < run->nr; i++)
		if (run->recs[i].lost)
			count_lost(v, run->recs[i].lost);
}

static int read_calls(struct view *v, struct runs *runs, struct calls *calls, const int *err)
{
	struct run run;
	int ret = runs_next(runs, &run);

	if (ret > 0) {
		v->first_ts = run_ts(&run, 0);
		if (v->range_from_start)
			v->wish.from += v->first_ts;
		if (v->range_to_start)
			v->wish.to += v->first_ts;
	}
	while (ret > 0 && !*err) {
		count_run(v, &run);
		ret = calls_run(calls, &run);
		if (!ret)
			ret = runs_next(runs, &run);
	}
	if (!ret && !*err)
		calls_finish(calls);
	return ret < 0 ? ret : *err;
}

int view_run(struct view *v, const struct calls_ops *ops, void *arg, const int *err)
{
	struct runs *runs = runs_new(v->r);
	struct calls *calls = calls_new(ops, arg, NULL);
	int ret = 0;

	if (!runs || !calls)
		ret = fail(ENOMEM, "out of memory");
	for (unsigned int cpu = 0; runs && v->cpus && cpu < v->r->nr_cpus; cpu++)
		if (!v->cpus[cpu])
			runs_skip_cpu(runs, cpu);
	if (v->cpus && v->r->ops->tell_depths)
		v->r->ops->tell_depths(v->r);
	if (!ret && v->r->bases_known)
		ret = calls_learn(calls, v->r, v->cpus);
	if (!ret)
		ret = read_calls(v, runs, calls, err);
	if (calls)
		v->left_out = calls_too_deep(calls);
	runs_free(runs);
	calls_free(calls);
	return ret;
}

void view_notes(const struct view *v, uint64_t nr_calls)
{
	if (v->lost == RECORD_LOST_UNKNOWN)
		note("records were lost, how many is not known: counts and times are too low");
	else if (v->lost)
		note("%" PRIu64 " records were lost: counts and times are too low", v->lost);
	if (v->left_out)
		note("%" PRIu64 " calls were nested too deep to be told one by one", v->left_out);
	if (nr_calls)
		return;
	if (!v->r->graph)
		note("'%s' has no calls with entry and exit: record it with -p function_graph",
		     v->path);
	else
		note("'%s' has no call that was asked for", v->path);
}

void view_put_name(const struct view *v, struct out *o, const struct call_function *fn)
{
	if (fn->name)
		out_text(o, fn->name);
	else
		out_printf(o, "0x%08" PRIx64, fn->ip);
}

const char *view_place(const struct view *v, uint64_t ip)
{
	return v->lines ? srcline_find(v->lines, ip) : NULL;
}

void view_put_json(struct out *o, const char *text)
{
	const unsigned char *p;

	if (!text) {
		out_text(o, "null");
		return;
	}
	out_text(o, "\"");
	for (p = (const unsigned char *)text; *p; p++) {
		if (*p == '"' || *p == '\\')
			out_printf(o, "\\%c", *p);
		else if (*p < ' ' || *p >= 0x7f) /* names of symbols need not be UTF-8 */
			out_printf(o, "\\u%04x", *p);
		else
			out_write(o, (const char *)p, 1);
	}
	out_text(o, "\"");
}
