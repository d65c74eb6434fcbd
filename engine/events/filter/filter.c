/* SPDX-License-Identifier: MIT */
/*
 * Compiles filters. Grammar, messages, positions and errno are the kernel's (6.12), as recorded
 * from one: a first pass checks quotes and parentheses alone. The position of an error in a term
 * counts from one, other positions from zero. The terms become a tree. From its right end the tree
 * becomes the program, in which each comparison has two jump targets: `&&` binds tighter than `||`,
 * and `!` swaps the targets. Control context. Costs nothing that is measured. Tests:
 * tests/engine/events/filter.
 */
#include "engine/events/filter/filter.h"

#include <errno.h>

#include "engine/base/bitmap.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/events/filter/filter_impl.h"
#include "engine/events/probe/probe_event.h"

#define MAX_DEPTH 64u
#define NONE	  UINT32_MAX

#define MAX_DIGITS 23u /* digits of an address */

/* A term, or an operator that joins two. */
struct node {
	enum { NODE_PRED, NODE_AND, NODE_OR, NODE_NOT } type;
	uint32_t a, b; /* indices of nodes; of a term: a is its number */
};

struct parser {
	const struct event *event;
	const char *text;
	uint32_t at, bytes;
	uint32_t depth;
	struct parse_error *error;
	struct node *nodes;
	uint32_t nr_nodes;
	struct filter_pred *preds;
	uint32_t nr_preds;
	uint32_t max; /* of nodes and of preds */
};

static int bad(struct parser *p, int err, const char *text, uint32_t position)
{
	p->error->text = text;
	p->error->position = position;
	return err;
}

static char peek(const struct parser *p)
{
	return p->at < p->bytes ? p->text[p->at] : 0;
}

static void skip_blanks(struct parser *p)
{
	p->at += (uint32_t)text_skip_blanks(p->text + p->at, p->bytes - p->at);
}

/* Check quotes and parentheses. */
static int check_pairs(struct parser *p)
{
	uint32_t i, open = 0, quote_at = 0;
	char quote = 0;

	for (i = 0; i < p->bytes; i++) {
		char c = p->text[i];

		if (quote) {
			if (c == quote)
				quote = 0;
		} else if (c == '"' || c == '\'') {
			quote = c;
			quote_at = i;
		} else if (c == '(') {
			open++;
		} else if (c == ')' && !open--) {
			return bad(p, -EPERM, "Too few '('", i);
		}
	}
	if (quote)
		return bad(p, -ESRCH, "Missing matching quote", quote_at);
	return open ? bad(p, -ENOENT, "Too many '('", 0) : 0;
}

static uint32_t add_node(struct parser *p, int type, uint32_t a, uint32_t b)
{
	if (p->nr_nodes == p->max)
		return NONE;
	p->nodes[p->nr_nodes] = (struct node){type, a, b};
	return p->nr_nodes++;
}

/*
 * Find the left side of a term: a field of the event, or a field that each record has. Return:
 * whether there is one.
 */
static int find_left(const struct parser *p, const char *name, size_t n, struct filter_pred *t)
{
	static const uint8_t froms[] = {
		[FILTER_OTHER] = FROM_NUMBER,	 [FILTER_STATIC_STRING] = FROM_STATIC,
		[FILTER_DYN_STRING] = FROM_DYN,	 [FILTER_RDYN_STRING] = FROM_RDYN,
		[FILTER_PTR_STRING] = FROM_PTR,	 [FILTER_TRACE_FN] = FROM_NUMBER,
		[FILTER_CPUMASK] = FROM_CPUMASK, [FILTER_COMM] = FROM_COMM,
		[FILTER_CPU] = FROM_CPU,	 [FILTER_STACKTRACE] = FROM_NUMBER,
	};
	const struct event_field *f = p->event ? event_field(p->event, name, n) : NULL;

	*t = (struct filter_pred){.size = 8};
	if (f) {
		t->from = f->filter_type < sizeof(froms) ? froms[f->filter_type] : FROM_NUMBER;
		t->offset = f->offset;
		t->size = f->size;
		t->is_signed = f->is_signed;
		return 1;
	}
	if (text_is(name, n, "common_pid")) {
		t->from = FROM_PID;
		t->size = 4;
		t->is_signed = 1;
	} else if (text_is(name, n, "common_type")) {
		t->from = FROM_VALUE;
		t->size = 2;
		t->left = p->event ? p->event->id : 0;
	} else if (text_is(name, n, "common_flags")) {
		t->from = FROM_FLAGS;
		t->size = 1;
	} else if (text_is(name, n, "common_preempt_count")) {
		t->from = FROM_PREEMPT;
		t->size = 1;
	} else if (text_is(name, n, "CPU") || text_is(name, n, "cpu") ||
		   text_is(name, n, "common_cpu")) {
		t->from = FROM_CPU;
		t->size = 4;
		t->is_signed = 1;
	} else if (text_is(name, n, "COMM") || text_is(name, n, "comm") ||
		   text_is(name, n, "common_comm")) {
		t->from = FROM_COMM;
	} else {
		return 0;
	}
	return 1;
}

