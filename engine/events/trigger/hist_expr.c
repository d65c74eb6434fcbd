/* SPDX-License-Identifier: MIT */
/*
 * Expressions of a histogram's line: `common_timestamp.usecs-$ts0`, `bytes*2+1`, `-($a)`. An
 * expression is split at its last operator of the lowest rank, as the kernel (6.12) does, so that
 * equal ranks go from left to right and its messages point where the kernel's do; constants are
 * folded. Parentheses belong to the unary minus alone. Evaluated in any context; all else in
 * control context. Tests: tests/engine/events/hist_vars, tests/fuzz/events.c.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/events/trigger/hist_vars.h"

/* Find the last operator @c; a `-` in `.sym-offset` is not an operator. */
static size_t last(const struct word *t, char c)
{
	static const char name[] = ".sym-offset";
	size_t n = t->n, at, dash = sizeof(".sym") - 1;

	while ((at = text_find_last(t->at, n, c)) < n) {
		if (at < dash || t->n - at < sizeof(name) - 1 - dash ||
		    memcmp(t->at + at - dash, name, sizeof(name) - 1) != 0)
			return at;
		n = at;
	}
	return t->n;
}

/* The operator at the root of @t, and its offset; HIST_LEAF: there is none. */
static enum hist_op root_of(const struct word *t, size_t *at)
{
	size_t minus = last(t, '-'), plus = last(t, '+'), div = last(t, '/'), mul = last(t, '*');

	*at = minus;
	if (minus == 0 && t->n)
		return HIST_NEG;
	if (plus < t->n && (minus == t->n || plus > minus)) {
		*at = plus;
		return HIST_ADD;
	}
	if (minus < t->n)
		return HIST_SUB;
	*at = div;
	if (mul < t->n && (div == t->n || mul > div)) {
		*at = mul;
		return HIST_MUL;
	}
	return div < t->n ? HIST_DIV : HIST_LEAF;
}

int hist_has_operator(const struct word *text)
{
	size_t at;

	return root_of(text, &at) != HIST_LEAF;
}

static struct hist_expr *new_expr(struct line *l, enum hist_op op)
{
	struct hist_expr *e = hist_vars_alloc(l->hist, sizeof(*e));

	if (e) {
		e->op = (uint8_t)op;
		e->type_name = "u64";
		e->size = 8;
	}
	return e;
}

/* Set the text of an expression, in memory of the histogram. */
static int set_text(struct line *l, struct hist_expr *e)
{
	static const char signs[] = {
		[HIST_ADD] = '+', [HIST_SUB] = '-', [HIST_MUL] = '*', [HIST_DIV] = '/'};
	char buf[HIST_MAX_STRING];
	struct word copy = {buf, 0};
	struct seq_buf s;

	seq_init(&s, buf, sizeof(buf));
	switch (e->op) {
	case HIST_LEAF:
		hist_show_field(&e->field, &s);
		break;
	case HIST_CONST:
		seq_putu(&s, e->constant);
		break;
	case HIST_REF:
		seq_puts(&s, l->hist->more->refs[e->ref].text);
		break;
	case HIST_NEG:
		seq_puts(&s, "-(");
		seq_puts(&s, e->a->text);
		seq_putc(&s, ')');
		break;
	default:
		seq_puts(&s, e->a->text);
		seq_putc(&s, signs[e->op]);
		seq_puts(&s, e->b->text);
		break;
	}
	copy.n = s.len;
	e->text = hist_vars_copy(l->hist, &copy);
	return e->text ? 0 : -ENOMEM;
}

static int parse_const(struct line *l, const struct word *text, const struct hist_expr **out)
{
	struct hist_expr *e = new_expr(l, HIST_CONST);

	if (!e)
		return -ENOMEM;
	if (str_to_u64(text->at, text->n, &e->constant))
		return bad_word(l, "Expecting numeric literal", text);
	*out = e;
	return set_text(l, e);
}

