/* SPDX-License-Identifier: MIT */
/*
 * See event.h. The list is in order of registration, newest first, as the kernel's. An id is never
 * used again. Control context. fork: the child has the same events, on or off as in the parent, and
 * its area has their formats (area_fork). Tests: tests/engine/events/.
 */
#include "engine/events/event.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/glob.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/events/event_act.h"
#include "engine/events/ftrace_event.h"
#include "engine/events/event_source.h"

struct event *events = ftrace_events + FTRACE_NR_EVENTS - 1;

static uint32_t nr_ids = EVENT_FIRST_ID;

#define MAX_ID UINT16_MAX

static void (*settle)(void);

void events_on_demand(void (*by)(void))
{
	settle = by;
}

void events_settle(void)
{
	static int settling;

	if (settling || !settle)
		return;
	settling = 1;
	settle();
	settling = 0;
}

int event_name_is(const char *s, const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < n && s[i] && s[i] == name[i]; i++)
		;
	return i == n && !s[i];
}

static struct event *find(const char *system, size_t system_bytes, const char *name,
			  size_t name_bytes, int gone)
{
	struct event *e;

	for (e = events; e; e = e->next)
		if (e->gone == gone && event_name_is(e->name, name, name_bytes) &&
		    event_name_is(e->system, system, system_bytes))
			return e;
	return NULL;
}

struct event *event_find(const char *system, size_t system_bytes, const char *name,
			 size_t name_bytes)
{
	struct event *e;

	events_settle();
	e = find(system, system_bytes, name, name_bytes, 0);
	return e ? e : event_source_find(system, system_bytes, name, name_bytes);
}

const struct event_field *event_field(const struct event *e, const char *name, size_t n)
{
	uint32_t i;

	for (i = 0; i < e->nr_fields; i++)
		if (event_name_is(e->fields[i].name, name, n))
			return &e->fields[i];
	return NULL;
}

/* Whether a type is bool, which is a macro in C. */
static int is_bool(const char *type)
{
	return str_starts(type, "_Bool") && (!type[5] || type[5] == '[');
}

static int same_type(const char *ours, const char *type)
{
	return is_bool(type) ? str_equal(ours + 1, type + 2) : str_equal(ours, type);
}

int event_same_fields(const struct event *e, const struct vestige_event_field *fields)
{
	uint32_t i;

	for (i = 0; i < e->nr_fields; i++) {
		const struct event_field *f = &e->fields[i];

		if (!fields[i].type || !same_type(f->type, fields[i].type) ||
		    !str_equal(f->name, fields[i].name) || f->size != fields[i].size ||
		    f->offset != fields[i].offset || f->is_signed != fields[i].is_signed)
			return 0;
	}
	return !fields[i].type;
}

/* Which string functions a filter may use on the field. */
static uint8_t filter_type_of(const struct vestige_event_field *f)
{
	if (f->filter_type != FILTER_OTHER)
		return (uint8_t)f->filter_type;
	if (str_starts(f->type, "__data_loc char"))
		return FILTER_DYN_STRING;
	if (str_starts(f->type, "__rel_loc char"))
		return FILTER_RDYN_STRING;
	if (str_starts(f->type, "__data_loc cpumask_t") ||
	    str_starts(f->type, "__rel_loc cpumask_t"))
		return FILTER_CPUMASK;
	if (str_equal(f->type, "char *") || str_equal(f->type, "const char *"))
		return FILTER_PTR_STRING;
	if (str_starts(f->type, "char["))
		return FILTER_STATIC_STRING;
	return FILTER_OTHER;
}

/* Copy @s to *@at, and move *@at behind the copy. */
static char *put(char **at, const char *s)
{
	size_t bytes = strlen(s) + 1;
	char *copy = *at;

	memcpy(copy, s, bytes);
	*at += bytes;
	return copy;
}

static const char *put_type(char **at, const char *type)
{
	int skip = is_bool(type);
	char *copy = put(at, type + skip);

	if (skip)
		copy[0] = 'b';
	return copy;
}

static int has_padding(const struct event *e)
{
	uint32_t i, at = 8;

	for (i = 0; i < e->nr_fields; i++) {
		if (e->fields[i].offset != at)
			return 1;
		at += e->fields[i].size;
	}
	return at % 8 != 0;
}

/* The number of @fields, and in *@bytes the size of their texts. */
static uint32_t count_fields(const struct vestige_event_field *fields, size_t *bytes)
{
	uint32_t n = 0;

	for (*bytes = 0; n < EVENT_MAX_FIELDS && fields[n].type; n++)
		*bytes += strlen(fields[n].type) + strlen(fields[n].name) + 2;
	return n;
}

static void put_fields(struct event_field *to, uint32_t nr,
		       const struct vestige_event_field *fields, char *texts)
{
	for (uint32_t i = 0; i < nr; i++) {
		to[i].type = put_type(&texts, fields[i].type);
		to[i].name = put(&texts, fields[i].name);
		to[i].size = fields[i].size;
		to[i].offset = fields[i].offset;
		to[i].is_signed = fields[i].is_signed != 0;
		to[i].filter_type = filter_type_of(&fields[i]);
	}
}

