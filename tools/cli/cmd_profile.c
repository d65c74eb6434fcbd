/* SPDX-License-Identifier: MIT */
/*
 * `vestige profile`: where the time went (profile_graph.c), or of function records how often each
 * function was called, in the shape of the kernel's trace_stat/functionN (which sorts by hits when
 * it has no times). Tests: tests/cli.
 */
#include "cmd.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/analysis/profile.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/profile_graph.h"
#include "tools/cli/view.h"
#include "tools/text/out.h"

#define NAME_WIDTH_MIN 30 /* the kernel's */
#define NAME_WIDTH_MAX 60
#define NAME_BYTES     512

static const char usage[] =
	"usage: vestige profile [FLAGS] [FILE]\n"
	"\n"
	"Print which functions of FILE (a trace.dat, a spool or an area; default: trace.dat) took\n"
	"the time: their own, in all, how often they were called, and a call's average, "
	"percentiles\n"
	"and most. Of a recording by -p function, which has no times: how often each was called.\n"
	"\n" VIEW_HELP "  -s, --sort KEY    self (default), total, calls, avg, min, max, p50, p90, "
	"p99, tid, name;\n"
	"                    several with commas. Without times: hits (default) or name\n"
	"      --by WHAT     a row for each function (default), thread or object\n"
	"      --threads     a row for each function of each thread\n"
	"      --diff OLD    what has changed since OLD, another recording\n"
	"      --top N       only the first N rows\n"
	"      --callers     under each function those that called it\n"
	"      --json        the same as JSON, times in nanoseconds\n"
	"  -h, --help        print this\n";

/* `name [module]`, or the address. */
static void put_name(char *to, size_t room, const char *name, const char *module, uint64_t addr)
{
	if (!name)
		snprintf(to, room, "0x%08" PRIx64, addr);
	else if (module)
		snprintf(to, room, "%s [%s]", name, module);
	else
		snprintf(to, room, "%s", name);
}

/* Tenths of a percent, rounded. */
static unsigned int per_mille(uint64_t part, uint64_t all)
{
	return all ? (unsigned int)((double)part * 1000 / (double)all + 0.5) : 0;
}

static int print_table(struct out *o, const struct profile *p, size_t nr,
		       const struct profile_options *opt)
{
	static const char dashes[] = "------------------------------------------------------------";
	char name[NAME_BYTES];
	int width = NAME_WIDTH_MIN;
	size_t i, k;

	for (i = 0; i < nr; i++) {
		const struct profile_row *row = profile_at(p, i);
		int n;

		put_name(name, sizeof(name), row->name, row->module, row->ip);
		n = (int)strlen(name);
		if (n > width)
			width = n < NAME_WIDTH_MAX ? n : NAME_WIDTH_MAX;
	}
	out_printf(o, "  %-*s  %10s    Share\n", width, "Function", "Hit");
	out_printf(o, "  %-*.8s  %10s    -----\n", width, dashes, "---");
	for (i = 0; i < nr; i++) {
		const struct profile_row *row = profile_at(p, i);
		unsigned int share = per_mille(row->hits, profile_hits(p));
		struct profile_caller *callers;

		put_name(name, sizeof(name), row->name, row->module, row->ip);
		out_printf(o, "  %-*s  %10" PRIu64 "   %3u.%u %%\n", width, name, row->hits,
			   share / 10, share % 10);
		if (!opt->callers)
			continue;
		callers = profile_callers(p, row);
		if (!callers)
			return fail(ENOMEM, "out of memory");
		for (k = 0; k < row->nr_callers; k++) {
			const struct profile_caller *c = &callers[k];

			put_name(name, sizeof(name), c->name, c->module, c->addr);
			share = per_mille(c->hits, row->hits);
			out_printf(o, "    <-%-*s  %10" PRIu64 "   %3u.%u %%\n", width - 4, name,
				   c->hits, share / 10, share % 10);
		}
		free(callers);
	}
	return 0;
}

static void put_json_place(struct out *o, const char *name, const char *module, uint64_t addr)
{
	out_text(o, "{\"name\": ");
	view_put_json(o, name);
	out_text(o, ", \"module\": ");
	view_put_json(o, module);
	/* as text: a double does not hold 64 bits */
	out_printf(o, ", \"address\": \"0x%" PRIx64 "\"", addr);
}

static int print_json(struct out *o, const struct profile *p, size_t nr,
		      const struct profile_options *opt)
{
	size_t i, k;

	out_printf(o, "{\"hits\": %" PRIu64 ", \"lost\": ", profile_hits(p));
	if (profile_lost(p) == RECORD_LOST_UNKNOWN)
		out_text(o, "null");
	else
		out_printf(o, "%" PRIu64, profile_lost(p));
	out_text(o, ", \"functions\": [");
	for (i = 0; i < nr; i++) {
		const struct profile_row *row = profile_at(p, i);
		struct profile_caller *callers = NULL;

		out_text(o, i ? ",\n" : "\n");
		put_json_place(o, row->name, row->module, row->ip);
		out_printf(o, ", \"hits\": %" PRIu64, row->hits);
		if (opt->callers) {
			callers = profile_callers(p, row);
			if (!callers)
				return fail(ENOMEM, "out of memory");
			out_text(o, ", \"callers\": [");
			for (k = 0; k < row->nr_callers; k++) {
				const struct profile_caller *c = &callers[k];

				out_text(o, k ? ", " : "");
				put_json_place(o, c->name, c->module, c->addr);
				out_printf(o, ", \"hits\": %" PRIu64 "}", c->hits);
			}
			out_text(o, "]");
			free(callers);
		}
		out_text(o, "}");
	}
	out_text(o, "\n]}\n");
	return 0;
}

