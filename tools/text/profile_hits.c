/* SPDX-License-Identifier: MIT */
/*
 * See profile_hits.h. The table has the shape of the kernel's trace_stat/functionN, which sorts by
 * hits when it has no times. Tests: tests/cli/test_report.py.
 */
#include "tools/text/profile_hits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/analysis/profile.h"
#include "tools/base/fail.h"
#include "tools/text/json.h"

#define NAME_WIDTH_MIN 30 /* the kernel's */
#define NAME_WIDTH_MAX 60
#define NAME_BYTES     512

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
	json_put(o, name);
	out_text(o, ", \"module\": ");
	json_put(o, module);
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

/* Notes on records that the table does not show. */
static void print_notes(const struct profile *p, const char *path, const char *tracer)
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
		fprintf(stderr,
			"vestige: '%s' has no function calls (tracer: %s): a profile needs a "
			"recording "
			"by -p function or function_graph\n",
			path, tracer);
}

int profile_hits_print(struct view *v, const struct profile_options *opt)
{
	bool by_name = opt->nr_keys && opt->keys[0] == SORT_NAME;
	struct profile *p;
	struct out o;
	size_t nr;
	int ret;

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
		/* no header alone: the notes give the reason */
		if (opt->json)
			ret = print_json(&o, p, nr, opt);
		else if (profile_hits(p))
			ret = print_table(&o, p, nr, opt);
		ret = out_end_stdout(&o, ret, "the profile");
		if (!ret)
			print_notes(p, v->path, v->r->tracer);
	}
	profile_free(p);
	return ret;
}