/* Make an event in one block, which is never freed: fifty events are made at each start. */
static struct event *make(const char *system, const char *name,
			  const struct vestige_event_field *fields, const char *print_fmt)
{
	struct event_field *copy;
	size_t bytes, all;
	struct event *e;
	uint32_t n;
	char *texts;

	if (nr_ids > MAX_ID)
		return NULL;
	n = count_fields(fields, &bytes);
	all = sizeof(*e) + (n + 1) * sizeof(*e->fields) + bytes;
	e = heap_alloc(all + strlen(system) + strlen(name) + strlen(print_fmt) + 3);
	if (!e)
		return NULL;
	copy = (struct event_field *)(e + 1);
	put_fields(copy, n, fields, (char *)(copy + n + 1));
	e->fields = copy;
	e->nr_fields = n;
	e->padded = has_padding(e);
	texts = (char *)e + all;
	e->system = put(&texts, system);
	e->name = put(&texts, name);
	e->print_fmt = put(&texts, print_fmt);
	e->id = (uint16_t)nr_ids++;
	e->next = events;
	events = e;
	return e;
}

struct event *event_add(const char *system, const char *name,
			const struct vestige_event_field *fields, const char *print_fmt,
			const struct event_class *class, void *data, struct event **clash)
{
	size_t system_bytes = strlen(system), name_bytes = strlen(name);
	struct event *e;

	*clash = event_find(system, system_bytes, name, name_bytes);
	if (*clash)
		return NULL;
	for (e = events; e; e = e->next)
		if (e->gone && str_equal(e->name, name) && str_equal(e->system, system) &&
		    str_equal(e->print_fmt, print_fmt) && event_same_fields(e, fields))
			break;
	if (!e)
		e = make(system, name, fields, print_fmt);
	if (!e)
		return NULL;
	e->gone = 0;
	e->class = class;
	e->data = data;
	return e;
}

void event_gone(struct event *e)
{
	struct event_file *f;

	for (f = e->files; f; f = f->next)
		event_file_clear(f);
	e->gone = 1;
	e->data = NULL;
}

struct event_file *event_file_find(const struct event *e, const struct trace_array *tr)
{
	struct event_file *f;

	for (f = e->files; f && f->tr != tr; f = f->next)
		;
	return f;
}

struct event_file *event_file_get(struct event *e, struct trace_array *tr)
{
	struct event_file *f = event_file_find(e, tr);

	if (f)
		return f;
	f = heap_alloc(sizeof(*f));
	if (!f)
		return NULL;
	f->pub.ops = &event_ops_none;
	f->event = e;
	f->tr = tr;
	f->next = e->files;
	store_release(&e->files, f); /* builtin_event_write() may read the list at any moment */
	return f;
}

/*
 * Change a file's flags in one atomic step: triggers in other threads may switch it at any moment.
 */
