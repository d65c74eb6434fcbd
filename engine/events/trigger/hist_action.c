/* SPDX-License-Identifier: MIT */
/*
 * Actions of histograms: onmatch(SYSTEM.EVENT), onmax($VAR) and onchange($VAR), each with
 * trace(SYNTHETIC,...), SYNTHETIC(...), save(...) or snapshot(). Grammar, messages and positions
 * are the kernel's (6.12). A field of the action's own event becomes a variable of the histogram. A
 * field of another event becomes a variable of a histogram that is made at that event with the same
 * keys; that histogram is removed with the action.
 *
 * Firing: any context, no lock. The largest value is exact even with several threads. The values of
 * save() are from the last thread that found a larger one. All else: control context. Tests:
 * tests/engine/events/hist_vars.
 */
#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/core/tracer.h"
#include "engine/events/trigger/hist_vars.h"
#include "engine/events/trigger/trigger.h"
#include "engine/ring/ring.h"

static int begins(const struct word *w, const char *text)
{
	size_t n = strlen(text);

	return w->n >= n && !memcmp(w->at, text, n);
}

/* Parse the parameters of an action; the first one of trace() is the event. */
static int parse_params(struct line *l, struct hist_action *a, struct word list)
{
	struct word one;
	int first = 1;

	a->params = hist_vars_alloc(l->hist, SYNTH_MAX_FIELDS * sizeof(*a->params));
	a->refs = hist_vars_alloc(l->hist, SYNTH_MAX_FIELDS);
	if (!a->params || !a->refs)
		return -ENOMEM;
	while (word_next(&list, ',', &one)) {
		const char *copy;

		one = word_strip(one);
		if (a->nr_params == SYNTH_MAX_FIELDS) {
			bad_word(l, "Too many action params", NULL);
			return -EINVAL;
		}
		if (one.n < 2)
			return bad_word(l, "Invalid action param", &one);
		copy = hist_vars_copy(l->hist, &one);
		if (!copy)
			return -ENOMEM;
		if (first && a->by_trace)
			a->synth_name = copy;
		else
			a->params[a->nr_params++] = copy;
		first = 0;
	}
	return 0;
}

/* Parse `.name(params)`. */
static int parse_what(struct line *l, struct hist_action *a, struct word text)
{
	struct word skipped, name, params;
	int err;

	word_next(&text, '.', &skipped);
	if (!text.at || !word_next(&text, '(', &name) || !text.at)
		return bad_word(l, "No action found", NULL);
	word_next(&text, ')', &params);
	a->name = hist_vars_copy(l->hist, &name);
	if (!a->name)
		return -ENOMEM;
	a->synth_name = a->name;
	if (begins(&name, "snapshot")) {
		a->what = HIST_SNAPSHOT;
		if (!text.at)
			return bad_word(l, "No closing paren found", &params);
	} else {
		a->what = begins(&name, "save") ? HIST_SAVE : HIST_TRACE;
		a->by_trace = a->what == HIST_TRACE && begins(&name, "trace");
		err = parse_params(l, a, params);
		if (err)
			return err;
	}
	if (a->what != HIST_TRACE && a->handler == HIST_ONMATCH)
		return bad_word(l, "Handler doesn't support action", &name);
	return 0;
}

static int parse_onmatch(struct line *l, struct hist_action *a, struct word text)
{
	struct word match, system, name;
	const struct event *e;

	word_next(&text, ')', &match);
	if (!text.at)
		return bad_word(l, "No closing paren found", &match);
	name = match;
	word_next(&name, '.', &system);
	if (!name.at)
		return bad_word(l, "Missing subsystem", &system);
	e = event_find(system.at, system.n, name.at, name.n);
	if (!e)
		return bad_word(l, "Invalid subsystem or event name", &name);
	a->system = hist_vars_copy(l->hist, &system);
	a->event = hist_vars_copy(l->hist, &name);
	return a->system && a->event ? parse_what(l, a, text) : -ENOMEM;
}

static int parse_track(struct line *l, struct hist_action *a, struct word text)
{
	struct word var;

	word_next(&text, ')', &var);
	if (!text.at)
		return -EINVAL;
	a->var = hist_vars_copy(l->hist, &var);
	return a->var ? parse_what(l, a, text) : -ENOMEM;
}

static const char *const begins_of[] = {
	[HIST_ONMATCH] = "onmatch(", [HIST_ONMAX] = "onmax(", [HIST_ONCHANGE] = "onchange("};

int hist_is_action(const struct word *text)
{
	return begins(text, begins_of[HIST_ONMATCH]) || begins(text, begins_of[HIST_ONMAX]) ||
	       begins(text, begins_of[HIST_ONCHANGE]);
}

