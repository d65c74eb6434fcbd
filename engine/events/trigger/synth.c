/* SPDX-License-Identifier: MIT */
/*
 * See synth.h: the events, their list, their removal, and their records. Format and print format
 * are the kernel's (6.12): a number has eight bytes, a string of fixed size 256; data of variable
 * length is behind all fields.
 *
 * Control context, except synth_fire(). fork: the child has the same events, and goes on to fire
 * them. Costs: bench "events". Tests: tests/engine/events/synth.
 */
#include "engine/events/trigger/synth.h"

#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/heap.h"
#include "engine/events/builtin_event.h"
#include "engine/ring/ring_write.h"

#define HEAD_BYTES	8u
#define MAX_PRINT_BYTES 8000u
#define SYSTEM		"synthetic"
#define DATA_LOC	"__data_loc "
#define MAX_TYPE_BYTES	64u
#define MAX_DEPTH	10u /* of events that make others, and of handlers that interrupt these */

static const struct dyn_class synth_class;

static struct synth_event *as_synth(const struct dyn_event *e)
{
	return (struct synth_event *)(uintptr_t)e;
}

static int is_synth(const struct dyn_event *e)
{
	return e->class == &synth_class;
}

struct synth_event *synth_find(const char *name, size_t n)
{
	struct dyn_event *e;

	for (e = dyn_events; e; e = e->next)
		if (is_synth(e) && strlen(as_synth(e)->name) == n &&
		    !memcmp(as_synth(e)->name, name, n))
			return as_synth(e);
	return NULL;
}

/* Nothing to do: synth_fire() itself looks for the files that are on. */
static int enable(struct event *e, struct event_file *file, int on)
{
	(void)e;
	(void)file;
	(void)on;
	return 0;
}

static const struct event_class event_class = {.enable = enable};

/* State while an event is made. */
struct scratch {
	struct vestige_event_field fields[SYNTH_MAX_FIELDS + 1];
	char types[SYNTH_MAX_FIELDS][MAX_TYPE_BYTES];
	char print[MAX_PRINT_BYTES + 1];
};

static void put_print(const struct synth_event *e, struct seq_buf *s)
{
	uint32_t i;

	seq_putc(s, '"');
	for (i = 0; i < e->nr_fields; i++) {
		struct synth_type type;

		synth_type_of(e->fields[i].type, &type);
		seq_puts(s, i ? ", " : "");
		seq_puts(s, e->fields[i].name);
		seq_putc(s, '=');
		seq_puts(s, type.conversion);
	}
	seq_putc(s, '"');
	for (i = 0; i < e->nr_fields; i++) {
		uint8_t kind = e->fields[i].kind;

		seq_puts(s, kind == SYNTH_DYN_STRING ? ", __get_str("
			    : kind == SYNTH_STACK    ? ", __get_stacktrace("
						     : ", REC->");
		seq_puts(s, e->fields[i].name);
		if (kind == SYNTH_DYN_STRING || kind == SYNTH_STACK)
			seq_putc(s, ')');
	}
}

static void fill_fields(const struct synth_event *e, struct scratch *w)
{
	uint32_t i;

	for (i = 0; i < e->nr_fields; i++) {
		const struct synth_field *f = &e->fields[i];
		struct seq_buf s;

		seq_init(&s, w->types[i], MAX_TYPE_BYTES - 1);
		if (f->kind == SYNTH_STRING) {
			/* here the kernel prints neither the length nor the fields behind it */
			seq_puts(&s, "char[]");
		} else {
			seq_puts(&s, f->kind == SYNTH_NUMBER ? "" : DATA_LOC);
			seq_puts(&s, f->type);
		}
		w->fields[i] = (struct vestige_event_field){
			.type = w->types[i],
			.name = f->name,
			.size = f->size,
			.offset = f->offset,
			.is_signed = f->is_signed,
			.filter_type = f->kind == SYNTH_STACK ? FILTER_STACKTRACE : FILTER_OTHER};
	}
}

static int register_event(struct synth_event *e)
{
	struct scratch *w = heap_alloc(sizeof(*w));
	struct event *clash = NULL;
	struct seq_buf s;

	if (!w)
		return -ENOMEM;
	fill_fields(e, w);
	seq_init(&s, w->print, MAX_PRINT_BYTES);
	put_print(e, &s);
	if (!s.lost)
		e->event = event_add(SYSTEM, e->name, w->fields, w->print, &event_class, e, &clash);
	heap_free(w);
	return e->event ? 0 : clash ? -EEXIST : -ENOMEM;
}

static void synth_free(struct dyn_event *dyn)
{
	struct synth_event *e = as_synth(dyn);
	uint32_t i;

	if (e->event)
		event_gone(e->event);
	for (i = 0; i < e->nr_fields; i++) {
		heap_free((void *)(uintptr_t)e->fields[i].type);
		heap_free((void *)(uintptr_t)e->fields[i].name);
	}
	heap_free((void *)(uintptr_t)e->name);
	heap_free(e);
}

int synth_define(const char *name, size_t name_bytes, const struct synth_field *fields, uint32_t nr)
{
	struct synth_event *e = heap_alloc(sizeof(*e) + nr * sizeof(e->fields[0]));
	uint32_t i, at = HEAD_BYTES;
	int err = 0;

	if (!e)
		return -ENOMEM;
	e->dyn.class = &synth_class;
	e->nr_fields = nr;
	e->name = heap_copy(name, name_bytes);
	for (i = 0; i < nr; i++) {
		struct synth_field *f = &e->fields[i];

		*f = fields[i];
		f->type = heap_copy(fields[i].type, strlen(fields[i].type));
		f->name = heap_copy(fields[i].name, strlen(fields[i].name));
		f->offset = at;
		at += f->kind == SYNTH_STRING ? SYNTH_STRING_BYTES : 8;
		if (!f->type || !f->name)
			err = -ENOMEM;
	}
	e->fixed_bytes = at;
	if (!e->name)
		err = -ENOMEM;
	if (!err)
		err = register_event(e);
	if (err)
		synth_free(&e->dyn);
	else
		dyn_event_add(&e->dyn);
	return err;
}

