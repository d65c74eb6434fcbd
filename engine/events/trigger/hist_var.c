/* SPDX-License-Identifier: MIT */
/*
 * Variables of histograms. A variable is a value that a row keeps for other histograms with the
 * same keys. This file also counts the records of histograms with variables. First it looks up the
 * variables of other histograms; if one has no value, the record is not counted. Then it counts the
 * row and sets its own variables. If an action uses variables of its own histogram, it gets the
 * values that this record set, even if another thread changes them meanwhile. A variable that is an
 * operand of an expression is read once.
 *
 * Firing: any context, no lock: values are stored and marked as set atomically; of two records with
 * the same keys the later one wins. A concurrent writer of the same row may mix texts and stacks,
 * but they always have an end. All else: control context. fork: the child has the same variables,
 * without values. Tests: tests/engine/events/hist_vars.
 */
#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/heap.h"
#include "engine/events/trigger/hist_vars.h"
#include "engine/events/trigger/trigger.h"
#include "engine/ring/ring.h"

struct hist_vars *hist_vars(struct hist *h)
{
	if (!h->more)
		h->more = heap_alloc(sizeof(*h->more));
	return h->more;
}

void *hist_vars_alloc(struct hist *h, size_t bytes)
{
	struct hist_vars *m = hist_vars(h);
	struct hist_bytes *b = m ? heap_alloc(sizeof(*b) + bytes) : NULL;

	if (!b)
		return NULL;
	b->next = m->memory;
	m->memory = b;
	return b->bytes;
}

const char *hist_vars_copy(struct hist *h, const struct word *w)
{
	char *copy = hist_vars_alloc(h, w->n + 1);

	if (copy)
		memcpy(copy, w->at, w->n);
	return copy;
}

static void drop_refs(struct hist *h)
{
	uint32_t i;

	for (i = 0; i < h->more->nr_refs; i++) {
		struct hist_ref *ref = &h->more->refs[i];
		struct hist *target = ref->target;

		if (!target || target == h)
			continue;
		ref->target = NULL;
		target->more->nr_users--;
		if (target->more->made && !target->more->nr_users)
			trigger_drop_hist(target);
	}
}

void hist_vars_free(struct hist *h)
{
	struct hist_vars *m = h->more;
	struct hist_bytes *b;
	uint32_t i;

	if (!m)
		return;
	drop_refs(h);
	for (i = 0; i < m->nr_actions; i++)
		if (m->actions[i].synth)
			m->actions[i].synth->nr_users--;
	while ((b = m->memory)) {
		m->memory = b->next;
		heap_free(b);
	}
	heap_free(m);
	h->more = NULL;
}

static uint32_t room_of(const struct hist_expr *e)
{
	uint32_t bytes = e ? e->size : 8;

	if (!e || e->type == AREA_HIST_NUMBER)
		return 8;
	if (e->type == AREA_HIST_STACK)
		return bytes;
	return ((bytes < HIST_MAX_STRING ? bytes : HIST_MAX_STRING) + 8) & ~7u;
}

static int same_vars(const struct hist_vars *a, const struct hist_vars *b)
{
	uint32_t i, j = 0;

	for (i = 0; i < a->nr_vars; i++) {
		if (a->vars[i].kind != HIST_VAR_NAMED)
			continue;
		while (j < b->nr_vars && b->vars[j].kind != HIST_VAR_NAMED)
			j++;
		if (j == b->nr_vars || !str_equal(a->vars[i].name, b->vars[j].name) ||
		    !str_equal(a->vars[i].expr->text, b->vars[j].expr->text) ||
		    a->vars[i].expr->type != b->vars[j].expr->type ||
		    room_of(a->vars[i].expr) != room_of(b->vars[j].expr))
			return 0;
		j++;
	}
	while (j < b->nr_vars && b->vars[j].kind != HIST_VAR_NAMED)
		j++;
	return j == b->nr_vars;
}

static int same_action(const struct hist_action *a, const struct hist_action *b)
{
	uint32_t i;

	if (a->what != b->what || a->nr_params != b->nr_params || !str_equal(a->shown, b->shown) ||
	    !str_equal(a->synth_name ? a->synth_name : "", b->synth_name ? b->synth_name : ""))
		return 0;
	for (i = 0; i < a->nr_params; i++)
		if (!str_equal(a->params[i], b->params[i]))
			return 0;
	return 1;
}

int hist_vars_same(const struct hist_vars *a, const struct hist_vars *b)
{
	static const struct hist_vars none;
	uint32_t i;

	a = a ? a : &none;
	b = b ? b : &none;
	if (a->nr_actions != b->nr_actions || !same_vars(a, b))
		return 0;
	for (i = 0; i < a->nr_actions; i++)
		if (!same_action(&a->actions[i], &b->actions[i]))
			return 0;
	return 1;
}

