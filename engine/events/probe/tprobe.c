/* SPDX-License-Identifier: MIT */
/*
 * See tprobe.h. Grammar, errors and positions are the kernel's (6.12, trace_fprobe). A tracepoint
 * is the program's, by the name in DEFINE_TRACE() or TRACE_EVENT(). Several may have the same name,
 * and dlopen() may bring more later. One probe function serves all of them. It takes the arguments
 * as any call passes them: numbers and pointers. A built-in event is a tracepoint as well. Its
 * arguments are the fields of its records. It has no address in the program; its id, which is lower
 * than any code address, is in the place of one.
 *
 * A tracepoint has a hook, which is never freed, as a thread may be about to call it. The hook has
 * the probe, which is read between ring_enter() and ring_leave(): any context, no lock, no libc.
 * All else: control context. fork: the child has the same. Tests: tests/engine/events/tprobe.
 */
#include "engine/events/probe/tprobe.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/events/object_items.h"
#include "engine/events/trigger/trigger.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/events/probe/probe_command.h"
#include "engine/events/tracepoint/tracepoint.h"
#include "engine/ring/ring.h"

#define PRIO 10

static struct hook {
	struct hook *next;
	struct probe *probe; /* NULL: the hook may be used for another probe */
} * hooks;

/* After @data the first five arguments are in registers, the others above the return address. */
static void hit(void *data, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	const uint64_t args[] = {a, b, c, d, e};
	struct arch_regs saved = {{0}};
	struct fetch_regs regs = {.r = saved.saved,
				  .ip = (uint64_t)__builtin_return_address(0),
				  .sp = (uint64_t)__builtin_dwarf_cfa() - 8};
	const struct hook *h = data;
	struct srcu_thread *in;
	struct probe *p;
	uint32_t i;

	if (!area)
		return;
	for (i = 0; i < ARRAY_SIZE(args); i++)
		saved.saved[arch_arg_reg(i + 1)] = args[i];
	in = ring_enter();
	if (!in)
		return;
	p = load_acquire(&h->probe);
	if (p)
		probe_hit(p, &regs, 0, NULL);
	ring_leave(in);
}

/* Called at a built-in event. */
static void fire(struct event_trigger *t, const void *record)
{
	const struct probe *p = t->data;
	struct fetch_regs regs = {.record = record, .ip = p->attached->id};

	probe_hit(t->data, &regs, 0, NULL);
}

static const struct trigger_ops own_ops = {
	.name = "tprobe", .group = GROUP_PROBE, .post = 1, .fire = fire};

static int arm_own(struct probe *p, int on)
{
	struct event_file *f;
	int err;

	if (p->attached->gone)
		return on ? -ENOENT : 0;
	f = event_file_get(p->attached, &global_trace);
	if (!f)
		return -ENOMEM;
	if (!on) {
		trigger_detach(f, &own_ops, p);
		p->armed = 0;
		return 0;
	}
	err = trigger_attach(f, &own_ops, p, NULL);
	p->armed = !err;
	return err;
}

static struct hook *hook_of(const struct probe *p)
{
	struct hook *h;

	for (h = hooks; h && h->probe != p; h = h->next)
		;
	return h;
}

static struct hook *hook_get(struct probe *p)
{
	struct hook *h = hook_of(p);

	if (!h)
		h = hook_of(NULL);
	if (!h) {
		h = heap_alloc(sizeof(*h));
		if (!h)
			return NULL;
		h->next = hooks;
		hooks = h;
	}
	store_release(&h->probe, p);
	return h;
}

static int add(struct tracepoint *tp, void *arg)
{
	int err = tracepoint_probe_add(tp, (void *)hit, arg, PRIO, PROBE_OURS, NULL);

	return err == -EEXIST ? 0 : err;
}

static int take_out(struct tracepoint *tp, void *arg)
{
	tracepoint_probe_remove(tp, (void *)hit, arg);
	return 0;
}

static int disarm(struct probe *p)
{
	struct hook *h = hook_of(p);

	if (h) {
		tracepoint_each(p->place, take_out, h);
		store_release(&h->probe, NULL);
	}
	p->armed = 0;
	return ring_synchronize();
}

int tprobe_arm(struct probe *p, int on)
{
	struct hook *h;
	int err;

	if (p->attached)
		return arm_own(p, on);
	if (!on)
		return disarm(p);
	h = hook_get(p);
	if (!h)
		return -ENOMEM;
	p->armed = 1;
	err = tracepoint_each(p->place, add, h);
	if (err)
		disarm(p);
	return err;
}

