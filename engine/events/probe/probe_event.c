/* SPDX-License-Identifier: MIT */
/*
 * See probe_event.h: the events that probes make, several probes of one event, how they are listed
 * and removed. Format and print format are the kernel's (6.12).
 *
 * Control context. fork: the child has the same probes, on or off as in the parent. Tests:
 * tests/engine/events/kprobe.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/object.h"
#include "engine/events/probe/eprobe.h"
#include "engine/events/probe/probe_command.h"
#include "engine/events/probe/tprobe.h"
#include "engine/ring/ring.h"

#define MAX_PRINT_BYTES 60000u

/* Report an event, and how many of its places have no probe. */
static void say_refused(const struct probe_event *pe)
{
	char text[2 * DYN_MAX_NAME + 64];
	struct seq_buf s;

	seq_init(&s, text, sizeof(text) - 1);
	seq_puts(&s, pe->group);
	seq_putc(&s, ':');
	seq_puts(&s, pe->name);
	seq_puts(&s, ", ");
	seq_putu(&s, pe->nr_refused);
	seq_puts(&s, " of ");
	seq_putu(&s, pe->nr_probes);
	text[s.len] = 0;
	area_status("places of an event that have no probe", text, 0);
}

/*
 * The event was switched on in one more file, or off: arm or disarm its probes. A place that is
 * refused does not keep the others from being armed; vestige_status says why, and how many are
 * refused. Return: 0; -errno of the first place, if no place has a probe.
 */
static int arm_all(struct probe_event *pe)
{
	int err, first = 0, on = pe->nr_on > 0, some = 0;
	struct probe *p;

	pe->nr_refused = 0;
	for (p = pe->probes; p; p = p->sibling) {
		err = p->armed != (uint32_t)on ? probe_arm(p, on) : 0;
		some |= !err;
		if (!err)
			continue;
		pe->nr_refused++;
		if (!first)
			first = err;
	}
	if (on && some && pe->nr_refused)
		say_refused(pe);
	return some ? 0 : first;
}

int probe_event_enable(struct event *e, struct event_file *file, int on)
{
	struct probe_event *pe = e->data;
	int err;

	(void)file;
	pe->nr_on += on ? 1u : UINT32_MAX;
	if (pe->nr_on != (on ? 1u : 0u))
		return 0;
	err = arm_all(pe);
	if (err && on) {
		pe->nr_on--;
		arm_all(pe);
	}
	return on ? err : 0;
}

static const struct event_class probe_event_class = {.enable = probe_event_enable, .may_fail = 1};

const struct probe_event *probe_event_of(const struct event *e)
{
	return e->class == &probe_event_class || e->class == &eprobe_event_class ? e->data : NULL;
}

uint32_t probe_head_bytes(uint32_t kind, int is_return)
{
	return kind == DYN_PROBE_EPROBE ? 8 : is_return ? 24 : 16;
}

static void put_print(const struct probe_event *pe, const struct event *attached, struct seq_buf *s)
{
	uint32_t i;

	seq_putc(s, '"');
	if (attached) {
		seq_putc(s, '(');
		seq_puts(s, attached->system);
		seq_putc(s, '.');
		seq_puts(s, attached->name);
		seq_putc(s, ')');
	} else {
		seq_puts(s, pe->is_return ? "(%lx <- %lx)" : "(%lx)");
	}
	for (i = 0; i < pe->nr_args; i++) {
		seq_putc(s, ' ');
		seq_puts(s, pe->args[i].name);
		seq_putc(s, '=');
		fetch_put_conversion(&pe->args[i], s);
	}
	seq_putc(s, '"');
	if (!attached)
		seq_puts(s, pe->is_return ? ", REC->__probe_func, REC->__probe_ret_ip"
					  : ", REC->__probe_ip");
	for (i = 0; i < pe->nr_args; i++)
		fetch_put_value(&pe->args[i], s);
}

/* State while an event is made. */
struct scratch {
	struct vestige_event_field fields[FETCH_MAX_ARGS + 3];
	char types[FETCH_MAX_ARGS][32];
	char print[MAX_PRINT_BYTES + 1];
};

