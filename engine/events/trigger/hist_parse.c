/* SPDX-License-Identifier: MIT */
/*
 * The line of a histogram. Grammar, messages and positions are the kernel's (6.12), for what is
 * supported: keys with all modifiers, values, two sort fields, size, name, clock, pause, continue,
 * clear, nohitcount. For expressions see hist_expr.c, for variables hist_var.c, for actions
 * hist_action.c. Control context. Tests: tests/engine/events/hist.
 */
#include "engine/events/trigger/hist.h"

#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/heap.h"
#include "engine/events/trigger/hist_vars.h"

/* Log an error at a position of the line. Return: -EINVAL. */
static int bad(struct line *l, const char *text, const char *at)
{
	struct parse_errors *errors = l->errors;

	if (errors->nr < ARRAY_SIZE(errors->e))
		errors->e[errors->nr++] = (struct parse_error){text, (uint32_t)(at - l->all.at)};
	return -EINVAL;
}

int bad_word(struct line *l, const char *text, const struct word *w)
{
	size_t i;

	for (i = 0; w && i + w->n <= l->all.n; i++)
		if (!memcmp(l->all.at + i, w->at, w->n))
			return bad(l, text, l->all.at + i);
	return bad(l, text, l->all.at);
}

/* Find a common field of the record: the same in each record of an event, except the thread. */
static int find_common(struct hist_field *f, const struct word *name, const struct event *e)
{
	f->from = HIST_COMMON;
	f->size = 1;
	if (word_is(name, "common_type")) {
		f->size = 2;
		f->value = e->id;
	} else if (word_is(name, "common_pid")) {
		f->from = HIST_PID;
		f->size = 4;
		f->is_signed = 1;
	} else if (word_is(name, "common_flags")) {
		f->from = HIST_FLAGS;
	} else if (word_is(name, "common_preempt_count")) {
		f->from = HIST_PREEMPT;
	} else {
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
	if (word_is(name, "common_timestamp")) {
		f->from = HIST_TIME;
		l->hist->has_time = 1;
	} else if (word_is(name, "common_stacktrace")) {
		f->from = HIST_STACK;
	} else if (word_is(name, "hitcount")) {
		f->from = HIST_HITCOUNT;
	} else if (word_is(name, "common_cpu")) {
		f->from = HIST_CPU;
	} else if (field) {
		return take_field(f, field);
	} else if (word_is(name, "cpu") || word_is(name, "CPU")) {
		f->from = HIST_CPU;
	} else if (word_is(name, "stacktrace") || word_is(name, "STACKTRACE")) {
		f->from = HIST_STACK;
		str_copy(f->name, sizeof(f->name), "common_stacktrace");
	} else if (find_common(f, name, l->event)) {
		return bad_word(l, "Couldn't find field", name);
	}
	l->hist->has_stack |= f->from == HIST_STACK;
	return 0;
}

/* Parse `buckets=N` or `bucket=N`. Return: whether it is one. */
static int take_buckets(struct hist_field *f, const struct word *m)
{
	struct word rest = *m, name;

	word_next(&rest, '=', &name);
	return (word_is(&name, "buckets") || word_is(&name, "bucket")) && rest.at &&
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
		if (word_is(m, modifiers[i].name))
			f->modifier = modifiers[i].modifier;
	if (word_is(m, "execname") && f->from == HIST_PID)
		f->modifier = HIST_EXECNAME;
	else if (word_is(m, "stacktrace") && f->from == HIST_STACK_FIELD)
		f->modifier = HIST_STACKTRACE;
	else if (take_buckets(f, m))
		f->modifier = HIST_BUCKETS;
	else if (m->n >= 7 && word_is(&percent, "percent") &&
		 is_val) /* the kernel compares only this many bytes */
		f->modifier = HIST_PERCENT;
	else if (m->n >= 5 && word_is(&graph, "graph") && is_val)
		f->modifier = HIST_GRAPH;
	if (!f->modifier)
		return bad_word(l, "Invalid field modifier", m);
	l->hist->in_usecs |= f->from == HIST_TIME && f->modifier == HIST_USECS;
	return 0;
}

int hist_field_parse(struct line *l, struct hist_field *f, struct word text, int is_val)
{
	struct word rest = text, name = {0}, modifier;
	int err;

	word_next(&rest, '.', &name);
	err = find_field(l, f, &name);
	if (!err && word_next(&rest, 0, &modifier))
		err = set_modifier(l, f, &modifier, is_val);
	return err;
}

/* Parse a field or an expression. */
static int parse_operand(struct line *l, struct hist_field *f, const struct word *text, int is_val)
{
	const struct hist_expr *e;
	int err;

	if (!hist_has_operator(text) && text->n && *text->at != '$' && !is_digit(*text->at))
		return hist_field_parse(l, f, *text, is_val);
	err = hist_expr_parse(l, text, &e);
	if (err)
		return err;
	if (e->type != AREA_HIST_NUMBER || strlen(e->text) >= sizeof(f->name))
		return -EINVAL;
	f->from = HIST_EXPR;
	f->expr = e;
	f->size = e->size;
	f->is_signed = e->is_signed;
	memcpy(f->name, e->text, strlen(e->text) + 1);
	return 0;
}

static int has_refs(const struct hist_expr *e)
{
	return e && (e->op == HIST_REF || has_refs(e->a) || has_refs(e->b));
}

/* Set the bytes of a key in a row. Return: what the kernel counts for it. */
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

	while (word_next(&list, ',', &one)) {
		struct hist_field *f = &h->keys[h->nr_keys];

		if (h->nr_keys == HIST_MAX_KEYS)
			return -EINVAL;
		err = parse_operand(l, f, &one, 0);
		if (err)
			return err;
		if (has_refs(f->expr))
			return bad_word(l, "Using variable references in keys not supported", &one);
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

	while (word_next(&list, ',', &one)) {
		struct hist_field f = {0};

		if (word_is(&one, "hitcount") && !hitcounts++)
			continue;
		if (h->nr_vals == HIST_MAX_VALS)
			return -EINVAL;
		err = parse_operand(l, &f, &one, 1);
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
	return word_is(w, "hex") || word_is(w, "log2") || word_is(w, "percent") ||
	       word_is(w, "graph") || word_is(w, "sym") || word_is(w, "sym-offset") ||
	       word_is(w, "syscall") || word_is(w, "usecs") || word_is(w, "stacktrace") ||
	       word_is(w, "execname") || (w->n > 8 && !memcmp(w->at, "buckets=", 8));
}

/* Parse the sort fields, when keys and vals are known. */
static int parse_sort(struct line *l, struct word list)
{
	const char *attribute = list.at - strlen("sort=");
	struct hist *h = l->hist;
	struct word one;
	uint32_t i;

	while (word_next(&list, ',', &one)) {
		struct hist_sort sort = {0};
		struct word rest = one, name, order;
		int found = 0;

		word_next(&rest, '.', &name);
		if (!name.n)
			return bad(l, "Empty sort field", attribute);
		if (h->nr_sorts + 1 == HIST_MAX_SORTS && list.at)
			return bad(l, "Too many sort fields (Max = 2)", attribute);
		/* a listing also has the field's own modifier */
		while (word_next(&rest, '.', &order)) {
			sort.descending |= word_is(&order, "descending");
			if (!word_is(&order, "descending") && !word_is(&order, "ascending") &&
			    !is_modifier(&order))
				return bad(l, "Invalid sort modifier", order.at);
		}
		for (i = 0; i < h->nr_vals && !found; i++) {
			found = word_is(&name, h->vals[i].name);
			sort.index = (uint8_t)i;
		}
		for (i = 0; i < h->nr_keys && !found; i++) {
			found = word_is(&name, h->keys[i].name);
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

	/* the kernel's limits, before it is rounded up */
	if (str_to_u64(value->at, value->n, &v) || v <= HIST_MIN_SIZE / 2 || v > HIST_MAX_SIZE)
		return -EINVAL;
	while (size < v)
		size *= 2;
	l->hist->size = size;
	return 0;
}

/* Take the name of a clock; one that is too long is refused when the clock is set. */
static void take_clock(struct line *l, const struct word *name)
{
	size_t n = sizeof(l->hist->clock) - 1;

	memcpy(l->hist->clock, name->at, name->n < n ? name->n : n);
	l->hist->clock_at = (uint32_t)(name->at - l->all.at);
}

static int take_name(struct line *l, const struct word *attribute, const struct word *name)
{
	if (name->n >= sizeof(l->hist->name))
		return -EINVAL;
	memcpy(l->hist->name, name->at, name->n);
	l->hist->name_at = (uint32_t)(attribute->at - l->all.at);
	return 0;
}

/* The parts of a line, before they are interpreted. */
struct parts {
	struct word keys, vals, sort;
	struct word assignments[HIST_MAX_VARS], actions[HIST_MAX_ACTIONS];
	uint32_t nr_assignments, nr_actions;
};

/* Parse one part `key=value`. */
static int parse_assignment(struct line *l, struct word text, const struct word *name,
			    struct word value, struct parts *p)
{
	if (!value.n)
		return bad(l, "Empty assignment", text.at);
	if (word_is(name, "keys") || word_is(name, "key")) {
		p->keys = value;
	} else if (word_is(name, "vals") || word_is(name, "val") || word_is(name, "values")) {
		p->vals = value;
	} else if (word_is(name, "sort")) {
		p->sort = value;
	} else if (word_is(name, "size")) {
		return parse_size(l, &value);
	} else if (word_is(name, "clock")) {
		take_clock(l, &value);
	} else if (word_is(name, "name")) {
		return take_name(l, &text, &value);
	} else {
		if (p->nr_assignments == HIST_MAX_VARS)
			return bad_word(l, "Too many variables defined", &text);
		p->assignments[p->nr_assignments++] = text;
	}
	return 0;
}

/* Parse one part, `key=value` or a word. */
static int parse_attribute(struct line *l, struct word text, struct parts *p)
{
	struct word rest = text, name;

	word_next(&rest, '=', &name);
	if (rest.at)
		return parse_assignment(l, text, &name, rest, p);
	if (word_is(&name, "pause"))
		l->wish = HIST_PAUSE;
	else if (word_is(&name, "cont") || word_is(&name, "continue"))
		l->wish = HIST_CONTINUE;
	else if (word_is(&name, "clear"))
		l->wish = HIST_CLEAR;
	else if (word_is(&name, "nohitcount") || word_is(&name, "NOHC"))
		l->hist->no_hitcount = 1;
	else if (p->nr_actions < HIST_MAX_ACTIONS && hist_is_action(&text))
		p->actions[p->nr_actions++] = text;
	else
		return -EINVAL;
	return 0;
}

static int parse_parts(struct line *l, const struct parts *p)
{
	struct hist *h = l->hist;
	uint32_t i;
	int err = 0;

	for (i = 0; i < p->nr_actions && !err; i++)
		err = hist_action_parse(l, &p->actions[i]);
	if (!err)
		err = hist_vars_split(l, p->assignments, p->nr_assignments);
	if (!err && p->vals.at)
		err = parse_vals(l, p->vals);
	if (!err && h->no_hitcount && h->nr_vals == 1) {
		bad(l, "Non-hitcount value is required for 'nohitcount'", l->all.at);
		err = -ENOENT;
	}
	if (!err)
		err = hist_vars_parse(l);
	if (!err)
		err = parse_keys(l, p->keys);
	if (!err && p->sort.at)
		err = parse_sort(l, p->sort);
	if (!h->nr_sorts)
		h->nr_sorts = 1; /* hitcount */
	return err;
}

static int parse(struct line *l)
{
	struct word text = l->all, one;
	struct hist *h = l->hist;
	struct parts p = {0};
	int err = 0;

	word_next(&text, ':', &one); /* skip `hist` */
	while (!err && word_next(&text, ':', &one))
		err = parse_attribute(l, one, &p);
	if (!err && !p.keys.at)
		err = -EINVAL;
	h->vals[0] = (struct hist_field){.from = HIST_HITCOUNT, .name = "hitcount"};
	h->nr_vals = 1;
	return err ? err : parse_parts(l, &p);
}

int hist_parse(const struct event_file *f, const char *text, size_t n, int remove,
	       struct hist **out, enum hist_wish *wish, struct parse_errors *errors)
{
	struct line *l = heap_alloc(sizeof(*l));
	int err = -ENOMEM;

	*errors = (struct parse_errors){0};
	if (!l)
		return err;
	*l = (struct line){.file = f,
			   .event = f->event,
			   .all = {text, text_find(text, n, '\0')},
			   .errors = errors,
			   .remove = remove};
	l->hist = heap_alloc(sizeof(*l->hist));
	if (l->hist) {
		l->hist->size = 2048;
		err = parse(l);
	}
	if (err) {
		hist_free(l->hist);
	} else {
		*out = l->hist;
		*wish = l->wish;
	}
	heap_free(l);
	return err;
}

int hist_actions_make(struct hist *h, const struct event_file *f, const char *text, size_t n,
		      struct parse_errors *errors)
{
	struct line *l;
	int err;

	*errors = (struct parse_errors){0};
	if (!h->more || !h->more->nr_actions)
		return 0;
	l = heap_alloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct line){.file = f,
			   .event = f->event,
			   .all = {text, text_find(text, n, '\0')},
			   .errors = errors,
			   .hist = h};
	err = hist_actions_create(l);
	heap_free(l);
	return err;
}

/*
 * Whether two names mean the same: the CPU and the stack have several (`cpu` is listed as
 * `common_cpu`).
 */
static int same_name(const struct hist_field *a, const struct hist_field *b)
{
	return a->from == HIST_CPU || a->from == HIST_STACK || str_equal(a->name, b->name);
}

static int same_fields(const struct hist_field *a, const struct hist_field *b, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!same_name(&a[i], &b[i]) || a[i].modifier != b[i].modifier ||
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
	       !memcmp(a->sorts, b->sorts, a->nr_sorts * sizeof(a->sorts[0])) &&
	       hist_vars_same(a->more, b->more);
}