int hist_action_parse(struct line *l, const struct word *text)
{
	struct hist_vars *m = hist_vars(l->hist);
	struct hist_action *a;
	struct word shown, rest;
	int err;

	if (!m)
		return -ENOMEM;
	a = &m->actions[m->nr_actions];
	*a = (struct hist_action){.handler = HIST_ONMATCH};
	while (!begins(text, begins_of[a->handler]))
		a->handler++;
	rest = word_behind(*text, strlen(begins_of[a->handler]));
	if (a->handler == HIST_ONMATCH)
		err = parse_onmatch(l, a, rest);
	else
		err = parse_track(l, a, rest);
	if (err)
		return err;
	shown = (struct word){text->at, text_find(text->at, text->n, ')') + 1};
	a->shown = hist_vars_copy(l->hist, &shown);
	m->nr_actions++;
	return a->shown ? 0 : -ENOMEM;
}

static int is_own(const struct line *l, const struct word *system, const struct word *event)
{
	return word_is(system, l->event->system) && word_is(event, l->event->name);
}

/* Find the variable of a parameter `$name`. */
static int find_var(struct line *l, const struct hist_action *a, const struct word *system,
		    const struct word *event, const struct word *name, uint8_t *ref)
{
	struct word match_system, match_event;
	int var = !system || is_own(l, system, event) ? hist_var_find(l->hist, name) : -ENOENT;

	if (var >= 0)
		return hist_ref_add(l->hist, l->hist, (uint8_t)var, system, event, ref);
	if (!system && a->handler == HIST_ONMATCH) {
		match_system = (struct word){a->system, strlen(a->system)};
		match_event = (struct word){a->event, strlen(a->event)};
		system = &match_system;
		event = &match_event;
	}
	var = hist_ref_find(l, system, event, name, ref);
	return var == -ENOENT ? bad_word(l, "Couldn't find param", name) : var;
}

/* Make a variable of this histogram for a field. */
static int make_field_var(struct line *l, const struct word *field, enum hist_var_kind kind,
			  uint8_t *var)
{
	const struct hist_expr *expr;
	int err = hist_atom_parse(l, field, &expr);

	if (err == -EINVAL)
		return bad_word(l, "Couldn't parse field variable", field);
	if (err)
		return err;
	if (hist_var_named(l, field))
		return bad_word(l, "Couldn't create or find variable", field);
	err = hist_var_add(l->hist, kind, field, expr, var);
	return err == -EINVAL ? bad_word(l, "Couldn't create or find variable", field) : err;
}

static const char *type_of(const struct event *e, const struct hist_field *f)
{
	const struct event_field *field = event_field(e, f->name, strlen(f->name));

	return field ? field->type : f->name;
}

static int same_keys(const struct hist *a, const struct event *of_a, const struct hist *b,
		     const struct event *of_b)
{
	uint32_t i;

	if (a->nr_keys != b->nr_keys)
		return 0;
	for (i = 0; i < a->nr_keys; i++) {
		const struct hist_field *x = &a->keys[i], *y = &b->keys[i];

		if (!str_equal(type_of(of_a, x), type_of(of_b, y)) || x->size != y->size ||
		    x->is_signed != y->is_signed || x->from != y->from)
			return 0;
	}
	return 1;
}

/* Put `keys=...:synthetic_FIELD=FIELD [if ...]`, with the keys of the histogram @like. */
static void put_made(const struct hist *like, const char *filter, const struct word *field,
		     struct seq_buf *s)
{
	uint32_t i;
	size_t n;

	seq_puts(s, "hist:keys=");
	for (i = 0; i < like->nr_keys; i++) {
		seq_puts(s, i ? "," : "");
		seq_puts(s, like->keys[i].name);
	}
	seq_puts(s, ":synthetic_");
	for (n = 0; n < field->n; n++)
		seq_putc(s, field->at[n]);
	seq_putc(s, '=');
	for (n = 0; n < field->n; n++)
		seq_putc(s, field->at[n]);
	if (filter) {
		seq_puts(s, " if ");
		seq_puts(s, filter);
	}
}

/*
 * Find the variable for a field of another event, in a histogram there, which is made if there is
 * none.
 */