int hist_is_used(const struct hist *h)
{
	return h->more && h->more->nr_users;
}

void hist_forget(struct hist *h, const struct hist *target)
{
	uint32_t i;

	for (i = 0; h->more && i < h->more->nr_refs; i++)
		if (h->more->refs[i].target == target)
			store_release(&h->more->refs[i].target, NULL);
}

static int same_name(const char *name, const struct word *w)
{
	return strlen(name) == w->n && !memcmp(name, w->at, w->n);
}

/* Find a variable that a user named. Return: its number, or -ENOENT. */
int hist_var_find(const struct hist *h, const struct word *name)
{
	uint32_t i;

	for (i = 0; h->more && i < h->more->nr_vars; i++)
		if (h->more->vars[i].kind == HIST_VAR_NAMED &&
		    same_name(h->more->vars[i].name, name))
			return (int)i;
	return -ENOENT;
}

/* Find a variable in the histograms of an event. */
static int find_in_file(const struct event_file *f, const struct word *name, struct hist **target)
{
	const struct event_trigger *t;
	int i;

	for (t = f ? f->triggers : NULL; t; t = t->next) {
		i = t->hist ? hist_var_find(t->hist, name) : -ENOENT;
		if (i < 0)
			continue;
		*target = t->hist;
		return i;
	}
	return -ENOENT;
}

static const struct event_file *file_of(const struct line *l, const struct word *system,
					const struct word *event)
{
	const struct event *e = event_find(system->at, system->n, event->at, event->n);

	return e ? event_file_find(e, l->file->tr) : NULL;
}

static int not_unique(struct line *l, const struct word *name)
{
	bad_word(l,
		 "Variable name not unique, need to use fully qualified name (subsys.event.var) "
		 "for variable",
		 name);
	return -ENOENT;
}

/*
 * Look for a variable in another event, after those that were searched; only one event may have it.
 * Return: 0 or -ENOENT.
 */
static int look_in(struct line *l, const struct event_file *f, const struct word *name, int *found,
		   struct hist **target)
{
	struct hist *h;
	int var = find_in_file(f, name, &h);

	if (var < 0)
		return 0;
	if (*found >= 0)
		return not_unique(l, name);
	*found = var;
	*target = h;
	return 0;
}

/* Find a variable in the histograms of the events of onmatch(). */
static int find_in_matches(struct line *l, const struct word *name, struct hist **target)
{
	int found = -ENOENT;
	uint32_t i;

	for (i = 0; l->hist->more && i < l->hist->more->nr_actions; i++) {
		const struct hist_action *a = &l->hist->more->actions[i];
		struct word system, event;

		if (a->handler != HIST_ONMATCH)
			continue;
		system = (struct word){a->system, strlen(a->system)};
		event = (struct word){a->event, strlen(a->event)};
		if (look_in(l, file_of(l, &system, &event), name, &found, target))
			return -ENOENT;
	}
	return found;
}

static int find_anywhere(struct line *l, const struct word *name, struct hist **target)
{
	const struct event *e;
	int found = -ENOENT;

	for (e = events; e; e = e->next)
		if (!e->gone && look_in(l, event_file_find(e, l->file->tr), name, &found, target))
			return -ENOENT;
	return found;
}

int hist_ref_find(struct line *l, const struct word *system, const struct word *event,
		  const struct word *name, uint8_t *ref)
{
	struct hist *target = NULL;
	int var;

	if (system) {
		var = find_in_file(file_of(l, system, event), name, &target);
	} else {
		var = find_in_matches(l, name, &target);
		if (var < 0)
			var = find_anywhere(l, name, &target);
	}
	return var < 0 ? var : hist_ref_add(l->hist, target, (uint8_t)var, system, event, ref);
}

/* The text of a reference: `$name`, `system.event.$name`. */
static const char *ref_text(struct hist *h, const char *name, const struct word *system,
			    const struct word *event)
{
	char buf[HIST_MAX_STRING];
	struct word w = {buf, 0};
	struct seq_buf s;
	size_t i;

	seq_init(&s, buf, sizeof(buf));
	for (i = 0; system && i < system->n; i++)
		seq_putc(&s, system->at[i]);
	if (system)
		seq_putc(&s, '.');
	for (i = 0; system && i < event->n; i++)
		seq_putc(&s, event->at[i]);
	seq_puts(&s, system ? ".$" : "$");
	seq_puts(&s, name);
	w.n = s.len;
	return hist_vars_copy(h, &w);
}

