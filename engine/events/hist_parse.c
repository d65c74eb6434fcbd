/* SPDX-License-Identifier: MIT */
/*
 * The line of a histogram. Grammar, messages and positions are the kernel's (6.12), as far as what is
 * offered goes: keys with all modifiers, values, two sort fields, size, name, clock, pause, continue,
 * clear, nohitcount. Variables and actions are not there yet and are refused.
 * Control context. Tests: tests/engine/events/hist.
 */
#include "engine/events/hist.h"

#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/heap.h"
#include "engine/events/hist_impl.h"

struct line {
	const struct event *event;
	const char *text;
	struct parse_error *error;
	struct hist *hist;
	enum hist_wish wish;
};

struct word {
	const char *at;
	size_t n;
};

static int bad(struct line *l, const char *text, const char *at)
{
	l->error->text = text;
	l->error->position = (uint32_t)(at - l->text);
	return -EINVAL;
}

static int is(const struct word *w, const char *name)
{
	return strlen(name) == w->n && !memcmp(w->at, name, w->n);
}

/* The bytes up to @end; *@rest is behind it. Return: whether there was anything left. */
static int next(struct word *rest, char end, struct word *out)
{
	size_t n = 0;

	if (!rest->at)
		return 0;
	while (n < rest->n && rest->at[n] != end)
		n++;
	*out = (struct word){rest->at, n};
	if (n < rest->n)
		*rest = (struct word){rest->at + n + 1, rest->n - n - 1};
	else
		*rest = (struct word){0};
	return 1;
}

/* What the record's head tells: each record of an event has the same, but for its thread. */
static int find_common(struct hist_field *f, const struct word *name, const struct event *e)
{
	f->from = HIST_COMMON;
	f->size = 1;
	if (is(name, "common_type")) {
		f->size = 2;
		f->value = e->id;
	} else if (is(name, "common_pid")) {
		f->from = HIST_PID;
		f->size = 4;
		f->is_signed = 1;
	} else if (!is(name, "common_flags") && !is(name, "common_preempt_count")) {
		return -ENOENT;
	}
	return 0;
}

static int take_field(struct hist_field *f, const struct event_field *field)
{
	f->offset = field->offset;
	f->size = field->size;
	f->is_signed = field->is_signed;
	if (field->filter_type == FILTER_STATIC_STRING)
		f->from = HIST_STATIC;
	else if (field->filter_type == FILTER_DYN_STRING)
		f->from = HIST_DYN;
	else if (field->filter_type == FILTER_RDYN_STRING)
		f->from = HIST_RDYN;
	else if (field->filter_type == FILTER_STACKTRACE)
		f->from = HIST_STACK_FIELD;
	else if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		return -EINVAL;
	return 0;
}

static int find_field(struct line *l, struct hist_field *f, const struct word *name)
{
	const struct event_field *field = event_field(l->event, name->at, name->n);

	if (name->n >= sizeof(f->name))
		return -EINVAL;
	memcpy(f->name, name->at, name->n);
	f->size = 8;
	if (is(name, "common_timestamp")) {
		f->from = HIST_TIME;
		l->hist->has_time = 1;
	} else if (is(name, "common_stacktrace")) {
		f->from = HIST_STACK;
	} else if (is(name, "hitcount")) {
		f->from = HIST_HITCOUNT;
	} else if (is(name, "common_cpu")) {
		f->from = HIST_CPU;
	} else if (field) {
		return take_field(f, field);
	} else if (is(name, "cpu") || is(name, "CPU")) {
		f->from = HIST_CPU;
	} else if (is(name, "stacktrace") || is(name, "STACKTRACE")) {
		f->from = HIST_STACK;
		str_copy(f->name, sizeof(f->name), "common_stacktrace");
	} else if (find_common(f, name, l->event)) {
		return bad(l, "Couldn't find field", name->at);
	}
	l->hist->has_stack |= f->from == HIST_STACK;
	return 0;
}

/* `buckets=N`, or `bucket=N`. Return: whether it is. */
static int take_buckets(struct hist_field *f, const struct word *m)
{
	struct word rest = *m, name;

	next(&rest, '=', &name);
	return (is(&name, "buckets") || is(&name, "bucket")) && rest.at &&
	       !str_to_u64(rest.at, rest.n, &f->buckets) && f->buckets;
}