static void put_definition(const struct synth_event *e, struct seq_buf *s)
{
	uint32_t i;

	seq_puts(s, e->name);
	seq_putc(s, '\t');
	for (i = 0; i < e->nr_fields; i++) {
		seq_puts(s, i ? "; " : "");
		seq_puts(s, e->fields[i].type);
		seq_putc(s, ' ');
		seq_puts(s, e->fields[i].name);
	}
}

static void synth_show(const struct dyn_event *e, struct seq_buf *s)
{
	seq_puts(s, "s:" SYSTEM "/");
	put_definition(as_synth(e), s);
}

void synth_show_all(struct seq_buf *s)
{
	const struct dyn_event *e;

	for (e = dyn_events; e; e = e->next) {
		if (!is_synth(e))
			continue;
		put_definition(as_synth(e), s);
		seq_putc(s, '\n');
	}
}

static int synth_is_busy(const struct dyn_event *dyn)
{
	const struct synth_event *e = as_synth(dyn);
	const struct event_file *f;

	if (e->nr_users || e->event->nr_users)
		return 1;
	for (f = e->event->files; f; f = f->next)
		if (f->flags & (EVENT_FILE_ENABLED | EVENT_FILE_SOFT_MODE))
			return 1;
	return 0;
}

static int synth_matches(const struct dyn_event *e, const char *group, size_t group_bytes,
			 const char *name, size_t name_bytes, const struct dyn_command *c)
{
	(void)c;
	return (!group || text_is(group, group_bytes, SYSTEM)) &&
	       (!name || text_is(name, name_bytes, as_synth(e)->name));
}

int synth_remove(const char *name, size_t n)
{
	struct synth_event *e = synth_find(name, n);

	if (!e)
		return -ENOENT;
	if (synth_is_busy(&e->dyn))
		return -EBUSY;
	dyn_event_remove(&e->dyn);
	return 0;
}

static int synth_create(const struct dyn_command *c, struct dyn_error *error)
{
	return synth_dynamic_command(c->raw, c->raw_bytes, error);
}

static const struct dyn_class synth_class = {
	.kind = DYN_SYNTH,
	.create = synth_create,
	.show = synth_show,
	.is_busy = synth_is_busy,
	.matches = synth_matches,
	.free = synth_free,
};
DYN_CLASS_REGISTER(synth_class);

static uint32_t string_bytes(uint64_t val)
{
	const char *text = (const char *)(uintptr_t)val;
	uint32_t n = 0;

	while (n < SYNTH_STRING_BYTES - 1 && text[n])
		n++;
	return n + 1;
}

/* The bytes of a stack, with the zero behind the last address if it fits. */
static uint32_t stack_bytes(uint64_t val)
{
	const uint64_t *stack = (const uint64_t *)(uintptr_t)val;
	uint32_t n = 0;

	while (n < SYNTH_STACK_FRAMES && stack[n])
		n++;
	return (n < SYNTH_STACK_FRAMES ? n + 1 : n) * 8;
}

static uint32_t varying_bytes(const struct synth_field *f, uint64_t val)
{
	if (f->kind == SYNTH_DYN_STRING)
		return string_bytes(val);
	return f->kind == SYNTH_STACK ? stack_bytes(val) : 0;
}

static void put_string(uint8_t *to, uint64_t val, uint32_t n)
{
	memcpy(to, (const void *)(uintptr_t)val, n - 1);
	to[n - 1] = 0;
}

static void fill(const struct synth_event *e, const uint64_t *vals, uint8_t *record)
{
	uint32_t i, at = e->fixed_bytes;

	for (i = 0; i < e->nr_fields; i++) {
		const struct synth_field *f = &e->fields[i];
		uint32_t n = varying_bytes(f, vals[i]);
		uint64_t word = at | (uint64_t)n << 16;

		switch (f->kind) {
		case SYNTH_STRING:
			n = string_bytes(vals[i]);
			put_string(record + f->offset, vals[i], n);
			memset(record + f->offset + n, 0, SYNTH_STRING_BYTES - n);
			continue;
		case SYNTH_DYN_STRING:
			put_string(record + at, vals[i], n);
			break;
		case SYNTH_STACK:
			memcpy(record + at, (const void *)(uintptr_t)vals[i], n);
			break;
		default:
			word = vals[i];
			break;
		}
		/* eight bytes, of which `size` are significant */
		memcpy(record + f->offset, &word, 8);
		at += n;
	}
}

void synth_fire(const struct synth_event *e, const uint64_t *vals)
{
	uint32_t i, bytes = e->fixed_bytes;
	uint8_t *record;

	/* an event that finally makes itself */
	if (unlikely(srcu_nest(SRCU_RING) > MAX_DEPTH))
		return;
	for (i = 0; i < e->nr_fields; i++)
		bytes += varying_bytes(&e->fields[i], vals[i]);
	if (unlikely(bytes > RING_MAX_RECORD)) {
		ring_count_dropped(ring_top);
		return;
	}
	record = __builtin_alloca_with_align(bytes + 8, 64);
	fill(e, vals, record);
	event_write_each(e->event, record, bytes);
}
