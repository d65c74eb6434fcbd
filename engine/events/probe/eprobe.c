/* SPDX-License-Identifier: MIT */
/*
 * See eprobe.h. Grammar, errors and positions are the kernel's (6.12, trace_eprobe). An event probe
 * that is on in an instance is attached there to the other event, as a trigger that is not listed
 * and fires after that event's record. So the other event's probe function runs whether that event
 * is on or not, and set_event_pid applies to both. An event probe that is attached to an event of
 * an unloaded object does nothing until it is switched on again.
 *
 * Control context, except fire(). fork: the child has the same probes, on or off as in the parent,
 * but not the instances. Costs: one record that is put together, and what the probe fetches. Tests:
 * tests/engine/events/eprobe.
 */
#include "engine/events/probe/eprobe.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/events/trigger/trigger.h"
#include "engine/process/heap.h"
#include "engine/events/probe/probe_command.h"

static void fire(struct event_trigger *t, const void *record)
{
	struct event_file *file = t->data;
	struct probe_event *pe = file->event->data;
	struct fetch_regs regs = {.record = record};

	probe_hit(pe->probes, &regs, 0, file);
}

static const struct trigger_ops attached = {
	.name = "eprobe", .group = GROUP_PROBE, .post = 1, .fire = fire};

static int enable(struct event *e, struct event_file *file, int on)
{
	struct probe_event *pe = e->data;
	const struct probe *p = pe->probes;
	struct event_file *f;
	int err;

	if (!on) {
		f = event_file_find(p->attached, file->tr);
		if (f)
			trigger_detach(f, &attached, file);
		pe->nr_on--;
		return 0;
	}
	if (p->attached->gone)
		return -ENOENT;
	f = event_file_get(p->attached, file->tr);
	err = f ? trigger_attach(f, &attached, file, p->filter) : -ENOMEM;
	if (!err)
		pe->nr_on++;
	return err;
}

const struct event_class eprobe_event_class = {.enable = enable, .may_fail = 1};

/* The number of words up to the end of the arguments. */
static uint32_t find_if(const struct dyn_command *c)
{
	uint32_t i;

	for (i = 2; i < c->nr_words; i++)
		if (c->bytes[i] == 2 && !memcmp(c->word[i], "if", 2))
			break;
	return i;
}

/*
 * Find the event to attach to. As in the kernel, probes of code and the system ftrace cannot be it.
 */
static struct event *find_event(const char *system, size_t system_bytes, const char *name,
				size_t name_bytes)
{
	struct event *e = event_find(system, system_bytes, name, name_bytes);
	const struct probe_event *pe = e && e->class ? probe_event_of(e) : NULL;

	if (!e || !e->class ||
	    (pe && pe->kind & (DYN_PROBE_KPROBE | DYN_PROBE_UPROBE | DYN_PROBE_EPROBE)))
		return NULL;
	return e;
}

static int bad(struct probe_definition *d, const char *text, int err)
{
	return probe_bad(d, 0, text, err);
}

/* Parse `SYSTEM.EVENT` or `SYSTEM/EVENT`. */
static int read_attached(struct probe_definition *d)
{
	const char *text = d->c->word[1];
	size_t n = d->c->bytes[1], dot = text_find(text, n, '/');
	struct seq_buf s;
	struct event *e;

	d->word = 1;
	if (dot == n)
		dot = text_find(text, n, '.');
	if (!dot || dot + 1 >= n)
		return bad(d, "This requires both group and event name to attach", -EINVAL);
	e = find_event(text, dot, text + dot + 1, n - dot - 1);
	if (!e)
		return bad(d, "Attached event does not exist", -ENODEV);
	if (!d->name[0])
		str_copy(d->name, sizeof(d->name), e->name);
	seq_init(&s, d->place, sizeof(d->place) - 1);
	seq_puts(&s, e->system);
	seq_putc(&s, '.');
	seq_puts(&s, e->name);
	d->place[s.len] = 0;
	d->attached = e;
	return 0;
}

/* Compile the text behind `if`, which is word @at. */
static int read_filter(struct probe_definition *d, uint32_t at)
{
	const char *text = d->c->text + d->c->at[at + 1];
	struct event_filter *compiled;
	struct parse_error error = {0};
	size_t n;
	int err;

	d->word = at + 1;
	if (d->word >= d->c->nr_words)
		return bad(d, "No filter rule after 'if'", -EINVAL);
	n = d->c->text_bytes - d->c->at[d->word];
	err = filter_compile(d->attached, text, n, &compiled, &error);
	if (!err) {
		filter_free(compiled);
		d->filter = heap_copy(text, n);
		return d->filter ? 0 : -ENOMEM;
	}
	if (err == -ENOMEM)
		return err;
	/* log the filter alone, as if it were written to a filter file */
	d->error->location = "event filter parse error";
	d->error->error = error;
	if (!error.text)
		d->error->error.text = "Error";
	d->error->command = text;
	d->error->bytes = n;
	return -EINVAL;
}

static int read_all(struct probe_definition *d)
{
	uint32_t end = find_if(d->c), nr = end - 2, bytes = probe_head_bytes(DYN_PROBE_EPROBE, 0);
	struct fetch_context ctx = {.symbol = probe_fetch_symbol, .arg = d};
	struct fetch_arg *args;
	int err;

	err = read_attached(d);
	if (err)
		return err;
	if (nr > FETCH_MAX_ARGS)
		return -E2BIG;
	if (end < d->c->nr_words)
		err = read_filter(d, end);
	if (err)
		return err;
	args = heap_alloc((nr + 1) * sizeof(*args));
	if (!args)
		return -ENOMEM;
	ctx.event = d->attached;
	err = probe_read_args(d, args, nr, &ctx, &bytes);
	if (!err)
		err = probe_define(d, args, nr, bytes);
	heap_free(args);
	return err;
}

static const struct dyn_class eprobe_class;

static int create(const struct dyn_command *c, struct dyn_error *error)
{
	struct probe_definition *d;
	int err = 0;

	if (c->nr_words < 2 || *c->word[0] != 'e' || (c->bytes[0] > 1 && c->word[0][1] != ':'))
		return -ECANCELED;
	d = probe_begin(c, error, &eprobe_class, "eprobes");
	if (!d)
		return -ENOMEM;
	d->is_event = 1;
	if (c->bytes[0] > 1)
		err = probe_read_name(d, c->word[0] + 2, c->bytes[0] - 2, 2);
	if (!err)
		err = read_all(d);
	heap_free((void *)(uintptr_t)d->filter);
	heap_free(d);
	return err;
}

static const struct dyn_class eprobe_class = {
	.kind = DYN_PROBE_EPROBE,
	.create = create,
	.show = probe_show,
	.is_busy = probe_is_busy,
	.matches = probe_matches,
	.free = probe_dyn_free,
};
DYN_CLASS_REGISTER(eprobe_class);