static void change_flags(struct event_file *f, uint32_t (*changed)(uint32_t flags))
{
	uint32_t flags = load_relaxed(&f->flags);

	while (!__atomic_compare_exchange_n(&f->flags, &flags, changed(flags), 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static uint32_t enabled(uint32_t flags)
{
	return (flags | EVENT_FILE_ENABLED) & ~(uint32_t)EVENT_FILE_SOFT_DISABLED;
}

static uint32_t disabled(uint32_t flags)
{
	flags &= ~(uint32_t)EVENT_FILE_ENABLED;
	return flags & EVENT_FILE_SOFT_MODE ? flags | EVENT_FILE_SOFT_DISABLED : flags;
}

static uint32_t soft_mode(uint32_t flags)
{
	flags |= EVENT_FILE_SOFT_MODE;
	return flags & EVENT_FILE_ENABLED ? flags : flags | EVENT_FILE_SOFT_DISABLED;
}

/*
 * As in the kernel: an event that a trigger had switched on stays on, and one that it had switched
 * off stays off.
 */
static uint32_t no_soft_mode(uint32_t flags)
{
	if (flags & EVENT_FILE_SOFT_DISABLED)
		flags &= ~(uint32_t)EVENT_FILE_ENABLED;
	else
		flags |= EVENT_FILE_ENABLED;
	return flags & ~(uint32_t)(EVENT_FILE_SOFT_MODE | EVENT_FILE_SOFT_DISABLED);
}

int event_file_may_switch(const struct event_file *f, int on)
{
	uint32_t flags = load_relaxed(&f->flags);

	return flags & EVENT_FILE_SOFT_MODE && !!(flags & EVENT_FILE_SOFT_DISABLED) == on;
}

void event_file_switch(struct event_file *f, int on)
{
	uint32_t flags = load_relaxed(&f->flags), to;

	do {
		if (!(flags & EVENT_FILE_SOFT_MODE))
			return;
		to = on ? flags & ~(uint32_t)EVENT_FILE_SOFT_DISABLED
			: flags | EVENT_FILE_SOFT_DISABLED;
	} while (!__atomic_compare_exchange_n(&f->flags, &flags, to, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
}

/* Register or unregister its probe function, as the flags say. */
static int bring_probe(struct event_file *f)
{
	int want = (f->flags & (EVENT_FILE_ENABLED | EVENT_FILE_SOFT_MODE)) != 0, err;

	event_file_update(f);
	if (want == !!(f->flags & EVENT_FILE_REGISTERED))
		return 0;
	if (want) {
		err = event_describe(f->event);
		if (err)
			return err;
	}
	/* events of the system ftrace are written in any case */
	err = f->event->class ? f->event->class->enable(f->event, f, want) : 0;
	if (!err)
		__atomic_xor_fetch(&f->flags, EVENT_FILE_REGISTERED, __ATOMIC_RELAXED);
	return err;
}

/* The event cannot be on: restore the state in which no trigger could switch it. */
static void take_back(struct event_file *f, uint32_t was)
{
	store_relaxed(&f->flags, was);
	event_file_update(f);
}

int event_enable(struct event *e, struct trace_array *tr, int on)
{
	struct event_file *f = event_file_get(e, tr);
	uint32_t was;
	int err;

	if (!f)
		return -ENOMEM;
	was = f->flags;
	change_flags(f, on ? enabled : disabled);
	err = bring_probe(f);
	if (err)
		take_back(f, was);
	return err;
}

int event_enable_soft(struct event_file *f, int on)
{
	uint32_t was = f->flags;
	int err;

	if (on && f->soft_count++)
		return 0;
	if (!on && (!f->soft_count || --f->soft_count))
		return 0;
	change_flags(f, on ? soft_mode : no_soft_mode);
	err = bring_probe(f);
	if (err && on) {
		f->soft_count--;
		take_back(f, was);
	}
	return err;
}

/* An instance is removed: clear its state of all events. */
void events_clear(const struct trace_array *tr)
{
	struct event_file *f;
	struct event *e;

	for (e = events; e; e = e->next) {
		f = event_file_find(e, tr);
		if (f)
			event_file_clear(f);
	}
}

void events_update(const struct trace_array *tr)
{
	struct event_file *f;
	const struct event *e;

	for (e = events; e; e = e->next) {
		f = event_file_find(e, tr);
		if (f)
			event_file_update(f);
	}
}

int events_any_on(const struct trace_array *tr)
{
	const struct event_file *f;
	const struct event *e;

	for (e = events; e; e = e->next) {
		f = event_file_find(e, tr);
		if (event_file_is_on(f) || (f && f->triggers))
			return 1;
	}
	return 0;
}

/* Whether a part of `SYSTEM:NAME` matches; an empty part matches anything. */
static int part_fits(const char *part, size_t n, const char *name)
{
	return !n || glob_match(part, n, name);
}

int event_name_fits(const char *event_system, const char *event_name, const char *system,
		    size_t system_bytes, const char *name, size_t name_bytes, int either)
{
	/* as in the kernel, `*` alone names no event */
	if (either && name_bytes == 1 && *name == '*')
		return 0;
	if (either)
		return glob_match(name, name_bytes, event_system) ||
		       glob_match(name, name_bytes, event_name);
	return part_fits(system, system_bytes, event_system) &&
	       part_fits(name, name_bytes, event_name);
}

uint32_t event_each(const char *word, size_t n, void (*act)(void *arg, struct event *e), void *arg)
{
	size_t system_bytes = text_find(word, n, ':'), name_bytes;
	int either = system_bytes == n;
	const char *name = either ? word : word + system_bytes + 1;
	struct event *e;
	uint32_t nr = 0;

	name_bytes = either ? n : n - system_bytes - 1;
	events_settle();
	event_sources_make(word, system_bytes, name, name_bytes, either);
	for (e = events; e; e = e->next) {
		if (e->gone || !e->class ||
		    !event_name_fits(e->system, e->name, word, system_bytes, name, name_bytes,
				     either))
			continue;
		act(arg, e);
		nr++;
	}
	return nr;
}

struct setting {
	struct trace_array *tr;
	int on, some, err, last;
};

static void set_one(void *arg, struct event *e)
{
	struct setting *s = arg;
	int err = event_enable(e, s->tr, s->on);

	s->some |= !err;
	if (err)
		s->last = err;
	if (err && !e->class->may_fail)
		s->err = err;
}

int event_set(struct trace_array *tr, const char *word, size_t n)
{
	struct setting s = {.tr = tr, .on = 1, .last = -EINVAL};

	if (n && *word == '!') {
		s.on = 0;
		word++;
		n--;
	}
	if (!n)
		return -EINVAL;
	event_each(word, n, set_one, &s);
	return s.some ? s.err : s.last;
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	trace_array_on_destroy(events_clear);
}

LIFECYCLE(LIFECYCLE_CORE, start, NULL, NULL);