static void fill_fields(const struct probe_event *pe, struct scratch *w)
{
	struct vestige_event_field *f = w->fields;
	uint32_t i;

	if (pe->kind != DYN_PROBE_EPROBE)
		*f++ = (struct vestige_event_field){.type = "unsigned long",
						    .name = pe->is_return ? "__probe_func"
									  : "__probe_ip",
						    .size = 8,
						    .offset = 8};
	if (pe->is_return)
		*f++ = (struct vestige_event_field){
			.type = "unsigned long", .name = "__probe_ret_ip", .size = 8, .offset = 16};
	for (i = 0; i < pe->nr_args; i++) {
		const struct fetch_arg *a = &pe->args[i];
		struct seq_buf s;

		seq_init(&s, w->types[i], sizeof(w->types[i]) - 1);
		seq_puts(&s, a->type->field);
		if (a->count) {
			seq_putc(&s, '[');
			seq_putu(&s, a->count);
			seq_putc(&s, ']');
		}
		w->types[i][s.len] = 0;
		*f++ = (struct vestige_event_field){.type = w->types[i],
						    .name = a->name,
						    .size = fetch_field_bytes(a),
						    .offset = a->offset,
						    .is_signed = a->type->is_signed};
	}
	*f = (struct vestige_event_field){0};
}

/* Register the event of a new probe_event. Return: 0, -EEXIST, -E2BIG, -ENOMEM. */
static int make_event(struct probe_event *pe, const struct probe_event_spec *spec)
{
	struct scratch *w = heap_alloc(sizeof(*w));
	struct event *clash;
	struct seq_buf s;
	int err = 0;

	if (!w)
		return -ENOMEM;
	fill_fields(pe, w);
	seq_init(&s, w->print, MAX_PRINT_BYTES);
	put_print(pe, spec->attached, &s);
	w->print[s.len] = 0;
	if (s.lost)
		err = -E2BIG;
	else
		pe->event = event_add(pe->group, pe->name, w->fields, w->print, spec->class, pe,
				      &clash);
	if (!err && !pe->event)
		err = clash ? -EEXIST : -ENOMEM;
	heap_free(w);
	return err;
}

static struct probe *as_probe(const struct dyn_event *e)
{
	return (struct probe *)(uintptr_t)e;
}

static int is_probe(const struct dyn_event *e)
{
	return e->class == &kprobe_class || e->class == &uprobe_class ||
	       e->class == &fprobe_class || e->class == &tprobe_class;
}

/* Whether an existing event may have another place. Return: 0: it may. */
static int may_join(struct probe_definition *d, const struct probe_event *pe,
		    const struct fetch_arg *args, uint32_t nr)
{
	const struct dyn_event *e;
	uint32_t i;

	d->word = 0;
	if (pe->is_return != d->is_return || pe->kind != d->class->kind)
		return probe_bad(d, 0, "Probe type is different from existing probe", -EEXIST);
	for (i = 0; i < nr && i < pe->nr_args; i++)
		if (!fetch_same_field(&pe->args[i], &args[i]))
			break;
	if (i < nr || i < pe->nr_args) {
		d->word = i < nr ? i + 2 : d->c->nr_words;
		return probe_bad(d, 0, "Argument type or name is different from existing probe",
				 -EEXIST);
	}
	for (e = dyn_events; e; e = e->next) {
		const struct probe *p = as_probe(e);

		if (!is_probe(e) || p->event != pe || !str_equal(p->place, d->place))
			continue;
		for (i = 0; i < nr && str_equal(p->args[i].text, args[i].text); i++)
			;
		if (i == nr)
			return probe_bad(d, 0, "There is already the exact same probe event",
					 -EEXIST);
	}
	return 0;
}

struct probe_event *probe_event_new(const struct probe_event_spec *spec, int *err)
{
	size_t bytes = spec->nr_args * sizeof(*spec->args);
	struct probe_event *pe = heap_alloc(sizeof(*pe) + bytes);

	*err = -ENOMEM;
	if (!pe)
		return NULL;
	str_copy(pe->group, sizeof(pe->group), spec->group);
	str_copy(pe->name, sizeof(pe->name), spec->name);
	pe->is_return = spec->is_return != 0;
	pe->kind = (uint8_t)spec->kind;
	pe->nr_args = spec->nr_args;
	pe->fixed_bytes = spec->bytes;
	memcpy(pe->args, spec->args, bytes);
	*err = make_event(pe, spec);
	if (!*err)
		return pe;
	heap_free(pe);
	return NULL;
}

static struct probe *new_probe(const struct probe_definition *d, const struct fetch_arg *args,
			       uint32_t nr)
{
	struct probe *p = heap_alloc(sizeof(*p) + nr * sizeof(*args));
	uint32_t i;

	if (!p)
		return NULL;
	p->dyn.class = d->class;
	p->place = heap_copy(d->place, strlen(d->place));
	p->path = d->is_file ? heap_copy(d->place, d->path_bytes) : NULL;
	p->file_offset = d->file_offset;
	p->maxactive = d->maxactive;
	p->may_come = d->is_file || text_find(d->place, strlen(d->place), ':') < strlen(d->place);
	p->at = d->at;
	p->filter = d->filter ? heap_copy(d->filter, strlen(d->filter)) : NULL;
	p->attached = d->attached;
	if (p->attached)
		p->attached->nr_users++;
	memcpy(p->args, args, nr * sizeof(*args));
	for (i = 0; i < nr; i++)
		if (args[i].base == FETCH_BEGUN && args[i].value >= p->nr_begun)
			p->nr_begun = (uint32_t)args[i].value + 1;
	if (p->place && (p->path || !d->is_file) && (p->filter || !d->filter))
		return p;
	probe_free(p);
	return NULL;
}