static int find_other_field(struct line *l, const struct word *system, const struct word *event,
			    const struct word *field, uint8_t *ref)
{
	static const char prefix[] = "synthetic_";
	char text[1024], name[HIST_MAX_STRING];
	struct event *e = event_find(system->at, system->n, event->at, event->n);
	struct event_file *f = e ? event_file_find(e, l->file->tr) : NULL;
	const struct event_trigger *t;
	struct word var = {name, sizeof(prefix) - 1 + field->n};
	struct seq_buf s;
	int err;

	if (!e)
		return bad_word(l, "Event file not found", field);
	for (t = f ? f->triggers : NULL; t; t = t->next)
		if (t->hist && same_keys(l->hist, l->event, t->hist, e))
			break;
	if (!t)
		return bad_word(l, "Matching event histogram not found", field);
	if (var.n > sizeof(name))
		return bad_word(l, "Couldn't create histogram for field", field);
	memcpy(name, prefix, sizeof(prefix) - 1);
	memcpy(name + sizeof(prefix) - 1, field->at, field->n);
	if (!hist_ref_find(l, system, event, &var, ref))
		return 0;
	seq_init(&s, text, sizeof(text));
	put_made(t->hist, trigger_filter(t), field, &s);
	err = s.lost ? -EINVAL : trigger_make_hist(f, text, s.len);
	if (err)
		return err == -EINVAL ? bad_word(l, "Couldn't create histogram for field", field)
				      : err;
	err = hist_ref_find(l, system, event, &var, ref);
	if (!err)
		l->hist->more->refs[*ref].target->more->made = 1;
	return err == -ENOENT ? bad_word(l, "Couldn't find synthetic variable", field) : err;
}

/* Find the field of a parameter: in this histogram's event, else in the matched event. */
static int find_field(struct line *l, const struct hist_action *a, const struct word *system,
		      const struct word *event, const struct word *field, uint8_t *ref)
{
	struct word match_system, match_event;
	struct parse_errors before = *l->errors;
	uint8_t var;
	int err;

	if (!system || is_own(l, system, event)) {
		err = make_field_var(l, field, HIST_VAR_FIELD, &var);
		if (!err)
			return hist_ref_add(l->hist, l->hist, var, system, event, ref);
		if (err != -EINVAL || system || a->handler != HIST_ONMATCH)
			return err;
		match_system = (struct word){a->system, strlen(a->system)};
		match_event = (struct word){a->event, strlen(a->event)};
		err = find_other_field(l, &match_system, &match_event, field, ref);
		/* the first failed lookup does not matter then */
		if (!err)
			*l->errors = before;
		return err;
	}
	return find_other_field(l, system, event, field, ref);
}

static int fits(const struct synth_field *f, const struct hist_expr *e)
{
	switch (f->kind) {
	case SYNTH_DYN_STRING:
		return e->type == AREA_HIST_STRING;
	case SYNTH_STRING:
		return e->type == AREA_HIST_STRING && e->size == f->size;
	case SYNTH_STACK:
		return e->type == AREA_HIST_STACK;
	default:
		return e->type == AREA_HIST_NUMBER &&
		       (str_equal(e->type_name, f->type) ||
			(e->size == f->size && e->is_signed == f->is_signed));
	}
}

static int create_param(struct line *l, struct hist_action *a, const struct synth_event *synth,
			uint32_t i)
{
	struct word text = {a->params[i], strlen(a->params[i])}, rest = text, system, event;
	int qualified, err;

	word_next(&rest, '.', &system);
	qualified = rest.at != NULL;
	if (qualified) {
		word_next(&rest, '.', &event);
		if (!rest.at)
			return -EINVAL;
		text = rest;
	}
	if (text.n && *text.at == '$') {
		struct word name = word_behind(text, 1);

		err = find_var(l, a, qualified ? &system : NULL, &event, &name, &a->refs[i]);
	} else {
		err = find_field(l, a, qualified ? &system : NULL, &event, &text, &a->refs[i]);
	}
	if (err)
		return err;
	if (i >= synth->nr_fields ||
	    !fits(&synth->fields[i], hist_ref_expr(&l->hist->more->refs[a->refs[i]])))
		return bad_word(l, "Param type doesn't match synthetic event field type", &text);
	return 0;
}

static int create_trace(struct line *l, struct hist_action *a)
{
	struct word name = {a->synth_name, strlen(a->synth_name)};
	struct synth_event *synth = synth_find(name.at, name.n);
	uint32_t i;
	int err = 0;

	if (!synth)
		return bad_word(l, "Couldn't find synthetic event", &name);
	synth->nr_users++;
	a->synth = synth;
	for (i = 0; i < a->nr_params && !err; i++)
		err = create_param(l, a, synth, i);
	if (!err && a->nr_params != synth->nr_fields)
		err = bad_word(l, "Param count doesn't match synthetic event field count", &name);
	return err;
}

static int create_save(struct line *l, const struct hist_action *a)
{
	const struct hist_vars *m = l->hist->more;
	uint8_t var;
	uint32_t i;

	for (i = 0; i < m->nr_vars; i++) {
		if (m->vars[i].kind != HIST_VAR_SAVED)
			continue;
		bad_word(l, "Can't have more than one save() action per hist", NULL);
		return -EEXIST;
	}
	for (i = 0; i < a->nr_params; i++) {
		struct word name = {a->params[i], strlen(a->params[i])};
		int err = make_field_var(l, &name, HIST_VAR_SAVED, &var);

		if (err)
			return err == -EINVAL ? bad_word(l, "Couldn't create field variable", &name)
					      : err;
	}
	return 0;
}

