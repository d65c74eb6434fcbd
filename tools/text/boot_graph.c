/* SPDX-License-Identifier: MIT */
/* See boot_graph.h. Tests: tests/engine/tracers/initcall. */
#include "tools/text/boot_graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/analysis/merge.h"
#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/text/json.h"
#include "tools/text/xml.h"

#define WIDTH	  1200.0
#define LEFT	  20.0
#define ROW	  18.0
#define TOP	  40.0
#define MAX_TICKS 10u

struct bar {
	uint64_t start, ns, function;
	int32_t pid;
};

struct bars {
	struct bar *at;
	size_t nr, room;
};

static uint64_t number(const struct record *rec, struct tep_event *ev, const char *name)
{
	const struct tep_format_field *f = tep_find_field(ev, name);
	uint64_t v = 0;

	if (f && f->offset >= 0 && f->size > 0 && f->size <= 8 &&
	    (uint64_t)f->offset + (uint64_t)f->size <= rec->data_bytes)
		memcpy(&v, (const char *)rec->data + f->offset, (size_t)f->size);
	return v;
}

static int take(struct bars *b, struct reader *r, const struct record *rec)
{
	struct tep_event *ev;
	uint64_t ns;

	if (rec->kind != RECORD_EVENT || !r->tep)
		return 0;
	ev = tep_find_event(r->tep, rec->event);
	if (!ev || strcmp(ev->system, "ftrace") || strcmp(ev->name, "boot_ret"))
		return 0;
	if (b->nr == b->room) {
		size_t room = b->room ? 2 * b->room : 64;
		struct bar *more = realloc(b->at, room * sizeof(*more));

		if (!more)
			return fail(ENOMEM, "out of memory for the graph");
		b->at = more;
		b->room = room;
	}
	ns = number(rec, ev, "duration");
	b->at[b->nr++] = (struct bar){.start = rec->ts > ns ? rec->ts - ns : 0,
				      .ns = ns,
				      .function = number(rec, ev, "func"),
				      .pid = rec->pid};
	return 0;
}

static int by_start(const void *x, const void *y)
{
	const struct bar *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void put_name(struct reader *r, struct out *o, uint64_t function)
{
	const struct symbol *sym = symbols_find(r->symbols, function);

	if (sym)
		xml_put(o, sym->name);
	else
		out_printf(o, "0x%" PRIx64, function);
}

/* Lines at round times: 1, 2 or 5 times a power of ten. */
static void put_axis(struct out *o, double span, double height)
{
	static const double steps[] = {1, 2, 5};
	double step = 1, unit = 1000;

	for (size_t i = 0; step * unit * MAX_TICKS < span; i++) {
		step = steps[i % 3];
		if (i && i % 3 == 0)
			unit *= 10;
	}
	for (double t = 0; t <= span; t += step * unit)
		out_printf(o,
			   "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\" "
			   "stroke=\"#ccc\"/>\n<text x=\"%.1f\" y=\"%.0f\">%.3f ms</text>\n",
			   LEFT + t / span * WIDTH, LEFT + t / span * WIDTH, TOP - 8, height,
			   LEFT + t / span * WIDTH + 2, TOP - 12, t / 1e6);
}

static void put_graph(struct reader *r, struct out *o, const struct bars *b)
{
	uint64_t first = b->at[0].start, end = first + 1;
	double height = TOP + ROW * (double)b->nr + 10, span;

	for (size_t i = 0; i < b->nr; i++)
		if (b->at[i].start + b->at[i].ns > end)
			end = b->at[i].start + b->at[i].ns;
	span = (double)(end - first);
	out_printf(o,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		   "font-family=\"sans-serif\" font-size=\"11\">\n",
		   WIDTH + 320, height);
	put_axis(o, span, height);
	for (size_t i = 0; i < b->nr; i++) {
		const struct bar *bar = &b->at[i];
		double x = LEFT + (double)(bar->start - first) / span * WIDTH,
		       y = TOP + ROW * (double)i;

		out_printf(o,
			   "<rect x=\"%.3f\" y=\"%.0f\" width=\"%.3f\" height=\"%.0f\" "
			   "fill=\"#%s\"><title>",
			   x, y, (double)bar->ns / span * WIDTH, ROW - 4,
			   i & 1 ? "5588cc" : "77aadd");
		put_name(r, o, bar->function);
		out_printf(o, " %" PRIu64 " usecs, thread %d</title></rect>\n<text x=\"%.1f\" ",
			   bar->ns / 1000, bar->pid, x + 3);
		out_printf(o, "y=\"%.0f\">", y + ROW - 8);
		put_name(r, o, bar->function);
		out_printf(o, " %.3f ms</text>\n", (double)bar->ns / 1e6);
	}
	out_text(o, "</svg>\n");
}

static void put_json(struct reader *r, struct out *o, const struct bars *b)
{
	struct json j = {.o = o};

	json_open(&j, NULL, '[');
	for (size_t i = 0; i < b->nr; i++) {
		const struct bar *bar = &b->at[i];
		const struct symbol *sym = symbols_find(r->symbols, bar->function);

		json_open(&j, NULL, '{');
		json_text(&j, "name", sym ? sym->name : NULL);
		json_number(&j, "address", bar->function);
		json_number(&j, "tid", (uint64_t)bar->pid);
		json_number(&j, "start", bar->start);
		json_number(&j, "duration", bar->ns);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	out_text(o, "\n");
}

static int print(struct reader *r, struct out *o,
		 void (*put)(struct reader *r, struct out *o, const struct bars *b))
{
	struct merge *m = merge_new(r);
	const struct record *rec;
	struct bars b = {0};
	int ret = 1;

	if (!m)
		return fail(ENOMEM, "out of memory for the graph");
	while (ret > 0) {
		ret = merge_next(m, &rec);
		if (ret > 0 && take(&b, r, rec))
			ret = -ENOMEM;
	}
	merge_free(m);
	if (!ret && !b.nr)
		ret = fail(ENODATA,
			   "no initialiser is in the recording: `vestige record -p initcall "
			   "PROGRAM` records them");
	if (!ret) {
		qsort(b.at, b.nr, sizeof(*b.at), by_start);
		put(r, o, &b);
	}
	free(b.at);
	return ret;
}

int boot_graph_print(struct reader *r, struct out *o)
{
	return print(r, o, put_graph);
}

int boot_graph_json(struct reader *r, struct out *o)
{
	return print(r, o, put_json);
}