static int is_string(const struct filter_pred *t)
{
	return t->from == FROM_STATIC || t->from == FROM_DYN || t->from == FROM_RDYN ||
	       t->from == FROM_PTR || t->from == FROM_COMM;
}

/* Whether the term's field is a number of one, two, four or eight bytes. */
static int is_number(const struct filter_pred *t)
{
	return !is_string(t) && t->from != FROM_CPUMASK &&
	       (t->size == 1 || t->size == 2 || t->size == 4 || t->size == 8);
}

static int parse_op(struct parser *p, struct filter_pred *t)
{
	static const struct {
		const char *text;
		uint8_t bytes, op;
	} ops[] = {{"~", 1, OP_GLOB}, {"==", 2, OP_EQ}, {"!=", 2, OP_NE}, {"<=", 2, OP_LE},
		   {"<", 1, OP_LT},   {">=", 2, OP_GE}, {">", 1, OP_GT},  {"&", 1, OP_AND}};
	uint32_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (p->bytes - p->at >= ops[i].bytes &&
		    !memcmp(p->text + p->at, ops[i].text, ops[i].bytes)) {
			p->at += ops[i].bytes;
			t->op = ops[i].op;
			return 0;
		}
	}
	return bad(p, -EINVAL, "Invalid operator", p->at + 1);
}

static int parse_string(struct parser *p, struct filter_pred *t)
{
	uint32_t start = p->at + 1, i = start, position = p->at + 1;
	char quote = peek(p);

	if (!is_string(t))
		return bad(p, -EINVAL, "Expecting numeric field", position);
	if (t->op != OP_EQ && t->op != OP_NE && t->op != OP_GLOB)
		return bad(p, -EINVAL, "Illegal operation for field type", position);
	while (i < p->bytes && p->text[i] != quote)
		i++;
	if (i - start >= FILTER_MAX_STRING)
		return bad(p, -EINVAL, "Operand too long", position);
	t->string = heap_copy(p->text + start, i - start);
	if (!t->string)
		return -ENOMEM;
	t->string_bytes = i - start;
	p->at = i + 1;
	return 0;
}

/* Turn a comparison into a range of numbers, or all numbers outside of it; `&` has none. */
static void make_range(struct filter_pred *t)
{
	uint64_t lowest = t->is_signed ? UINT64_C(1) << 63 : 0;
	uint64_t highest = lowest - 1;

	t->step.base = t->value;
	switch (t->op) {
	case OP_EQ:
	case OP_NE:
		t->step.outside = t->op == OP_NE;
		break;
	case OP_LT:
	case OP_GE:
		/* outside of value .. highest */
		t->step.span = highest - t->value;
		t->step.outside = t->op == OP_LT;
		break;
	case OP_GT:
	case OP_LE:
		t->step.base = lowest;
		t->step.span = t->value - lowest;
		t->step.outside = t->op == OP_GT;
		break;
	default:
		return;
	}
	t->step.offset = (uint16_t)t->offset;
	if (t->size == 4)
		t->step.how = t->is_signed ? HOW_SIGNED4 : HOW_UNSIGNED4;
	else
		t->step.how = t->is_signed ? HOW_SIGNED : HOW_UNSIGNED;
}

