/* SPDX-License-Identifier: MIT */
/* The table of `vestige top`: see top.h. Tests: tests/cli/test_top.py. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/control_byte.h"
#include "tools/base/fail.h"
#include "tools/cli/top.h"
#include "tools/text/json.h"

const char *const top_key_names[TOP_NR_KEYS + 1] = {"rate", "total", "self", "p50",
						    "p99",  "max",   "name"};
const char top_key_letters[TOP_NR_KEYS + 1] = "rts59mn";

static void fill(struct top_row *r, const struct count *c, uint64_t calls, double seconds)
{
	*r = (struct top_row){.count = c, .calls = calls};
	r->values[TOP_RATE] = (double)calls / seconds;
	r->values[TOP_TOTAL] =
		c->is_event ? -1 : (double)count_delta(c->now.time_ns, c->before.time_ns);
	r->values[TOP_SELF] =
		c->has_times ? (double)count_delta(c->now.self_ns, c->before.self_ns) : -1;
	r->values[TOP_P50] = count_time(c, 0.5);
	r->values[TOP_P99] = count_time(c, 0.99);
	/* the middle of a bucket may be above the longest time in it */
	if (c->has_times && r->values[TOP_P99] > (double)c->now.max_ns)
		r->values[TOP_P99] = (double)c->now.max_ns;
	if (r->values[TOP_P50] > r->values[TOP_P99])
		r->values[TOP_P50] = r->values[TOP_P99];
	r->values[TOP_MAX] = c->has_times && c->now.max_ns ? (double)c->now.max_ns : -1;
}

static int by_name(const struct top_row *a, const struct top_row *b)
{
	int order = strcmp(a->count->name, b->count->name);

	return order ? order : strcmp(a->count->object, b->count->object);
}

static int compare(const void *x, const void *y, void *arg)
{
	const struct top_row *a = x, *b = y;
	enum top_key key = *(const enum top_key *)arg;

	if (key != TOP_NAME && a->values[key] != b->values[key])
		return a->values[key] < b->values[key] ? 1 : -1;
	return by_name(a, b);
}

int top_table_make(struct top_table *t, const struct counts *c, const struct top_view *v,
		   double seconds)
{
	enum top_key key = v->key;

	t->nr = 0;
	t->calls = 0;
	t->seconds = seconds;
	t->missed = c->missed;
	for (unsigned int i = 0; i < c->nr; i++) {
		uint64_t calls = count_delta(c->at[i]->now.hits, c->at[i]->before.hits);

		/* a call that is still open has no hit yet, but self time */
		if (!calls && c->at[i]->now.self_ns <= c->at[i]->before.self_ns)
			continue;
		if (!c->at[i]->is_event)
			t->calls += calls;
		if (*v->pattern && !strstr(c->at[i]->name, v->pattern))
			continue;
		if (ARRAY_ROOM(t->rows, t->nr, t->room, 64))
			return fail(ENOMEM, "out of memory for the table");
		fill(&t->rows[t->nr++], c->at[i], calls, seconds);
	}
	if (t->nr)
		qsort_r(t->rows, t->nr, sizeof(*t->rows), compare, &key);
	if (v->lines && t->nr > v->lines)
		t->nr = v->lines;
	return 0;
}

/* Three digits and a unit, in 9 columns. */
static void put_time(char *to, size_t bytes, double ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s "};
	unsigned int u = 0;

	if (ns < 0) {
		snprintf(to, bytes, "%9s", "-");
		return;
	}
	for (; ns >= 999.5 && u < 3; u++)
		ns /= 1000;
	snprintf(to, bytes, "%6.*f %s", !u || ns >= 99.95 ? 0 : ns >= 9.995 ? 1 : 2, ns, units[u]);
}

void top_line(char *line, size_t bytes, const struct top_row *row)
{
	char cells[TOP_NAME][32];

	if (!row) {
		snprintf(line, bytes, "%10s %9s %9s %9s %9s %9s  %s", "calls/s", "total", "self",
			 "p50", "p99", "max", "function");
		return;
	}
	for (int k = TOP_TOTAL; k < TOP_NAME; k++)
		put_time(cells[k], sizeof(cells[k]), row->values[k]);
	snprintf(line, bytes, "%10.0f %s %s %s %s %s  %s%s%s%s", row->values[TOP_RATE],
		 cells[TOP_TOTAL], cells[TOP_SELF], cells[TOP_P50], cells[TOP_P99], cells[TOP_MAX],
		 row->count->name, *row->count->object ? " [" : "", row->count->object,
		 *row->count->object ? "]" : "");
	control_clean(line, strlen(line), '?');
}

void top_print(const struct top_table *t, struct out *o)
{
	char line[512];

	top_line(line, sizeof(line), NULL);
	out_printf(o, "%s\n", line);
	for (unsigned int i = 0; i < t->nr; i++) {
		top_line(line, sizeof(line), &t->rows[i]);
		out_printf(o, "%s\n", line);
	}
	if (t->missed)
		out_printf(o, "# %" PRIu64 " calls were not counted: no room in the area\n",
			   t->missed);
}

static void put_value(struct out *o, const char *name, double v)
{
	if (v >= 0)
		out_printf(o, ",\"%s\":%.0f", name, v);
	else
		out_printf(o, ",\"%s\":null", name);
}

void top_print_json(const struct top_table *t, struct out *o)
{
	static const char *const names[TOP_NAME] = {NULL,     "total_ns", "self_ns",
						    "p50_ns", "p99_ns",	  "max_ns"};

	out_printf(o, "{\"seconds\":%.6f,\"missed\":%" PRIu64 ",\"rows\":[", t->seconds, t->missed);
	for (unsigned int i = 0; i < t->nr; i++) {
		const struct top_row *r = &t->rows[i];

		out_printf(o, "%s{\"kind\":\"%s\",\"name\":", i ? "," : "",
			   r->count->is_event ? "event" : "function");
		json_put(o, r->count->name);
		out_text(o, ",\"object\":");
		json_put(o, *r->count->object ? r->count->object : NULL);
		out_printf(o, ",\"calls\":%" PRIu64 ",\"rate\":%.1f", r->calls,
			   r->values[TOP_RATE]);
		for (int k = TOP_TOTAL; k < TOP_NAME; k++)
			put_value(o, names[k], r->values[k]);
		out_text(o, "}");
	}
	out_text(o, "]}\n");
}
