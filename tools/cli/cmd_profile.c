/* SPDX-License-Identifier: MIT */
/*
 * `vestige profile`: how often each function was called, in the shape of the kernel's
 * trace_stat/functionN (which sorts by hits when it has no times). Tests: tests/cli.
 */
#include "cmd.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu_list.h"
#include "tools/analysis/profile.h"
#include "tools/base/fail.h"
#include "tools/text/out.h"

#define NAME_WIDTH_MIN 30 /* the kernel's */
#define NAME_WIDTH_MAX 60
#define NAME_BYTES     512

static const char usage[] =
	"usage: vestige profile [-i FILE] [--cpu LIST] [--sort hits|name] [--top N] [--callers]\n"
	"                       [--json] [FILE]\n"
	"\n"
	"Print how often each function of FILE (a trace.dat, a spool or an area; default: "
	"trace.dat)\n"
	"was called.\n"
	"\n"
	"  -i, --input FILE  the same as FILE\n"
	"      --cpu LIST    only the calls on these CPUs: 0,2-3\n"
	"      --sort KEY    hits (the default, most first) or name\n"
	"      --top N       only the first N functions\n"
	"      --callers     under each function those that called it\n"
	"      --json        the same as JSON, with addresses\n"
	"  -h, --help        print this\n";

struct profile_options {
	const char *path;
	const char *cpus;
	enum profile_sort sort;
	size_t top;
	bool callers, json;
};

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

static void put_json_string(struct out *o, const char *text)
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

static void put_json_place(struct out *o, const char *name, const char *module, uint64_t addr)
{
	out_text(o, "{\"name\": ");
	put_json_string(o, name);
	out_text(o, ", \"module\": ");
	put_json_string(o, module);
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

static int profile(const struct profile_options *opt)
{
	struct profile *p = NULL;
	struct reader *r;
	struct out o;
	bool *cpus = NULL;
	size_t nr;
	int ret, err;

	ret = reader_open(opt->path, &r);
	if (ret)
		return ret;
	if (opt->cpus)
		ret = cpu_list_parse(opt->cpus, r->nr_cpus, &cpus);
	if (!ret) {
		p = profile_new(r, cpus);
		ret = p ? out_init(&o, STDOUT_FILENO) : -EINVAL;
		if (p && ret)
			fail(ENOMEM, "out of memory");
	}
	if (!ret) {
		profile_sort(p, opt->sort);
		nr = profile_count(p);
		if (opt->top && opt->top < nr)
			nr = opt->top;
		ret = opt->json ? print_json(&o, p, nr, opt) : print_table(&o, p, nr, opt);
		err = out_end(&o);
		/* who closes the pipe has seen enough */
		if (!ret && err && err != -EPIPE)
			ret = fail_errno(-err, "cannot write the profile");
		if (!ret)
			print_notes(p, opt->path);
	}
	profile_free(p);
	free(cpus);
	reader_close(r);
	return ret;
}

static int bad_usage(const char *what, const char *word)
{
	fprintf(stderr, "vestige: profile: %s '%s'; see `vestige profile --help`\n", what, word);
	return CMD_USAGE;
}

int cmd_profile(int argc, char **argv)
{
	static const struct option options[] = {
		{"input", required_argument, NULL, 'i'}, {"cpu", required_argument, NULL, 'c'},
		{"sort", required_argument, NULL, 's'},	 {"top", required_argument, NULL, 't'},
		{"callers", no_argument, NULL, 'C'},	 {"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},	 {0},
	};
	struct profile_options opt = {0};
	char *end;
	int c;

	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, ":i:h", options, NULL)) >= 0) {
		switch (c) {
		case 'i':
			opt.path = optarg;
			break;
		case 'c':
			opt.cpus = optarg;
			break;
		case 's':
			if (strcmp(optarg, "name") == 0)
				opt.sort = PROFILE_BY_NAME;
			else if (strcmp(optarg, "hits") == 0)
				opt.sort = PROFILE_BY_HITS;
			else
				return bad_usage("--sort is hits or name, not", optarg);
			break;
		case 't':
			opt.top = strtoul(optarg, &end, 10);
			if (*optarg < '0' || *optarg > '9' || *end || !opt.top)
				return bad_usage("--top takes a number of functions, not", optarg);
			break;
		case 'C':
			opt.callers = true;
			break;
		case 'j':
			opt.json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case ':':
			return bad_usage("a value is missing behind", argv[optind - 1]);
		default:
			return bad_usage("unknown option", argv[optind - 1]);
		}
	}
	if (argc - optind > (opt.path ? 0 : 1))
		return bad_usage("one file at a time; one more is",
				 argv[opt.path ? optind : optind + 1]);
	if (optind < argc)
		opt.path = argv[optind];
	if (!opt.path)
		opt.path = "trace.dat";
	if (profile(&opt)) {
		fprintf(stderr, "vestige: %s\n", fail_text());
		return CMD_FAILURE;
	}
	return 0;
}