static int set_modifier(struct line *l, struct hist_field *f, const struct word *m, int is_val)
{
	static const struct {
		const char *name;
		uint8_t modifier;
	} modifiers[] = {
		{"hex", HIST_HEX},	   {"sym", HIST_SYM},
		{"syscall", HIST_SYSCALL}, {"sym-offset", HIST_SYM_OFFSET},
		{"log2", HIST_LOG2},	   {"usecs", HIST_USECS},
	};
	const struct word percent = {m->at, 7}, graph = {m->at, 5};
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(modifiers) && !f->modifier; i++)
		if (is(m, modifiers[i].name))
			f->modifier = modifiers[i].modifier;
	if (is(m, "execname") && f->from == HIST_PID)
		f->modifier = HIST_EXECNAME;
	else if (is(m, "stacktrace") && f->from == HIST_STACK_FIELD)
		f->modifier = HIST_STACKTRACE;
	else if (take_buckets(f, m))
		f->modifier = HIST_BUCKETS;
	else if (m->n >= 7 && is(&percent, "percent") && is_val) /* the kernel compares so much */
		f->modifier = HIST_PERCENT;
	else if (m->n >= 5 && is(&graph, "graph") && is_val)
		f->modifier = HIST_GRAPH;
	if (!f->modifier)
		return bad(l, "Invalid field modifier", m->at);
	l->hist->in_usecs |= f->from == HIST_TIME && f->modifier == HIST_USECS;
	return 0;
}

static int parse_field(struct line *l, struct hist_field *f, struct word text, int is_val)
{
	struct word rest = text, name, modifier;
	int err;

	next(&rest, '.', &name);
	err = find_field(l, f, &name);
	if (!err && next(&rest, 0, &modifier))
		err = set_modifier(l, f, &modifier, is_val);
	return err;
}

/* Its room in a row, and what the kernel counts for it. */
static uint32_t key_room(struct hist_field *f)
{
	uint32_t size = f->size < HIST_MAX_STRING ? f->size : HIST_MAX_STRING;

	if (hist_is_stack(f)) {
		f->key_bytes = HIST_MAX_STACK * 8;
		return f->key_bytes;
	}
	f->key_bytes = 8;
	if (!hist_is_string(f))
		return 8;
	size = f->from == HIST_STATIC ? size : HIST_MAX_STRING;
	f->key_bytes = (size + 8) & ~7u;
	return (size + 7) & ~7u;
}

static int parse_keys(struct line *l, struct word list)
{
	struct hist *h = l->hist;
	struct word one;
	uint32_t bytes = 0;
	int err;

	while (next(&list, ',', &one)) {
		struct hist_field *f = &h->keys[h->nr_keys];

		if (h->nr_keys == HIST_MAX_KEYS)
			return -EINVAL;
		err = parse_field(l, f, one, 0);
		if (err)
			return err;
		h->execname |= f->modifier == HIST_EXECNAME;
		f->key_at = h->key_bytes;
		bytes += key_room(f);
		if (bytes > HIST_MAX_KEY)
			return -EINVAL;
		h->key_bytes += f->key_bytes;
		h->nr_keys++;
	}
	return 0;
}

static int parse_vals(struct line *l, struct word list)
{
	struct hist *h = l->hist;
	struct word one;
	int err, hitcounts = 0;

	while (next(&list, ',', &one)) {
		struct hist_field f = {0};

		if (is(&one, "hitcount") && !hitcounts++)
			continue;
		if (h->nr_vals == HIST_MAX_VALS)
			return -EINVAL;
		err = parse_field(l, &f, one, 1);
		if (err)
			return err;
		if (f.modifier == HIST_BUCKETS || f.modifier == HIST_LOG2 ||
		    f.modifier == HIST_SYM || f.modifier == HIST_SYM_OFFSET ||
		    f.modifier == HIST_SYSCALL || hist_is_stack(&f))
			return bad(l, "Invalid field modifier", one.at);
		h->vals[h->nr_vals++] = f;
	}
	return 0;
}

static int is_modifier(const struct word *w)
{
	return is(w, "hex") || is(w, "log2") || is(w, "percent") || is(w, "graph") ||
	       is(w, "sym") || is(w, "sym-offset") || is(w, "syscall") || is(w, "usecs") ||
	       is(w, "stacktrace") || is(w, "execname") ||
	       (w->n > 8 && !memcmp(w->at, "buckets=", 8));
}

/* Behind keys and vals. */
static int parse_sort(struct line *l, struct word list)
{
	const char *attribute = list.at - strlen("sort=");
	struct hist *h = l->hist;
	struct word one;
	uint32_t i;

	while (next(&list, ',', &one)) {
		struct hist_sort sort = {0};
		struct word rest = one, name, order;
		int found = 0;

		next(&rest, '.', &name);
		if (!name.n)
			return bad(l, "Empty sort field", attribute);
		if (h->nr_sorts + 1 == HIST_MAX_SORTS && list.at)
			return bad(l, "Too many sort fields (Max = 2)", attribute);
		/* a listing has the field's own modifier too */
		while (next(&rest, '.', &order)) {
			sort.descending |= is(&order, "descending");
			if (!is(&order, "descending") && !is(&order, "ascending") &&
			    !is_modifier(&order))
				return bad(l, "Invalid sort modifier", order.at);
		}
		for (i = 0; i < h->nr_vals && !found; i++) {
			found = is(&name, h->vals[i].name);
			sort.index = (uint8_t)i;
		}
		for (i = 0; i < h->nr_keys && !found; i++) {
			found = is(&name, h->keys[i].name);
			sort.index = (uint8_t)i;
			sort.is_key = 1;
		}
		if (!found)
			return bad(l, "Sort field must be a key or a val", one.at);
		h->sorts[h->nr_sorts++] = sort;
	}
	return 0;
}