int hist_ref_add(struct hist *h, struct hist *target, uint8_t var, const struct word *system,
		 const struct word *event, uint8_t *ref)
{
	struct hist_vars *m = hist_vars(h);
	struct hist_ref *r;
	uint32_t i;

	if (!m)
		return -ENOMEM;
	for (i = 0; i < m->nr_refs; i++) {
		if (m->refs[i].target == target && m->refs[i].var == var) {
			*ref = (uint8_t)i;
			return 0;
		}
	}
	if (m->nr_refs == HIST_MAX_REFS)
		return -EINVAL;
	r = &m->refs[m->nr_refs];
	r->text = ref_text(h, target->more->vars[var].name, system, event);
	if (!r->text)
		return -ENOMEM;
	r->target = target;
	r->var = var;
	*ref = (uint8_t)m->nr_refs++;
	if (target != h)
		target->more->nr_users++;
	return 0;
}

const struct hist_expr *hist_ref_expr(const struct hist_ref *ref)
{
	return ref->target->more->vars[ref->var].expr;
}

int hist_var_add(struct hist *h, enum hist_var_kind kind, const struct word *name,
		 const struct hist_expr *expr, uint8_t *var)
{
	struct hist_vars *m = hist_vars(h);
	struct hist_var *v;

	if (!m)
		return -ENOMEM;
	if (m->nr_vars == HIST_MAX_VARS)
		return -EINVAL;
	v = &m->vars[m->nr_vars];
	v->name = hist_vars_copy(h, name);
	if (!v->name)
		return -ENOMEM;
	v->kind = (uint8_t)kind;
	v->expr = expr;
	*var = (uint8_t)m->nr_vars++;
	return 0;
}

int hist_vars_split(struct line *l, const struct word *assignments, uint32_t nr)
{
	struct word rest, one, name;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		for (rest = assignments[i]; word_next(&rest, ',', &one);) {
			word_next(&one, '=', &name);
			if (!one.at)
				return bad_word(l, "Malformed assignment", &name);
			if (l->nr_defs == HIST_MAX_VARS)
				return bad_word(l, "Too many variables defined", &name);
			l->defs[l->nr_defs].name = name;
			l->defs[l->nr_defs++].expr = one;
		}
	}
	return 0;
}

/*
 * The kernel cuts a line into pieces while it parses it. So for other histograms that name the
 * variable, only the first operand of its expression is left.
 */
static void cut(struct word *expr)
{
	size_t i;

	for (i = 0; i < expr->n && expr->at[i] != '+' && expr->at[i] != '-' && expr->at[i] != '*' &&
		    expr->at[i] != '/';
	     i++)
		;
	if (i)
		expr->n = i;
}

int hist_var_named(const struct line *l, const struct word *name)
{
	struct hist *other;

	return hist_var_find(l->hist, name) >= 0 || find_in_file(l->file, name, &other) >= 0;
}

int hist_vars_parse(struct line *l)
{
	const struct hist_expr *expr = NULL;
	uint8_t var;
	uint32_t i;
	int err = 0;

	for (i = 0; i < l->nr_defs && !err; i++) {
		struct word *name = &l->defs[i].name;

		if (!l->remove && hist_var_named(l, name))
			return bad_word(l, "Variable already defined", name);
		err = hist_expr_parse(l, &l->defs[i].expr, &expr);
		if (!err)
			err = hist_var_add(l->hist, HIST_VAR_NAMED, name, expr, &var);
		cut(&l->defs[i].expr);
	}
	return err;
}

void hist_vars_lay_out(struct hist *h)
{
	struct hist_vars *m = h->more;
	uint32_t i, at;

	if (!m)
		return;
	m->set_at = h->extra_at;
	at = m->set_at + 8;
	m->scratch_bytes = 0;
	for (i = 0; i < m->nr_vars; i++) {
		struct hist_var *v = &m->vars[i];

		v->at = at;
		v->bytes = room_of(v->expr);
		at += v->bytes;
		if (v->expr && v->expr->type != AREA_HIST_NUMBER) {
			v->scratch = m->scratch_bytes;
			m->scratch_bytes += v->bytes;
		}
	}
	for (i = 0; i < m->nr_refs; i++) {
		const struct hist_expr *e = hist_ref_expr(&m->refs[i]);

		if (e->type == AREA_HIST_NUMBER || m->refs[i].target == h)
			continue;
		m->refs[i].scratch = m->scratch_bytes;
		m->scratch_bytes += room_of(e);
	}
	h->extra_bytes = at - h->extra_at;
}