/* A number as the type of the term's field has it: the kernel compares in that type. */
static uint64_t as_field(const struct filter_pred *t, uint64_t v)
{
	uint32_t unused = 64 - t->size * 8;

	v <<= unused;
	return t->is_signed ? (uint64_t)((int64_t)v >> unused) : v >> unused;
}

static int parse_number(struct parser *p, struct filter_pred *t)
{
	uint32_t start = p->at, minus = peek(p) == '-', position = p->at + 1;
	uint64_t v;

	p->at += minus;
	while (is_alnum(peek(p)))
		p->at++;
	if (is_string(t))
		return bad(p, -EINVAL, "Expecting string field", position);
	if (!is_number(t) || t->op == OP_GLOB)
		return bad(p, -EINVAL, "Illegal operation for field type", position);
	if (str_to_u64(p->text + start + minus, p->at - start - minus, &v) ||
	    (minus && (!t->is_signed || v > UINT64_C(1) << 63)) ||
	    (t->is_signed && !minus && v >> 63))
		return bad(p, -EINVAL, "Illegal integer value", position);
	t->value = as_field(t, minus ? -v : v);
	if (t->from == FROM_NUMBER)
		make_range(t);
	return 0;
}

/* Read a number of a list `0-3,7`. Return: what follows it, or NULL. */
static const char *take_number(const char *s, const char *end, uint32_t *v)
{
	size_t room = (size_t)(end - s), digits;
	uint64_t number;

	digits = text_decimal(s, room < 6 ? room : 6, &number);
	*v = (uint32_t)number;
	return digits ? s + digits : NULL;
}

static int set_cpus(struct filter_pred *t, const char *s, const char *end)
{
	uint32_t from, to;

	while (s < end) {
		s = take_number(s, end, &from);
		if (!s)
			return -EINVAL;
		to = from;
		if (s < end && *s == '-') {
			s = take_number(s + 1, end, &to);
			if (!s || to < from)
				return -EINVAL;
		}
		if (to >= t->nr_cpus)
			return -EINVAL;
		for (; from <= to; from++)
			bitmap_set(t->cpus, from);
		if (s < end && *s++ != ',')
			return -EINVAL;
	}
	return 0;
}

static int parse_cpus(struct parser *p, struct filter_pred *t)
{
	uint32_t position = p->at + 1, start = p->at + 5, i = start;

	if (p->at + 4 >= p->bytes || p->text[p->at + 4] != '{')
		return bad(p, -EINVAL, "Missing '{'", position + 4);
	while (i < p->bytes && p->text[i] != '}')
		i++;
	if (i == p->bytes)
		return bad(p, -EINVAL, "Missing '}'", i + 1);
	if ((!is_number(t) && t->from != FROM_CPUMASK) ||
	    (t->op != OP_EQ && t->op != OP_NE && t->op != OP_AND))
		return bad(p, -EINVAL, "Illegal operation for field type", position);
	t->nr_cpus = area ? area->nr_cpus : 64;
	t->cpus = heap_alloc((t->nr_cpus + 63) / 64 * 8);
	if (!t->cpus)
		return -ENOMEM;
	if (set_cpus(t, p->text + start, p->text + i))
		return bad(p, -EINVAL, "Invalid cpulist", position);
	p->at = i + 1;
	return 0;
}

static int parse_value(struct parser *p, struct filter_pred *t)
{
	char c = peek(p);

	if (c == '"' || c == '\'')
		return parse_string(p, t);
	if (is_digit(c) || c == '-')
		return parse_number(p, t);
	if (p->bytes - p->at >= 4 && !memcmp(p->text + p->at, "CPUS", 4))
		return parse_cpus(p, t);
	return bad(p, -EINVAL, "Invalid value (did you forget quotes)?", p->at + 1);
}

/*
 * `.function`: a function's name, or an address in it; all addresses of the function are equal
 * then.
 */