/* An object was loaded: probes also get its tracepoints of their names. */
static void follow(const struct object_items *items)
{
	struct dyn_event *e;

	for (e = dyn_events; e; e = e->next) {
		struct probe *p = (struct probe *)(uintptr_t)e;
		struct hook *h;

		if (e->class != &tprobe_class || !p->armed || p->attached)
			continue;
		h = hook_of(p);
		if (h && tracepoint_each(p->place, add, h))
			area_status("a probe of a tracepoint cannot be on in what was loaded",
				    p->place, 0);
	}
}

static int is_there(struct tracepoint *tp, void *arg)
{
	(void)tp;
	(void)arg;
	return 1;
}

/* The built-in event of that name, if the program has no tracepoint of that name. */
static struct event *find_own(const char *name)
{
	struct event *e;

	if (tracepoint_each(name, is_there, NULL))
		return NULL;
	events_settle();
	for (e = events; e; e = e->next)
		if (!e->gone && e->class && e->class->is_tracepoint && str_equal(e->name, name))
			return e;
	return NULL;
}

static int bad(struct probe_definition *d, uint32_t position, const char *text)
{
	return probe_bad(d, position, text, -EINVAL);
}

static int read_tracepoint(struct probe_definition *d)
{
	const char *text = d->c->word[1];
	uint32_t n = d->c->bytes[1], i;

	d->word = 1;
	i = (uint32_t)text_find(text, n, '%');
	if (i < n)
		return bad(d, i, "Invalid probed address suffix");
	for (i = 0; i < n; i++)
		if (!is_digit(text[i]) && !fetch_good_name(text + i, 1))
			return bad(d, i, "Invalid character in tracepoint name");
	memcpy(d->place, text, n);
	d->place[n] = 0;
	if (!d->name[0]) {
		struct seq_buf s;

		seq_init(&s, d->name, sizeof(d->name) - 1);
		seq_puts(&s, is_digit(*text) ? "_" : "");
		seq_puts(&s, d->place);
		d->name[s.len] = 0;
	}
	d->attached = find_own(d->place);
	return 0;
}

/*
 * Replace `$arg*` of a built-in event by all its fields. *@out: the new command; the caller frees
 * it.
 */
static int expand(struct probe_definition *d, struct dyn_command **out)
{
	const struct dyn_command *c = d->c;
	const struct event *e = d->attached;
	char text[DYN_MAX_COMMAND];
	uint32_t i, k, nr = 0;
	struct seq_buf s;

	seq_init(&s, text, sizeof(text));
	for (i = 0; i < c->nr_words; i++) {
		if (i < 2 || c->bytes[i] != 5 || memcmp(c->word[i], "$arg*", 5) != 0) {
			for (k = 0; k < c->bytes[i]; k++)
				seq_putc(&s, c->word[i][k]);
			seq_putc(&s, ' ');
			continue;
		}
		d->word = i;
		if (nr++)
			return bad(d, 0, "$arg* can be used only once in the parameters");
		for (k = 0; k < e->nr_fields; k++) {
			seq_puts(&s, e->fields[k].name);
			seq_putc(&s, ' ');
		}
	}
	if (!nr)
		return 0;
	*out = s.lost ? NULL : heap_alloc(sizeof(**out) + s.len);
	if (!*out)
		return s.lost ? -E2BIG : -ENOMEM;
	/* its words point into the text behind it */
	memcpy(*out + 1, text, s.len);
	d->c = *out;
	return dyn_command_split(*out, (const char *)(*out + 1), s.len);
}

static int create(const struct dyn_command *c, struct dyn_error *error)
{
	struct dyn_command *expanded = NULL;
	struct probe_definition *d;
	uint32_t colon;
	int err;

	if (c->nr_words < 2 || *c->word[0] != 't' ||
	    (c->bytes[0] > 1 && c->word[0][1] != ':' && !is_digit(c->word[0][1])))
		return -ECANCELED;
	d = probe_begin(c, error, &tprobe_class, "tracepoints");
	if (!d)
		return -ENOMEM;
	d->is_function = d->is_tracepoint = 1;
	err = probe_read_kind(d, &colon);
	if (!err && d->maxactive)
		err = bad(d, 1, "Maxactive is only for function exit");
	if (!err && colon < c->bytes[0])
		err = probe_read_name(d, c->word[0] + colon + 1, c->bytes[0] - colon - 1,
				      colon + 1);
	if (!err)
		err = read_tracepoint(d);
	if (!err)
		err = probe_has_errors(d);
	if (!err && d->attached)
		err = expand(d, &expanded);
	if (!err)
		err = probe_finish(d);
	heap_free(expanded);
	heap_free(d);
	return err;
}

const struct dyn_class tprobe_class = {
	.kind = DYN_PROBE_TPROBE,
	.create = create,
	.show = probe_show,
	.is_busy = probe_is_busy,
	.matches = probe_matches,
	.free = probe_dyn_free,
};
DYN_CLASS_REGISTER(tprobe_class);

ITEMS_READER(ITEMS_PROBES, follow, NULL);