/* A text may be used as a number: its address. */
static void set_leaf_type(const struct line *l, struct hist_expr *e)
{
	const struct hist_field *f = &e->field;
	const struct event_field *field = event_field(l->event, f->name, strlen(f->name));

	e->size = f->size;
	e->is_signed = f->is_signed;
	e->is_usecs = f->modifier == HIST_USECS;
	if (f->modifier == HIST_EXECNAME) {
		e->type = AREA_HIST_STRING;
		e->type_name = "char[]";
		e->size = HIST_MAX_STRING;
		e->is_signed = 0;
	} else if (hist_is_string(f)) {
		e->type = AREA_HIST_STRING;
		e->type_name = field->type;
		e->size = f->from == HIST_STATIC ? f->size : HIST_MAX_STRING;
	} else if (hist_is_stack(f)) {
		e->type = AREA_HIST_STACK;
		e->type_name = "unsigned long[]";
		e->size = HIST_MAX_STACK * 8;
	} else if (f->from == HIST_CPU) {
		e->type_name = "unsigned int";
		e->size = 4;
	} else if (f->from == HIST_PID) {
		e->type_name = "int";
	} else if (field && f->from == HIST_FIELD) {
		e->type_name = field->type;
	}
}

static int parse_leaf(struct line *l, const struct word *text, const struct hist_expr **out)
{
	struct hist_expr *e = new_expr(l, HIST_LEAF);
	int err;

	if (!e)
		return -ENOMEM;
	err = hist_field_parse(l, &e->field, *text, 0);
	if (err)
		return err;
	set_leaf_type(l, e);
	*out = e;
	return set_text(l, e);
}

static int make_ref(struct line *l, uint8_t ref, const struct hist_expr **out)
{
	const struct hist_expr *var = hist_ref_expr(&l->hist->more->refs[ref]);
	struct hist_expr *e = new_expr(l, HIST_REF);

	if (!e)
		return -ENOMEM;
	e->ref = ref;
	e->type = var->type;
	e->type_name = var->type_name;
	e->size = var->size;
	e->is_signed = var->is_signed;
	e->is_usecs = var->is_usecs;
	*out = e;
	return set_text(l, e);
}

static int is_own(const struct line *l, const struct word *system, const struct word *event)
{
	return !system->at || (word_is(system, l->event->system) && word_is(event, l->event->name));
}

/*
 * The field that a variable of this line consists of; NULL: it is not a variable, or is more than a
 * field.
 */
static const struct word *field_of(const struct line *l, const struct word *name)
{
	uint32_t i;

	for (i = 0; i < l->nr_defs; i++) {
		const struct word *expr = &l->defs[i].expr;

		if (l->defs[i].name.n == name->n &&
		    !memcmp(l->defs[i].name.at, name->at, name->n) && !hist_has_operator(expr) &&
		    !(expr->n > 1 && *expr->at == '$'))
			return expr;
	}
	return NULL;
}

/* Split `system.event.$name`. */
static struct word split(struct word text, struct word *system, struct word *event)
{
	struct word rest = text;

	*system = *event = (struct word){0};
	word_next(&rest, '.', system);
	if (rest.at && word_next(&rest, '.', event) && rest.at)
		return rest;
	*system = *event = (struct word){0};
	return text;
}

int hist_atom_parse(struct line *l, const struct word *text, const struct hist_expr **out)
{
	struct word system, event, var, name;
	const struct word *field;
	uint8_t ref;
	int err;

	if (text->n && is_digit(*text->at))
		return parse_const(l, text, out);
	var = split(*text, &system, &event);
	if (var.n < 2 || *var.at != '$')
		return parse_leaf(l, &var, out);
	name = (struct word){var.at + 1, var.n - 1};
	field = is_own(l, &system, &event) ? field_of(l, &name) : NULL;
	if (field)
		return parse_leaf(l, field, out);
	err = hist_ref_find(l, system.at ? &system : NULL, &event, &name, &ref);
	if (!err)
		return make_ref(l, ref, out);
	if (err != -ENOENT)
		return err;
	bad_word(l, "Couldn't find variable", &name);
	return parse_leaf(l, &var, out);
}

static int parse(struct line *l, const struct word *text, uint32_t *nr,
		 const struct hist_expr **out);

static int is_number(struct line *l, const struct hist_expr *e, const struct word *text)
{
	return e->type == AREA_HIST_NUMBER
		       ? 0
		       : bad_word(l, "String type can not be an operand in expression", text);
}

