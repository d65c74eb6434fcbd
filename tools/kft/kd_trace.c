/* SPDX-License-Identifier: MIT */
/*
 * See kd.h: the call trace.
 *
 *	 Entry      Duration   Local       Pid    Trace
 *	---------- ---------- ---------- ------- ---------------------------------
 *	        14       8687          2       0 |  setup_all
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/kft/kd.h"
#include "tools/text/json.h"

#define MAX_INDENT 100u

/* Calls of an interrupt that came within another thread's call. */
struct place {
	const struct kd *kd;
	const struct kd_options *opt;
	bool in_interrupt, any;
	int32_t pid;	/* of the line before */
	uint32_t depth; /* of the call that was interrupted */
	uint64_t ends;	/* when the outermost call of the interrupt does */
};

static void indent(struct out *o, uint32_t depth, const char *with)
{
	for (uint32_t i = 0; i < depth && i < MAX_INDENT; i++)
		out_text(o, with);
}

static void put_rule(const struct place *at, struct out *o, const char *text)
{
	out_printf(o, "%*s", at->opt->locals ? 43 : 30, "");
	indent(o, at->depth, "|  ");
	out_printf(o, "%s\n", text);
}

static void put_call(const struct place *at, struct out *o, const struct kd_call *c, uint8_t *marks)
{
	const struct kd *kd = at->kd;

	kd_put_time(kd, o, 10, c->at);
	out_text(o, " ");
	if (kd->is_log && c->delta_us <= 0)
		out_printf(o, "%10" PRId64, c->delta_us);
	else
		kd_put_time(kd, o, 10, c->ns);
	if (at->opt->locals) {
		out_text(o, " ");
		if (c->no_time)
			out_printf(o, "%10s", "-");
		else
			kd_put_time(kd, o, 10, c->local);
		out_printf(o, "%-2s", kd_mark_text(c->marks));
		*marks |= c->marks;
	}
	out_printf(o, " %7" PRId32 " ", c->pid);
	if (at->in_interrupt) {
		indent(o, at->depth, "|  ");
		indent(o, c->depth + 1, "!  ");
	} else {
		indent(o, c->depth, "|  ");
	}
	out_printf(o, "%s\n", kd->functions[c->function].name);
}

/* Print the lines where an interrupt ends before this call, or begins with it. */
static void interlace(struct place *at, struct out *o, const struct kd_call *c)
{
	if (at->in_interrupt && (!c->interrupt || c->at >= at->ends)) {
		at->in_interrupt = false;
		put_rule(at, o, "!!!! end");
	}
	if (c->interrupt && !at->in_interrupt) {
		put_rule(at, o, "!!!! start");
		at->in_interrupt = true;
		at->ends = c->at + c->ns;
	}
	if (!c->interrupt) {
		if (at->any && c->pid != at->pid) {
			at->depth = 0;
			put_rule(at, o, "---- another thread");
		}
		at->pid = c->pid;
		at->any = true;
		at->depth = c->depth + 1;
	}
}

static void put_head(const struct kd_options *opt, struct out *o)
{
	out_printf(o, "%-10s %-10s %s%7s Trace\n", " Entry", " Duration",
		   opt->locals ? " Local       " : "", "Pid");
	out_printf(o, "---------- ---------- %s------- ---------------------------------\n",
		   opt->locals ? "------------ " : "");
}

/* Times in ns. */
static void put_call_json(const struct kd *kd, struct json *j, const struct kd_call *c)
{
	json_open(j, NULL, '{');
	json_text(j, "name", kd->functions[c->function].name);
	json_number(j, "entry", c->at);
	if (c->no_time) {
		json_null(j, "duration");
		json_null(j, "local");
	} else {
		json_number(j, "duration", c->ns);
		json_number(j, "local", c->local);
	}
	json_bool(j, "filtered", c->marks & KD_FILTERED);
	json_bool(j, "switched", c->marks & KD_SWITCHED);
	json_number(j, "pid", (uint64_t)(c->pid < 0 ? 0 : c->pid));
	json_number(j, "depth", c->depth);
	json_bool(j, "interrupt", c->interrupt);
	json_close(j, '}');
}

int kd_trace(struct kd *kd, const struct kd_options *opt, struct out *o, uint8_t *marks)
{
	struct place at = {.kd = kd, .opt = opt};
	struct json j = {.o = o};
	unsigned int nr = 0;

	if (!opt->json)
		put_head(opt, o);
	for (size_t i = 0; i < kd->nr_calls && !o->err; i++) {
		const struct kd_call *c = &kd->calls[i];

		if (!c->no_time && c->ns < opt->min_ns)
			continue;
		if (opt->first && nr++ == opt->first)
			break;
		if (opt->json) {
			put_call_json(kd, &j, c);
			continue;
		}
		if (opt->interlace)
			interlace(&at, o, c);
		put_call(&at, o, c, marks);
	}
	if (at.in_interrupt)
		put_rule(&at, o, "!!!! end");
	return 0;
}