static void unlink_sibling(struct probe *p)
{
	struct probe **at = &p->event->probes;

	while (*at && *at != p)
		at = &(*at)->sibling;
	if (!*at)
		return;
	*at = p->sibling;
	p->event->nr_probes--;
}

int probe_join(struct probe_event *pe, struct probe *p)
{
	struct probe **at = &pe->probes;
	int err = 0;

	while (*at)
		at = &(*at)->sibling;
	p->event = pe;
	p->sibling = NULL;
	*at = p;
	pe->nr_probes++;
	if (pe->nr_on)
		err = probe_arm(p, 1);
	if (!err || pe->is_marker)
		return 0;
	unlink_sibling(p);
	/* p->event stays: the probe may have been armed for a moment, and a thread be in it */
	return err;
}

void probe_free(struct probe *p)
{
	struct probe_event *pe = p->event;

	/* a thread may still be in it, although it was switched off before: then it is not freed */
	if ((p->armed && probe_arm(p, 0)) || synchronize_srcu(SRCU_OPS) || ring_synchronize())
		return;
	if (pe)
		unlink_sibling(p);
	if (pe && !pe->nr_probes) {
		event_gone(pe->event);
		heap_free(pe);
	}
	heap_free((void *)(uintptr_t)p->place);
	if (p->attached)
		p->attached->nr_users--;
	heap_free((void *)(uintptr_t)p->filter);
	heap_free((void *)(uintptr_t)p->path);
	heap_free(p);
}

void probe_dyn_free(struct dyn_event *e)
{
	probe_free(as_probe(e));
}

/* The command is read: make the probe. */
int probe_define(struct probe_definition *d, const struct fetch_arg *args, uint32_t nr,
		 uint32_t bytes)
{
	struct event *there = event_find(d->group, strlen(d->group), d->name, strlen(d->name));
	const struct event_class *class = d->is_event ? &eprobe_event_class : &probe_event_class;
	const struct event *attached = d->is_event ? d->attached : NULL;
	struct probe_event *pe = NULL;
	struct probe *p;
	int err = 0;

	d->word = 0;
	if (there && (d->is_event || there->class != &probe_event_class))
		return probe_bad(d, 0, "Given group/event name is already used by another event",
				 -EEXIST);
	if (there) {
		pe = there->data;
		err = may_join(d, pe, args, nr);
	}
	if (err)
		return err;
	p = new_probe(d, args, nr);
	if (!p)
		return -ENOMEM;
	if (!pe)
		pe = probe_event_new(&(struct probe_event_spec){.group = d->group,
								.name = d->name,
								.class = class,
								.kind = d->class->kind,
								.is_return = d->is_return,
								.attached = attached,
								.args = args,
								.nr_args = nr,
								.bytes = bytes},
				     &err);
	if (!pe) {
		probe_free(p);
		return err == -E2BIG ? probe_bad(d, 0, "Event too big (too many fields?)", err)
				     : err;
	}
	err = probe_join(pe, p);
	if (err) {
		probe_free(p);
		d->word = 1;
		return probe_bad(d, 0, "Failed to register probe event", err);
	}
	dyn_event_add(&p->dyn);
	return 0;
}

static void put_args(const struct probe *p, struct seq_buf *s)
{
	uint32_t i;

	for (i = 0; i < p->event->nr_args; i++) {
		if (i)
			seq_putc(s, ' ');
		seq_puts(s, p->args[i].name);
		seq_putc(s, '=');
		seq_puts(s, p->args[i].text);
	}
}

static char letter_of(const struct probe_event *pe)
{
	if (pe->kind == DYN_PROBE_FPROBE)
		return 'f';
	if (pe->kind == DYN_PROBE_EPROBE)
		return 'e';
	if (pe->kind == DYN_PROBE_TPROBE)
		return 't';
	return pe->is_return ? 'r' : 'p';
}

void probe_show(const struct dyn_event *e, struct seq_buf *s)
{
	const struct probe *p = as_probe(e);

	seq_putc(s, letter_of(p->event));
	if (p->maxactive)
		seq_putu(s, p->maxactive);
	seq_putc(s, ':');
	seq_puts(s, p->event->group);
	seq_putc(s, '/');
	seq_puts(s, p->event->name);
	seq_putc(s, ' ');
	seq_puts(s, p->place);
	if (p->event->nr_args)
		seq_putc(s, ' ');
	put_args(p, s);
}