static int parse_function(struct parser *p, struct filter_pred *t)
{
	uint32_t start = p->at;
	uint64_t lo, hi, address;
	int err;

	if (t->size != 8 || (t->from != FROM_NUMBER && t->from != FROM_PTR))
		return bad(p, -EINVAL, "Illegal operation for field type", p->at + 1);
	if (t->op != OP_EQ && t->op != OP_NE)
		return bad(p, -EINVAL, "Invalid operator", p->at + 1);
	if (is_digit(peek(p))) {
		while (is_alnum(peek(p)))
			p->at++;
		if (p->at - start > MAX_DIGITS)
			return bad(p, -EINVAL, "Operand too long", p->at + 1);
		if (str_to_u64(p->text + start, p->at - start, &address))
			return bad(p, -EINVAL, "Invalid value (did you forget quotes)?", p->at + 1);
		err = probe_function_around(address, &lo, &hi);
	} else {
		while (peek(p) && !is_blank(peek(p)) && peek(p) != ')' && peek(p) != '&' &&
		       peek(p) != '|')
			p->at++;
		err = probe_function_named(p->text + start, p->at - start, &lo, &hi);
	}
	if (err)
		return bad(p, -EINVAL, "Function not found", p->at + 1);
	t->step = (struct filter_step){.offset = (uint16_t)t->offset,
				       .how = HOW_UNSIGNED,
				       .outside = t->op == OP_NE,
				       .base = lo,
				       .span = hi - lo - 1};
	return 0;
}

/* Whether the suffix follows a field's name; if so, skip it. */
static int takes_suffix(struct parser *p, const char *suffix)
{
	size_t n = strlen(suffix);

	if (p->bytes - p->at < n || memcmp(p->text + p->at, suffix, n) != 0)
		return 0;
	p->at += (uint32_t)n;
	return 1;
}

static int parse_pred(struct parser *p, uint32_t *node)
{
	uint32_t start = p->at, n;
	struct filter_pred *t;
	int err, is_function;

	while (is_name_char(peek(p)))
		p->at++;
	n = p->at - start;
	if (!n)
		return bad(p, -EPERM, NULL, 0);
	if (p->nr_preds == p->max)
		return -E2BIG;
	t = &p->preds[p->nr_preds++];
	if (!find_left(p, p->text + start, n, t))
		return bad(p, -EINVAL, "Field not found", p->at + 1);
	/* a pointer to the program's text is read as text, with the suffix or without */
	takes_suffix(p, ".ustring");
	is_function = takes_suffix(p, ".function");
	skip_blanks(p);
	err = parse_op(p, t);
	if (err)
		return err;
	skip_blanks(p);
	err = is_function ? parse_function(p, t) : parse_value(p, t);
	if (err)
		return err;
	*node = add_node(p, NODE_PRED, p->nr_preds - 1, 0);
	return *node == NONE ? -E2BIG : 0;
}

static int parse_or(struct parser *p, uint32_t *node);

static int parse_term(struct parser *p, uint32_t *node)
{
	int turn = 0, err;

	for (skip_blanks(p); peek(p) == '!'; skip_blanks(p)) {
		turn = !turn;
		p->at++;
	}
	if (p->at >= p->bytes)
		return p->nr_preds ? bad(p, -EINVAL, "Meaningless filter expression", p->at)
				   : bad(p, -EINVAL, "No filter found", p->at);
	if (peek(p) == '(') {
		if (p->depth++ == MAX_DEPTH)
			return bad(p, -ENOENT, "Too many '('", p->at);
		p->at++;
		err = parse_or(p, node);
		if (err)
			return err;
		skip_blanks(p);
		if (peek(p) != ')')
			return bad(p, -EPERM, "Too many terms in predicate expression", p->at);
		p->at++;
		p->depth--;
	} else {
		err = parse_pred(p, node);
		if (err)
			return err;
	}
	if (turn)
		*node = add_node(p, NODE_NOT, *node, 0);
	return *node == NONE ? -E2BIG : 0;
}

/* Whether `&&` or `||` comes next; if so, skip it. */
static int takes(struct parser *p, char c)
{
	skip_blanks(p);
	if (p->bytes - p->at < 2 || p->text[p->at] != c || p->text[p->at + 1] != c)
		return 0;
	p->at += 2;
	return 1;
}

static int parse_and(struct parser *p, uint32_t *node)
{
	uint32_t right;
	int err = parse_term(p, node);

	while (!err && takes(p, '&')) {
		err = parse_term(p, &right);
		if (!err) {
			*node = add_node(p, NODE_AND, *node, right);
			err = *node == NONE ? -E2BIG : 0;
		}
	}
	return err;
}