/* Copy a value that a row keeps. The last byte of a text is always 0. */
static void copy_words(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i += 8)
		*(uint64_t *)(to + i) = load_relaxed((const uint64_t *)(from + i));
}

static void store_words(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i += 8)
		store_relaxed((uint64_t *)(to + i), *(const uint64_t *)(from + i));
}

/*
 * Look up a variable, by as much of the key as the other histogram has, as in the kernel. Return:
 * whether it had a value.
 */
static int look_up(struct hist *h, const struct hist_ref *ref, const uint64_t *key, uint64_t *value,
		   uint8_t *scratch)
{
	struct hist *target = load_acquire(&ref->target);
	const struct hist_var *v;
	struct hist_row *row;
	uint64_t *set, bit = UINT64_C(1) << ref->var;

	if (!target || target->key_bytes > h->key_bytes)
		return 0;
	row = hist_row_find(target, key);
	if (!row)
		return 0;
	v = &target->more->vars[ref->var];
	set = (uint64_t *)((uint8_t *)row + target->more->set_at);
	if (!(load_acquire(set) & bit))
		return 0;
	if (v->expr->type == AREA_HIST_NUMBER) {
		*value = load_relaxed((uint64_t *)((uint8_t *)row + v->at));
	} else {
		copy_words(scratch + ref->scratch, (uint8_t *)row + v->at, v->bytes);
		*value = (uint64_t)(uintptr_t)(scratch + ref->scratch);
	}
	return !ref->read_once || __atomic_fetch_and(set, ~bit, __ATOMIC_ACQ_REL) & bit;
}

/* The value of a variable for a record; a text or a stack is then in @scratch. */
static uint64_t compute(const struct hist *h, const struct hist_var *v, const void *record,
			const uint64_t *refs, uint8_t *scratch)
{
	const struct hist_expr *e = v->expr;
	uint8_t *to = scratch + v->scratch;

	if (e->type == AREA_HIST_NUMBER)
		return hist_expr_value(h, e, record, refs);
	if (e->op == HIST_REF) {
		copy_words(to, (const uint8_t *)(uintptr_t)refs[e->ref], v->bytes);
		return (uint64_t)(uintptr_t)to;
	}
	memset(to, 0, v->bytes);
	hist_copy_bytes(&e->field, record, (uint64_t *)to);
	return (uint64_t)(uintptr_t)to;
}

static void set_value(const struct hist_var *v, struct hist_row *row, uint64_t value)
{
	uint8_t *at = (uint8_t *)row + v->at;

	if (v->expr->type == AREA_HIST_NUMBER)
		store_relaxed((uint64_t *)at, value);
	else
		store_words(at, (const uint8_t *)(uintptr_t)value, v->bytes);
}

void hist_save(const struct hist *h, struct hist_row *row, const void *record, const uint64_t *refs)
{
	uint8_t *scratch = __builtin_alloca_with_align(h->more->scratch_bytes + 8, 64);
	uint32_t i;

	for (i = 0; i < h->more->nr_vars; i++) {
		const struct hist_var *v = &h->more->vars[i];

		if (v->kind == HIST_VAR_SAVED)
			set_value(v, row, compute(h, v, record, refs, scratch));
	}
}

void hist_fire_more(struct hist *h, struct hist_map *map, const uint64_t *key, const void *record)
{
	struct hist_vars *m = h->more;
	uint8_t *scratch = __builtin_alloca_with_align(m->scratch_bytes + 8, 64);
	uint64_t refs[HIST_MAX_REFS], own[HIST_MAX_VARS], set = 0;
	struct hist_row *row;
	uint32_t i;

	for (i = 0; i < m->nr_refs; i++)
		if (m->refs[i].target != h && !look_up(h, &m->refs[i], key, &refs[i], scratch))
			return;
	row = hist_row_get(h, map, key);
	if (!row)
		return;
	for (i = 0; i < h->nr_vals; i++)
		fetch_add(&row->vals[i], hist_value(h, &h->vals[i], record, refs));
	for (i = 0; i < m->nr_vars; i++) {
		const struct hist_var *v = &m->vars[i];

		if (v->kind > HIST_VAR_FIELD)
			continue;
		own[i] = compute(h, v, record, refs, scratch);
		set_value(v, row, own[i]);
		set |= UINT64_C(1) << i;
	}
	if (set)
		__atomic_fetch_or((uint64_t *)((uint8_t *)row + m->set_at), set, __ATOMIC_RELEASE);
	for (i = 0; i < m->nr_refs; i++)
		if (m->refs[i].target == h)
			refs[i] = own[m->refs[i].var];
	if (m->nr_actions)
		hist_actions_fire(h, row, record, refs);
}