/* What the table does not show and its reader must know. */
static void print_notes(const struct profile *p, const char *path)
{
	if (profile_lost(p) == RECORD_LOST_UNKNOWN)
		fprintf(stderr, "vestige: records were lost, how many is not known: the counts are "
				"too low\n");
	else if (profile_lost(p))
		fprintf(stderr,
			"vestige: %" PRIu64
			" records were lost: the counts are too low by as many calls\n",
			profile_lost(p));
	if (!profile_hits(p))
		fprintf(stderr, "vestige: '%s' has no function calls\n", path);
}

/* Of function records, which tell no times. */
static int profile_hits_only(struct view *v, const struct profile_options *opt)
{
	bool by_name = opt->nr_keys && opt->keys[0] == SORT_NAME;
	struct profile *p;
	struct out o;
	size_t nr;
	int ret, err;

	if (opt->nr_keys > 1 || (opt->nr_keys && !by_name && opt->keys[0] != SORT_CALLS))
		return fail(EINVAL, "'%s' has no times: it can be sorted by hits or by name",
			    v->path);
	if (opt->diff || opt->threads || opt->by != TABLE_BY_FUNCTION || view_has_filters(v))
		return fail(EINVAL,
			    "'%s' has no entries and exits, which this needs: record it with -p "
			    "function_graph",
			    v->path);
	p = profile_new(v->r, v->cpus);
	if (!p)
		return -EINVAL;
	ret = out_init(&o, STDOUT_FILENO);
	if (ret)
		fail(ENOMEM, "out of memory");
	if (!ret) {
		profile_sort(p, by_name ? PROFILE_BY_NAME : PROFILE_BY_HITS);
		nr = profile_count(p);
		if (opt->top && opt->top < nr)
			nr = opt->top;
		ret = opt->json ? print_json(&o, p, nr, opt) : print_table(&o, p, nr, opt);
		err = out_end(&o);
		/* who closes the pipe has seen enough */
		if (!ret && err && err != -EPIPE)
			ret = fail_errno(-err, "cannot write the profile");
		if (!ret)
			print_notes(p, v->path);
	}
	profile_free(p);
	return ret;
}

static int parse_sort(struct view *v, struct profile_options *opt, const char *text)
{
	const char *p = text;

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
			return view_bad(v, "--sort knows no", text);
		opt->keys[opt->nr_keys++] = (enum call_sort)k;
		p += n;
		if (!*p)
			return 0;
	}
}

static int parse_by(struct view *v, struct profile_options *opt, const char *text)
{
	static const char *const words[] = {"function", "thread", "object"};

	for (unsigned int i = 0; i < 3; i++) {
		if (!strcmp(text, words[i])) {
			opt->by = (enum call_table_by)i;
			return 0;
		}
	}
	return view_bad(v, "--by is function, thread or object, not", text);
}

enum { TOP = VIEW_OWN, CALLERS, JSON, BY, THREADS, DIFF };

static int profile_option(struct view *v, struct profile_options *opt, int c, char **argv)
{
	char *end;

	switch (c) {
	case 's':
		return parse_sort(v, opt, optarg);
	case TOP:
		opt->top = strtoul(optarg, &end, 10);
		if (*optarg < '0' || *optarg > '9' || *end || !opt->top)
			return view_bad(v, "--top takes a number of functions, not", optarg);
		return 0;
	case CALLERS:
		opt->callers = true;
		return 0;
	case JSON:
		opt->json = true;
		return 0;
	case BY:
		return parse_by(v, opt, optarg);
	case THREADS:
		opt->threads = true;
		return 0;
	case DIFF:
		opt->diff = optarg;
		return 0;
	default:
		return view_option(v, c, argv);
	}
}

int cmd_profile(int argc, char **argv)
{
	static const struct option options[] = {VIEW_OPTIONS,
						{"sort", required_argument, NULL, 's'},
						{"top", required_argument, NULL, TOP},
						{"callers", no_argument, NULL, CALLERS},
						{"json", no_argument, NULL, JSON},
						{"by", required_argument, NULL, BY},
						{"threads", no_argument, NULL, THREADS},
						{"diff", required_argument, NULL, DIFF},
						{0}};
	struct profile_options opt = {0};
	struct view v;
	int c, ret;

	view_init(&v, "profile");
	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, VIEW_LETTERS "s:", options, NULL)) >= 0) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		ret = profile_option(&v, &opt, c, argv);
		if (ret)
			return ret;
	}
	if (argc - optind > (v.path ? 0 : 1))
		return view_bad(&v, "one file at a time; one more is",
				argv[v.path ? optind : optind + 1]);
	if (optind < argc)
		v.path = argv[optind];
	if (opt.callers && (opt.by != TABLE_BY_FUNCTION || opt.threads || opt.diff))
		return view_bad(&v, "only a plain table of functions has", "--callers");
	ret = view_open(&v);
	if (!ret)
		ret = v.r->graph ? profile_graph(&v, &opt) : profile_hits_only(&v, &opt);
	if (ret)
		note("%s", fail_text());
	view_close(&v);
	return ret ? CMD_FAILURE : 0;
}