static int parse_unary(struct line *l, struct word text, uint32_t *nr, const struct hist_expr **out)
{
	struct hist_expr *e;
	size_t end;
	int err;

	if (++*nr > HIST_MAX_SUBEXPR)
		return bad_word(l, "Too many subexpressions (3 max)", &text);
	text = (struct word){text.at + 1, text.n - 1};
	if (text_find(text.at, text.n, '(') == text.n)
		return -EINVAL;
	text = (struct word){text.at + 1, text.n - 1};
	end = text_find_last(text.at, text.n, ')');
	if (end == text.n)
		return -EINVAL;
	if (end + 1 < text.n)
		return bad_word(l, "Unary minus not supported in sub-expressions", &text);
	text.n = end;
	e = new_expr(l, HIST_NEG);
	if (!e)
		return -ENOMEM;
	err = parse(l, &text, nr, &e->a);
	if (!err)
		err = is_number(l, e->a, &text);
	if (err)
		return err;
	e->type_name = e->a->type_name;
	e->size = e->a->size;
	e->is_signed = e->a->is_signed;
	e->is_usecs = e->a->is_usecs;
	*out = e;
	return set_text(l, e);
}

/* The value of an expression that is known now: a number, or a variable that is one. */
static int constant_of(const struct line *l, const struct hist_expr *e, uint64_t *v)
{
	if (e->op == HIST_REF)
		e = hist_ref_expr(&l->hist->more->refs[e->ref]);
	*v = e->constant;
	return e->op == HIST_CONST;
}

static uint64_t operate(enum hist_op op, uint64_t a, uint64_t b)
{
	switch (op) {
	case HIST_ADD:
		return a + b;
	case HIST_SUB:
		return a - b;
	case HIST_MUL:
		return a * b;
	case HIST_DIV:
		return b ? a / b : UINT64_MAX;
	default:
		return 0 - a;
	}
}

static void read_once(struct line *l, const struct hist_expr *e)
{
	if (e->op == HIST_REF)
		l->hist->more->refs[e->ref].read_once = 1;
}

static int combine(struct line *l, struct hist_expr *e, const struct word *right)
{
	uint64_t a, b;
	int known_a = constant_of(l, e->a, &a), known_b = constant_of(l, e->b, &b);

	if (e->a->is_usecs != e->b->is_usecs)
		return bad_word(l, "Timestamp units in expression don't match", NULL);
	read_once(l, e->a);
	read_once(l, e->b);
	if (e->op == HIST_DIV && known_b && !b) {
		bad_word(l, "Division by zero", right);
		return -EDOM;
	}
	if (known_a && known_b) {
		e->constant = operate(e->op, a, b);
		e->op = HIST_CONST;
		return set_text(l, e);
	}
	e->type_name = e->a->type_name;
	e->size = e->a->size;
	e->is_signed = e->a->is_signed;
	e->is_usecs = e->a->is_usecs;
	return set_text(l, e);
}

static int parse(struct line *l, const struct word *text, uint32_t *nr,
		 const struct hist_expr **out)
{
	struct word left, right;
	struct hist_expr *e;
	enum hist_op op;
	size_t at;
	int err;

	if (*nr > HIST_MAX_SUBEXPR)
		return bad_word(l, "Too many subexpressions (3 max)", text);
	op = root_of(text, &at);
	if (op == HIST_LEAF)
		return hist_atom_parse(l, text, out);
	if (op == HIST_NEG)
		return parse_unary(l, *text, nr, out);
	++*nr;
	left = (struct word){text->at, at};
	right = (struct word){text->at + at + 1, text->n - at - 1};
	if (!left.n || !right.n)
		return -EINVAL;
	e = new_expr(l, op);
	if (!e)
		return -ENOMEM;
	err = parse(l, &left, nr, &e->a);
	if (!err)
		err = is_number(l, e->a, &left);
	if (!err)
		err = parse(l, &right, nr, &e->b);
	if (!err)
		err = is_number(l, e->b, &right);
	if (!err)
		err = combine(l, e, &right);
	*out = e;
	return err;
}

int hist_expr_parse(struct line *l, const struct word *text, const struct hist_expr **out)
{
	uint32_t nr = 0;

	return parse(l, text, &nr, out);
}

uint64_t hist_expr_value(const struct hist *h, const struct hist_expr *e, const void *record,
			 const uint64_t *refs)
{
	switch (e->op) {
	case HIST_LEAF:
		return hist_value(h, &e->field, record, refs);
	case HIST_CONST:
		return e->constant;
	case HIST_REF:
		return refs[e->ref];
	case HIST_NEG:
		return operate(HIST_NEG, hist_expr_value(h, e->a, record, refs), 0);
	default:
		return operate(e->op, hist_expr_value(h, e->a, record, refs),
			       hist_expr_value(h, e->b, record, refs));
	}
}