static int parse_size(struct line *l, const struct word *value)
{
	uint64_t v;
	uint32_t size = HIST_MIN_SIZE;

	/* as it is rounded up */
	if (str_to_u64(value->at, value->n, &v) || v <= HIST_MIN_SIZE / 2 || v > HIST_MAX_SIZE)
		return -EINVAL;
	while (size < v)
		size *= 2;
	l->hist->size = size;
	return 0;
}

/* What is too long for a clock's name is none, which is found out when it is set. */
static void take_clock(struct line *l, const struct word *name)
{
	size_t n = sizeof(l->hist->clock) - 1;

	memcpy(l->hist->clock, name->at, name->n < n ? name->n : n);
	l->hist->clock_at = (uint32_t)(name->at - l->text);
}

static int take_name(struct line *l, const struct word *attribute, const struct word *name)
{
	if (name->n >= sizeof(l->hist->name))
		return -EINVAL;
	memcpy(l->hist->name, name->at, name->n);
	l->hist->name_at = (uint32_t)(attribute->at - l->text);
	return 0;
}

/* One of `key=value`, or a word. */
static int parse_attribute(struct line *l, struct word text, struct word *keys, struct word *vals,
			   struct word *sort)
{
	struct word rest = text, name;

	next(&rest, '=', &name);
	if (!rest.at) {
		if (is(&name, "pause"))
			l->wish = HIST_PAUSE;
		else if (is(&name, "cont") || is(&name, "continue"))
			l->wish = HIST_CONTINUE;
		else if (is(&name, "clear"))
			l->wish = HIST_CLEAR;
		else if (is(&name, "nohitcount") || is(&name, "NOHC"))
			l->hist->no_hitcount = 1;
		else
			return -EINVAL;
		return 0;
	}
	if (!rest.n)
		return bad(l, "Empty assignment", text.at);
	if (is(&name, "keys") || is(&name, "key"))
		*keys = rest;
	else if (is(&name, "vals") || is(&name, "val") || is(&name, "values"))
		*vals = rest;
	else if (is(&name, "sort"))
		*sort = rest;
	else if (is(&name, "size"))
		return parse_size(l, &rest);
	else if (is(&name, "name"))
		return take_name(l, &text, &rest);
	else if (is(&name, "clock"))
		take_clock(l, &rest);
	else
		return -EINVAL;
	return 0;
}

static int parse(struct line *l, struct word text)
{
	struct word keys = {0}, vals = {0}, sort = {0}, one;
	struct hist *h = l->hist;
	int err = 0;

	next(&text, ':', &one); /* `hist` */
	while (!err && next(&text, ':', &one))
		err = parse_attribute(l, one, &keys, &vals, &sort);
	if (!err && !keys.at)
		err = -EINVAL;
	h->vals[0] = (struct hist_field){.from = HIST_HITCOUNT, .name = "hitcount"};
	h->nr_vals = 1;
	if (!err && vals.at)
		err = parse_vals(l, vals);
	if (!err && h->no_hitcount && h->nr_vals == 1) {
		bad(l, "Non-hitcount value is required for 'nohitcount'", l->text);
		err = -ENOENT;
	}
	if (!err)
		err = parse_keys(l, keys);
	if (!err && sort.at)
		err = parse_sort(l, sort);
	if (!h->nr_sorts)
		h->nr_sorts = 1; /* hitcount */
	return err;
}

int hist_parse(const struct event *e, const char *text, size_t n, struct hist **out,
	       enum hist_wish *wish, struct parse_error *error)
{
	struct line l = {.event = e, .text = text, .error = error};
	int err;

	*error = (struct parse_error){0};
	l.hist = heap_alloc(sizeof(*l.hist));
	if (!l.hist)
		return -ENOMEM;
	l.hist->size = 2048;
	err = parse(&l, (struct word){text, n});
	if (err) {
		hist_free(l.hist);
		return err;
	}
	*out = l.hist;
	*wish = l.wish;
	return 0;
}

static int same_fields(const struct hist_field *a, const struct hist_field *b, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!str_equal(a[i].name, b[i].name) || a[i].modifier != b[i].modifier ||
		    a[i].buckets != b[i].buckets || a[i].from != b[i].from ||
		    a[i].size != b[i].size || a[i].is_signed != b[i].is_signed)
			return 0;
	return 1;
}

int hist_same(const struct hist *a, const struct hist *b)
{
	return a->nr_keys == b->nr_keys && a->nr_vals == b->nr_vals && a->nr_sorts == b->nr_sorts &&
	       str_equal(a->name, b->name) && same_fields(a->keys, b->keys, a->nr_keys) &&
	       same_fields(a->vals, b->vals, a->nr_vals) &&
	       !memcmp(a->sorts, b->sorts, a->nr_sorts * sizeof(a->sorts[0]));
}