static int takes_snapshots(const struct hist *h)
{
	uint32_t i;

	for (i = 0; h->more && i < h->more->nr_actions; i++)
		if (h->more->actions[i].what == HIST_SNAPSHOT)
			return 1;
	return 0;
}

/* Only one histogram of an instance may take snapshots. */
static int create_snapshot(struct line *l, const struct hist_action *a)
{
	const struct event_trigger *t;
	const struct event_file *f;
	const struct event *e;
	uint32_t i;

	for (i = 0; &l->hist->more->actions[i] < a; i++)
		if (l->hist->more->actions[i].what == HIST_SNAPSHOT)
			return -EBUSY;
	for (e = events; e; e = e->next) {
		f = event_file_find(e, l->file->tr);
		for (t = f ? f->triggers : NULL; t; t = t->next)
			if (t->hist && takes_snapshots(t->hist))
				return -EBUSY;
	}
	return trace_array_alloc_snapshot(l->file->tr);
}

static int create_track(struct line *l, struct hist_action *a)
{
	struct word text = {a->var, strlen(a->var)}, name;
	struct word own = {"max", 3};
	int var, err;

	if (!text.n || *text.at != '$')
		return bad_word(l, "For onmax(x) or onchange(x), x must be a variable", &text);
	name = word_behind(text, 1);
	var = hist_var_find(l->hist, &name);
	if (var < 0 || l->hist->more->vars[var].expr->type != AREA_HIST_NUMBER)
		return bad_word(l, "Couldn't find onmax or onchange variable", &name);
	err = hist_ref_add(l->hist, l->hist, (uint8_t)var, NULL, NULL, &a->track_ref);
	if (err)
		return err;
	if (a->handler == HIST_ONCHANGE)
		own = (struct word){"changed", 7};
	err = hist_var_add(l->hist, HIST_VAR_TRACK, &own, NULL, &a->track_var);
	return err == -EINVAL ? bad_word(l, "Couldn't create onmax or onchange variable", NULL)
			      : err;
}

int hist_actions_create(struct line *l)
{
	struct hist_vars *m = l->hist->more;
	uint32_t i;
	int err = 0;

	for (i = 0; m && i < m->nr_actions && !err; i++) {
		struct hist_action *a = &m->actions[i];

		if (a->handler != HIST_ONMATCH)
			err = create_track(l, a);
		if (!err && a->what == HIST_TRACE)
			err = create_trace(l, a);
		else if (!err && a->what == HIST_SAVE)
			err = create_save(l, a);
		else if (!err)
			err = create_snapshot(l, a);
	}
	return err;
}

/* Store @v at @at if it is larger (onmax) or different (onchange). Return: whether it was. */
static int keep(const struct hist_action *a, uint64_t *at, uint64_t v)
{
	uint64_t old = load_relaxed(at);

	if (a->handler == HIST_ONCHANGE)
		return old != v && __atomic_exchange_n(at, v, __ATOMIC_RELAXED) != v;
	return store_greater(at, v);
}

static void fire_trace(const struct hist_action *a, const uint64_t *refs)
{
	uint64_t vals[SYNTH_MAX_FIELDS];
	uint32_t i;

	for (i = 0; i < a->nr_params; i++)
		vals[i] = refs[a->refs[i]];
	synth_fire(a->synth, vals);
}

static void fire_snapshot(struct hist *h, const struct hist_action *a, const struct hist_row *row,
			  uint64_t v)
{
	struct area_hist_map *shown = h->map->shown;

	if (!keep(a, &shown->snapshot_value, v))
		return;
	store_relaxed(&shown->snapshot_row, hist_row_number(h->map, row) + 1);
	tracer_snapshot(h->tr, UINT32_MAX);
}

void hist_actions_fire(struct hist *h, struct hist_row *row, const void *record,
		       const uint64_t *refs)
{
	const struct hist_vars *m = h->more;
	uint32_t i;

	for (i = 0; i < m->nr_actions; i++) {
		const struct hist_action *a = &m->actions[i];
		uint64_t v;

		if (a->handler != HIST_ONMATCH) {
			v = refs[a->track_ref];
			if (!keep(a, (uint64_t *)((uint8_t *)row + m->vars[a->track_var].at), v))
				continue;
			if (a->what == HIST_SNAPSHOT)
				fire_snapshot(h, a, row, v);
		}
		if (a->what == HIST_TRACE)
			fire_trace(a, refs);
		else if (a->what == HIST_SAVE)
			hist_save(h, row, record, refs);
	}
}