int probe_is_busy(const struct dyn_event *e)
{
	const struct probe_event *pe = as_probe(e)->event;

	return pe->nr_on > 0 || pe->event->nr_users > 0;
}

/* Whether two places are the same; `SYSTEM/EVENT` is `SYSTEM.EVENT`, too. */
static int same_place(const struct probe *p, const char *text, size_t n)
{
	size_t dot = p->event->kind == DYN_PROBE_EPROBE ? strlen(p->attached->system) : n;

	if (dot < n && text[dot] == '/' && strlen(p->place) == n)
		return !memcmp(p->place, text, dot) &&
		       !memcmp(p->place + dot + 1, text + dot + 1, n - dot - 1);
	return text_is(text, n, p->place);
}

int probe_matches(const struct dyn_event *e, const char *group, size_t group_bytes,
		  const char *name, size_t name_bytes, const struct dyn_command *c)
{
	const struct probe *p = as_probe(e);
	char text[256];
	struct seq_buf s;

	if ((group && !text_is(group, group_bytes, p->event->group)) ||
	    (name && !text_is(name, name_bytes, p->event->name)))
		return 0;
	if (c->nr_words < 2)
		return 1;
	if (!same_place(p, c->word[1], c->bytes[1]))
		return 0;
	if (c->nr_words == 2)
		return 1;
	/* compare them as they are listed; of long ones only the beginning */
	seq_init(&s, text, sizeof(text));
	put_args(p, &s);
	return s.lost ? c->text_bytes - c->at[2] >= s.len &&
				!memcmp(c->text + c->at[2], text, s.len)
		      : dyn_command_words_are(c, 2, text, s.len);
}

#define PROBE_CLASS(self, kind_of, create_one)                                                     \
	const struct dyn_class self = {                                                            \
		.kind = kind_of,                                                                   \
		.create = create_one,                                                              \
		.show = probe_show,                                                                \
		.is_busy = probe_is_busy,                                                          \
		.matches = probe_matches,                                                          \
		.free = probe_dyn_free,                                                            \
	};                                                                                         \
	DYN_CLASS_REGISTER(self)

PROBE_CLASS(kprobe_class, DYN_PROBE_KPROBE, kprobe_create);
PROBE_CLASS(uprobe_class, DYN_PROBE_UPROBE, uprobe_create);
PROBE_CLASS(fprobe_class, DYN_PROBE_FPROBE, fprobe_create);

static void put_padded(struct seq_buf *s, const char *text, uint32_t width)
{
	size_t n = strlen(text);

	seq_puts(s, text);
	for (; n < width; n++)
		seq_putc(s, ' ');
}

static void put_count(struct seq_buf *s, uint64_t v)
{
	char text[24];
	struct seq_buf t;
	size_t i;

	seq_init(&t, text, sizeof(text));
	seq_putu(&t, v);
	for (i = t.len; i < 15; i++)
		seq_putc(s, ' ');
	for (i = 0; i < t.len; i++)
		seq_putc(s, text[i]);
}

void probe_events_profile(uint32_t kind, struct seq_buf *s)
{
	const struct dyn_event *e;

	for (e = dyn_events; e; e = e->next) {
		const struct probe *p = as_probe(e);

		if (!is_probe(e) || !(e->class->kind & kind))
			continue;
		seq_puts(s, "  ");
		if (p->path) {
			seq_puts(s, p->path);
			seq_putc(s, ' ');
		}
		put_padded(s, p->event->name, 44);
		seq_putc(s, ' ');
		put_count(s, __atomic_load_n(&p->nr_hits, __ATOMIC_RELAXED));
		if (!p->path) {
			seq_putc(s, ' ');
			put_count(s, __atomic_load_n(&p->nr_missed, __ATOMIC_RELAXED));
		}
		seq_putc(s, '\n');
	}
}

/* Its object is unloaded, and so are the sites that were switched in it. */
static void forget_gone(struct probe *p)
{
	if (p->at.function == PROBE_NO_FUNCTION)
		p->armed = p->text.place != NULL;
	else if (!object_at(area_function(p->at.function)->object)->loaded)
		probe_arm(p, 0);
}

/* Objects have come or gone: arm file probes that are on in the new objects. */
static void follow(void)
{
	struct dyn_event *e;

	for (e = dyn_events; e; e = e->next) {
		struct probe *p = as_probe(e);

		if (!is_probe(e) || !p->may_come || !p->event->nr_on)
			continue;
		if (p->armed)
			forget_gone(p);
		if (!p->armed)
			probe_arm(p, 1);
	}
}

OBJECT_FOLLOWER(OBJECT_FOLLOW_PROBES, follow);