static int parse_or(struct parser *p, uint32_t *node)
{
	uint32_t right;
	int err = parse_and(p, node);

	while (!err && takes(p, '|')) {
		err = parse_and(p, &right);
		if (!err) {
			*node = add_node(p, NODE_OR, *node, right);
			err = *node == NONE ? -E2BIG : 0;
		}
	}
	return err;
}

/*
 * Set the jump targets of @node's terms, for when it is true and when it is false. Return: its
 * first term.
 */
static uint32_t lay_out(struct parser *p, uint32_t node, uint32_t on_true, uint32_t on_false)
{
	/* a loop over chains, which lean to the left, so that only parentheses cause recursion */
	for (;;) {
		const struct node *n = &p->nodes[node];
		uint32_t swap;

		switch (n->type) {
		case NODE_PRED:
			p->preds[n->a].step.on_true = (uint16_t)on_true;
			p->preds[n->a].step.on_false = (uint16_t)on_false;
			return n->a;
		case NODE_NOT:
			swap = on_true;
			on_true = on_false;
			on_false = swap;
			node = n->a;
			break;
		case NODE_AND:
			on_true = lay_out(p, n->b, on_true, on_false);
			node = n->a;
			break;
		default:
			on_false = lay_out(p, n->b, on_true, on_false);
			node = n->a;
			break;
		}
	}
}

static void free_preds(struct filter_pred *preds, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		heap_free((void *)preds[i].string);
		heap_free(preds[i].cpus);
	}
}

static int finish(struct parser *p, uint32_t root, struct event_filter **out)
{
	struct event_filter *filter =
		heap_alloc(sizeof(*filter) + p->nr_preds * sizeof(filter->steps[0]));
	uint32_t i;

	if (!filter)
		return -ENOMEM;
	filter->text = heap_copy(p->text, p->bytes);
	filter->preds = heap_alloc(p->nr_preds * sizeof(*filter->preds));
	if (!filter->text || !filter->preds) {
		heap_free(filter->text);
		heap_free(filter->preds);
		heap_free(filter);
		return -ENOMEM;
	}
	filter->first = lay_out(p, root, FILTER_TRUE, FILTER_FALSE);
	filter->nr = p->nr_preds;
	memcpy(filter->preds, p->preds, p->nr_preds * sizeof(*filter->preds));
	for (i = 0; i < p->nr_preds; i++)
		filter->steps[i] = p->preds[i].step;
	filter_make_chain(filter);
	*out = filter;
	return 0;
}

int filter_compile(const struct event *e, const char *text, size_t n, struct event_filter **out,
		   struct parse_error *error)
{
	struct parser p = {.event = e, .text = text, .bytes = (uint32_t)n, .error = error};
	uint32_t root = NONE;
	int err;

	*error = (struct parse_error){0};
	if (!n || n > FILTER_MAX_TEXT)
		return -EINVAL;
	/* a term has at least four characters, and an operator two */
	p.max = (uint32_t)n + 2 < FILTER_MAX_PREDS ? (uint32_t)n + 2 : FILTER_MAX_PREDS;
	p.nodes = heap_alloc(p.max * sizeof(*p.nodes));
	p.preds = heap_alloc(p.max * sizeof(*p.preds));
	err = p.nodes && p.preds ? check_pairs(&p) : -ENOMEM;
	if (!err)
		err = parse_or(&p, &root);
	if (!err) {
		skip_blanks(&p);
		if (p.at < p.bytes)
			err = bad(&p, -EPERM, "Too many terms in predicate expression", p.at);
	}
	if (!err)
		err = finish(&p, root, out);
	if (err && p.preds)
		free_preds(p.preds, p.nr_preds);
	heap_free(p.nodes);
	heap_free(p.preds);
	return err;
}

void filter_free(struct event_filter *filter)
{
	if (!filter)
		return;
	free_preds(filter->preds, filter->nr);
	heap_free(filter->preds);
	heap_free(filter->text);
	heap_free(filter);
}

const char *filter_text(const struct event_filter *filter)
{
	return filter->text;
}
