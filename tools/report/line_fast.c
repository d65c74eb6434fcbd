/* SPDX-License-Identifier: MIT */
/*
 * See line_fast.h. An event's `print fmt` becomes a list of steps where it has nothing but numbers,
 * strings, names of symbols and of flags; scheduling and functions are as libtraceevent's plug-ins
 * have them. What is not understood in full is left to libtraceevent. line.c prints the first records
 * of an event both ways and keeps this one only where they are equal.
 * Tests: tests/cli/test_report.py.
 */
#include "tools/report/line_fast.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/array.h"
#include "tools/text/number.h"

#define SEEN_SLOTS 1024u /* a power of two */

/* A number that is made of fields; libtraceevent counts in 64 bits without a sign. */
struct expr {
	enum { EXPR_FIELD, EXPR_CONST, EXPR_OP, EXPR_MASK } kind;
	uint16_t offset, bytes; /* EXPR_FIELD */
	uint64_t value;		/* EXPR_CONST; EXPR_MASK: what a cast leaves of left */
	char op; /* EXPR_OP: of one character; l and r: shifts, e and n: equal, not */
	struct expr *left, *right;
};

enum step_kind {
	STEP_TEXT,
	STEP_DECIMAL,  /* signed, of size */
	STEP_UNSIGNED, /* decimal */
	STEP_HEX,
	STEP_POINTER,
	STEP_CHARS,  /* an array of char */
	STEP_STRING, /* of variable length */
	STEP_SYMBOL,
	STEP_FLAGS,
	STEP_CHOICE, /* one of two texts */
};

struct value_name {
	uint64_t value;
	const char *name;
};

struct step {
	enum step_kind kind;
	uint16_t offset, bytes; /* of the field; bytes 0: of expr */
	struct expr *expr;
	bool relative;
	uint8_t size;  /* of the number as the format has it */
	uint8_t width; /* the least number of digits */
	bool zeros;    /* fill with zeros */
	char *text;
	size_t text_bytes;
	struct value_name *names;
	size_t nr_names;
	const char *delim, *yes, *no;
};

/* sched_switch and sched_wakeup, by libtraceevent's plug-in. */
struct sched_fields {
	uint16_t comm, pid, prio, state, next_comm, next_pid, next_prio, cpu;
	uint8_t state_bytes;
};

/* Functions of a CPU, each called by the one before it, as far as their records tell. */
struct callers {
	const char **at;
	size_t nr, room;
};

struct line_fast {
	struct tep_handle *tep;
	const char *(*name)(void *arg, uint64_t addr);
	void *arg;
	struct step *steps;
	size_t nr, room;
	bool swap;
	enum { FAST_STEPS, FAST_FUNCTION, FAST_SWITCH, FAST_WAKEUP } how;
	uint16_t ip, ip_bytes, parent_ip, parent_ip_bytes;
	struct callers *callers; /* by CPU */
	unsigned int nr_callers;
	struct sched_fields sched;
	int32_t *seen; /* threads whose name libtraceevent has */
};

static uint64_t number(const struct line_fast *f, const unsigned char *at, unsigned int bytes)
{
	uint64_t v = 0;

	switch (bytes) {
	case 1:
		return *at;
	case 2: {
		uint16_t n;

		memcpy(&n, at, 2);
		return f->swap ? __builtin_bswap16(n) : n;
	}
	case 4: {
		uint32_t n;

		memcpy(&n, at, 4);
		return f->swap ? __builtin_bswap32(n) : n;
	}
	default:
		memcpy(&v, at, 8);
		return f->swap ? __builtin_bswap64(v) : v;
	}
}

static bool is_number(const struct tep_format_field *f)
{
	return f &&
	       !(f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_STRING)) &&
	       f->offset >= 0 && (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
}

static struct step *step_add(struct line_fast *f, enum step_kind kind)
{
	if (ARRAY_ROOM(f->steps, f->nr, f->room, 8))
		return NULL;
	f->steps[f->nr] = (struct step){.kind = kind};
	return &f->steps[f->nr++];
}

static bool add_text(struct line_fast *f, const char *text, size_t bytes)
{
	struct step *s;

	if (!bytes)
		return true;
	s = step_add(f, STEP_TEXT);
	if (!s)
		return false;
	s->text = strndup(text, bytes);
	s->text_bytes = bytes;
	return s->text != NULL;
}

static struct tep_format_field *named(struct tep_event *ev, const char *name)
{
	struct tep_format_field *f = tep_find_field(ev, name);

	return f ? f : tep_find_common_field(ev, name);
}

static void expr_free(struct expr *e)
{
	if (!e)
		return;
	expr_free(e->left);
	expr_free(e->right);
	free(e);
}

static struct expr *expr_new(int kind)
{
	struct expr *e = calloc(1, sizeof(*e));

	if (e)
		e->kind = kind;
	return e;
}

static struct expr *field_expr(const struct tep_format_field *field)
{
	struct expr *e = is_number(field) ? expr_new(EXPR_FIELD) : NULL;

	if (e) {
		e->offset = (uint16_t)field->offset;
		e->bytes = (uint16_t)field->size;
	}
	return e;
}

/* A number of the format's text. */
static bool is_const(const struct tep_print_arg *arg, uint64_t *v)
{
	char *end;

	if (arg->type != TEP_PRINT_ATOM || !isdigit((unsigned char)arg->atom.atom[0]))
		return false;
	*v = strtoull(arg->atom.atom, &end, 0);
	return !*end || !strcmp(end, "U") || !strcmp(end, "UL") || !strcmp(end, "ULL");
}

/* `array[number]` */
static struct expr *element_expr(struct tep_event *ev, const struct tep_print_arg *arg)
{
	struct tep_format_field *field;
	struct expr *e;
	uint64_t i;

	if (arg->op.left->type != TEP_PRINT_FIELD || !is_const(arg->op.right, &i))
		return NULL;
	field = named(ev, arg->op.left->field.name);
	if (!field || !(field->flags & TEP_FIELD_IS_ARRAY) || field->flags & TEP_FIELD_IS_DYNAMIC ||
	    field->offset < 0 || !field->elementsize || i >= (unsigned int)field->size ||
	    (i + 1) * field->elementsize > (unsigned int)field->size ||
	    (field->elementsize != 1 && field->elementsize != 2 && field->elementsize != 4 &&
	     field->elementsize != 8))
		return NULL;
	e = expr_new(EXPR_FIELD);
	if (e) {
		e->offset = (uint16_t)((unsigned int)field->offset + i * field->elementsize);
		e->bytes = (uint16_t)field->elementsize;
	}
	return e;
}

static char op_of(const char *text)
{
	static const char *const two[] = {"<<", "l", ">>", "r", "==", "e", "!=", "n"};

	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i += 2)
		if (!strcmp(text, two[i]))
			return *two[i + 1];
	return text[0] && !text[1] && strchr("+-*&|^", text[0]) ? text[0] : 0;
}

/* What a cast leaves; 0: it is one that is not known. */
static uint64_t cast_mask(const struct line_fast *f, const char *type)
{
	static const struct {
		const char *type;
		uint64_t mask;
	} all[] = {{"unsigned long long", UINT64_MAX},
		   {"long long", UINT64_MAX},
		   {"u64", UINT64_MAX},
		   {"s64", UINT64_MAX},
		   {"__u64", UINT64_MAX},
		   {"unsigned int", UINT32_MAX},
		   {"u32", UINT32_MAX},
		   {"u16", UINT16_MAX},
		   {"u8", UINT8_MAX}};

	if (!strcmp(type, "unsigned long") || !strcmp(type, "long"))
		return tep_get_long_size(f->tep) == 8 ? UINT64_MAX : 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(type, all[i].type))
			return all[i].mask;
	return 0;
}

/* NULL: it is something else, or memory is short. */
static struct expr *expr_of(struct line_fast *f, struct tep_event *ev,
			    const struct tep_print_arg *arg, int depth)
{
	struct expr *e = NULL;
	uint64_t v;

	if (!arg || depth > 16)
		return NULL;
	if (is_const(arg, &v)) {
		e = expr_new(EXPR_CONST);
		if (e)
			e->value = v;
		return e;
	}
	if (arg->type == TEP_PRINT_FIELD)
		return field_expr(named(ev, arg->field.name));
	if (arg->type == TEP_PRINT_TYPE) {
		v = cast_mask(f, arg->typecast.type);
		/* a field that is as short as a long of 4 bytes stays what it is */
		if (!v && arg->typecast.item->type == TEP_PRINT_FIELD &&
		    strstr(arg->typecast.type, "long")) {
			struct tep_format_field *field = named(ev, arg->typecast.item->field.name);

			v = is_number(field) && field->size <= 4 ? UINT64_MAX : 0;
		}
		e = v ? expr_new(EXPR_MASK) : NULL;
		if (e) {
			e->value = v;
			e->left = expr_of(f, ev, arg->typecast.item, depth + 1);
		}
		if (e && e->left)
			return e;
	} else if (arg->type == TEP_PRINT_OP && !strcmp(arg->op.op, "[")) {
		return element_expr(ev, arg);
	} else if (arg->type == TEP_PRINT_OP && op_of(arg->op.op)) {
		e = expr_new(EXPR_OP);
		if (e) {
			e->op = op_of(arg->op.op);
			e->left = expr_of(f, ev, arg->op.left, depth + 1);
			e->right = expr_of(f, ev, arg->op.right, depth + 1);
		}
		if (e && e->left && e->right)
			return e;
	}
	expr_free(e);
	return NULL;
}

static uint64_t evaluate(const struct line_fast *f, const struct expr *e, const unsigned char *data)
{
	uint64_t l, r;

	if (e->kind == EXPR_FIELD)
		return number(f, data + e->offset, e->bytes);
	if (e->kind == EXPR_CONST)
		return e->value;
	l = evaluate(f, e->left, data);
	if (e->kind == EXPR_MASK)
		return l & e->value;
	r = evaluate(f, e->right, data);
	switch (e->op) {
	case '+':
		return l + r;
	case '-':
		return l - r;
	case '*':
		return l * r;
	case '&':
		return l & r;
	case '|':
		return l | r;
	case '^':
		return l ^ r;
	case 'l':
		return r < 64 ? l << r : 0;
	case 'r':
		return r < 64 ? l >> r : 0;
	case 'e':
		return l == r;
	default:
		return l != r;
	}
}

/* The step's number is @arg's. Return: whether it is understood. */
static bool take_number(struct line_fast *f, struct tep_event *ev, struct step *s,
			const struct tep_print_arg *arg)
{
	struct expr *e = expr_of(f, ev, arg, 0);
	const struct expr *in = e;

	if (!e)
		return false;
	while (in->kind == EXPR_MASK && in->value == UINT64_MAX)
		in = in->left;
	if (in->kind == EXPR_FIELD) {
		s->offset = in->offset;
		s->bytes = in->bytes;
		expr_free(e);
	} else {
		s->expr = e;
	}
	return true;
}

static uint64_t value_of(const struct line_fast *f, const struct step *s, const unsigned char *data)
{
	return s->bytes ? number(f, data + s->offset, s->bytes) : evaluate(f, s->expr, data);
}

/* Names of values: only numbers, as libtraceevent reads them. */
static bool take_names(struct step *s, const struct tep_print_flag_sym *sym)
{
	size_t room = 0;

	for (; sym; sym = sym->next) {
		const char *digits = sym->value;
		char *end;
		uint64_t v;

		if (!isdigit((unsigned char)*digits))
			return false;
		v = strtoull(digits, &end, 0);
		if (*end)
			return false;
		if (ARRAY_ROOM(s->names, s->nr_names, room, 8))
			return false;
		s->names[s->nr_names++] = (struct value_name){.value = v, .name = sym->str};
	}
	return true;
}

/* What `%s` of an argument is. */
static bool add_string(struct line_fast *f, struct tep_event *ev, struct tep_print_arg *arg)
{
	struct tep_format_field *field;
	struct step *s;

	switch (arg->type) {
	case TEP_PRINT_FIELD:
		field = named(ev, arg->field.name);
		if (!field || !(field->flags & TEP_FIELD_IS_ARRAY) ||
		    !(field->flags & TEP_FIELD_IS_STRING) || field->flags & TEP_FIELD_IS_DYNAMIC ||
		    field->size <= 0)
			return false;
		s = step_add(f, STEP_CHARS);
		break;
	case TEP_PRINT_STRING:
		field = named(ev, arg->string.string);
		if (!field || !(field->flags & TEP_FIELD_IS_DYNAMIC) || field->size != 4)
			return false;
		s = step_add(f, STEP_STRING);
		if (s)
			s->relative = field->flags & TEP_FIELD_IS_RELATIVE;
		break;
	case TEP_PRINT_SYMBOL:
		s = step_add(f, STEP_SYMBOL);
		return s && take_number(f, ev, s, arg->symbol.field) &&
		       take_names(s, arg->symbol.symbols);
	case TEP_PRINT_FLAGS:
		s = step_add(f, STEP_FLAGS);
		if (!s)
			return false;
		s->delim = arg->flags.delim;
		return take_number(f, ev, s, arg->flags.field) && take_names(s, arg->flags.flags);
	case TEP_PRINT_OP:
		if (strcmp(arg->op.op, "?") != 0 || !arg->op.right ||
		    arg->op.right->type != TEP_PRINT_OP ||
		    arg->op.right->op.left->type != TEP_PRINT_ATOM ||
		    arg->op.right->op.right->type != TEP_PRINT_ATOM)
			return false;
		s = step_add(f, STEP_CHOICE);
		if (!s)
			return false;
		s->yes = arg->op.right->op.left->atom.atom;
		s->no = arg->op.right->op.right->atom.atom;
		return take_number(f, ev, s, arg->op.left);
	default:
		return false;
	}
	if (!s)
		return false;
	s->offset = (uint16_t)field->offset;
	s->bytes = (uint16_t)field->size;
	return true;
}

/* One conversion behind its `%`. Return: what follows it; NULL: it is not known. */
static const char *add_conversion(struct line_fast *f, struct tep_event *ev, const char *p,
				  struct tep_print_arg *arg)
{
	unsigned int longs = 0, width = 0;
	enum step_kind kind;
	bool zeros = false;
	struct step *s;

	if (*p == '0') {
		zeros = true;
		p++;
	}
	for (; isdigit((unsigned char)*p) && width < 100; p++)
		width = width * 10 + (unsigned int)(*p - '0');
	for (; (*p == 'l' || *p == 'L') && longs < 2; p++)
		longs += *p == 'L' ? 2 : 1;
	switch (*p) {
	case 's':
		return !width && !longs && add_string(f, ev, arg) ? p + 1 : NULL;
	case 'd':
	case 'i':
		kind = STEP_DECIMAL;
		break;
	case 'u':
		kind = STEP_UNSIGNED;
		break;
	case 'x':
		kind = STEP_HEX;
		break;
	case 'p':
		if (width || longs || isalnum((unsigned char)p[1]))
			return NULL;
		kind = STEP_POINTER;
		break;
	default:
		return NULL;
	}
	if (width > 32)
		return NULL;
	s = step_add(f, kind);
	if (!s || !take_number(f, ev, s, arg))
		return NULL;
	s->size = longs || kind == STEP_POINTER ? 8 : 4;
	s->width = (uint8_t)width;
	s->zeros = zeros;
	return p + 1;
}

static bool compile(struct line_fast *f, struct tep_event *ev)
{
	const char *p = ev->print_fmt.format, *from = p;
	struct tep_print_arg *arg = ev->print_fmt.args;

	if (!p)
		return false;
	while (*p) {
		if (*p == '\\')
			return false;
		if (*p != '%') {
			p++;
			continue;
		}
		if (!add_text(f, from, (size_t)(p - from)))
			return false;
		if (p[1] == '%') {
			if (!add_text(f, "%", 1))
				return false;
			p += 2;
		} else {
			if (!arg)
				return false;
			p = add_conversion(f, ev, p + 1, arg);
			if (!p)
				return false;
			arg = arg->next;
		}
		from = p;
	}
	return add_text(f, from, (size_t)(p - from));
}

/* Where a field of @bytes lies (0: a number of any size, whose size is set). */
static bool at(struct tep_event *ev, const char *name, uint16_t *offset, int bytes)
{
	struct tep_format_field *field = tep_find_field(ev, name);

	if (!field || field->size != bytes || field->flags & TEP_FIELD_IS_DYNAMIC ||
	    field->offset < 0)
		return false;
	*offset = (uint16_t)field->offset;
	return true;
}

static bool take_switch(struct line_fast *f, struct tep_event *ev)
{
	struct tep_format_field *state = tep_find_field(ev, "prev_state");
	struct sched_fields *s = &f->sched;

	if (!is_number(state) || !at(ev, "prev_comm", &s->comm, 16) ||
	    !at(ev, "prev_pid", &s->pid, 4) || !at(ev, "prev_prio", &s->prio, 4) ||
	    !at(ev, "next_comm", &s->next_comm, 16) || !at(ev, "next_pid", &s->next_pid, 4) ||
	    !at(ev, "next_prio", &s->next_prio, 4))
		return false;
	s->state = (uint16_t)state->offset;
	s->state_bytes = (uint8_t)state->size;
	return true;
}

static bool take_wakeup(struct line_fast *f, struct tep_event *ev)
{
	struct sched_fields *s = &f->sched;

	return !tep_find_field(ev, "success") && at(ev, "comm", &s->comm, 16) &&
	       at(ev, "pid", &s->pid, 4) && at(ev, "prio", &s->prio, 4) &&
	       at(ev, "target_cpu", &s->cpu, 4);
}

/* An event that a plug-in prints. Return: whether it is one of those that are known here. */
static bool take_handled(struct line_fast *f, struct tep_event *ev)
{
	struct tep_format_field *ip = tep_find_field(ev, "ip");
	struct tep_format_field *parent = tep_find_field(ev, "parent_ip");

	if (!strcmp(ev->system, "ftrace") && !strcmp(ev->name, "function") && is_number(ip) &&
	    is_number(parent)) {
		f->how = FAST_FUNCTION;
		f->parent_ip = (uint16_t)parent->offset;
		f->parent_ip_bytes = (uint16_t)parent->size;
		f->ip = (uint16_t)ip->offset;
		f->ip_bytes = (uint16_t)ip->size;
		return true;
	}
	if (strcmp(ev->system, "sched") != 0)
		return false;
	f->how = !strcmp(ev->name, "sched_switch") ? FAST_SWITCH : FAST_WAKEUP;
	if (f->how == FAST_WAKEUP && strncmp(ev->name, "sched_wakeup", 12) != 0)
		return false;
	f->seen = malloc(SEEN_SLOTS * sizeof(*f->seen));
	for (unsigned int i = 0; f->seen && i < SEEN_SLOTS; i++)
		f->seen[i] = INT32_MIN;
	return f->seen && (f->how == FAST_SWITCH ? take_switch(f, ev) : take_wakeup(f, ev));
}

struct line_fast *line_fast_new(struct tep_handle *tep, struct tep_event *ev,
				const char *(*name)(void *arg, uint64_t addr), void *arg, bool swap)
{
	struct line_fast *f = calloc(1, sizeof(*f));
	bool handled = ev->handler && !(ev->flags & TEP_EVENT_FL_NOHANDLE), good;

	if (!f)
		return NULL;
	f->tep = tep;
	f->name = name;
	f->arg = arg;
	f->swap = swap;
	if (ev->flags & (TEP_EVENT_FL_ISBPRINT | TEP_EVENT_FL_PRINTRAW | TEP_EVENT_FL_FAILED))
		good = false;
	else
		good = handled ? take_handled(f, ev) : compile(f, ev);
	if (good)
		return f;
	line_fast_free(f);
	return NULL;
}

void line_fast_free(struct line_fast *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nr; i++) {
		free(f->steps[i].text);
		free(f->steps[i].names);
		expr_free(f->steps[i].expr);
	}
	for (unsigned int i = 0; i < f->nr_callers; i++)
		free(f->callers[i].at);
	free(f->callers);
	free(f->steps);
	free(f->seen);
	free(f);
}

static char *put_hex(char *p, uint64_t v, unsigned int width, char fill)
{
	unsigned int digits = 1;

	while (digits < 16 && v >> (4 * digits))
		digits++;
	for (; width > digits; width--)
		*p++ = fill;
	for (unsigned int i = digits; i-- > 0;)
		*p++ = "0123456789abcdef"[v >> (4 * i) & 15];
	return p;
}

static void put_number(const struct step *s, struct out *o, uint64_t v)
{
	char *p = out_room(o, 80);
	bool minus = false;
	unsigned int n;

	switch (s->kind) {
	case STEP_POINTER:
		if (!v) {
			memcpy(p, "(nil)", 5);
			p += 5;
			break;
		}
		*p++ = '0';
		*p++ = 'x';
		p = put_hex(p, v, 0, '0');
		break;
	case STEP_HEX:
		p = put_hex(p, s->size == 4 ? (uint32_t)v : v, s->width, s->zeros ? '0' : ' ');
		break;
	default:
		if (s->size == 4)
			v = s->kind == STEP_DECIMAL ? (uint64_t)(int32_t)v : (uint32_t)v;
		if (s->kind == STEP_DECIMAL && (int64_t)v < 0) {
			minus = true;
			v = -v;
		}
		n = number_width(v) + minus;
		for (unsigned int i = n; !s->zeros && i < s->width; i++)
			*p++ = ' ';
		if (minus)
			*p++ = '-';
		for (unsigned int i = n; s->zeros && i < s->width; i++)
			*p++ = '0';
		p = number_put(p, v);
	}
	out_done(o, p);
}

/* Whether a terminal can be given all of it. */
static bool is_plain(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static bool put_symbol(const struct step *s, struct out *o, uint64_t v)
{
	for (size_t i = 0; i < s->nr_names; i++) {
		if (s->names[i].value == v) {
			out_text(o, s->names[i].name);
			return true;
		}
	}
	return false;
}

static bool put_flags(const struct step *s, struct out *o, uint64_t v)
{
	bool any = false;

	/* libtraceevent has its own ways with none, and with what is left */
	if (!v)
		return false;
	for (size_t i = 0; i < s->nr_names; i++) {
		uint64_t mask = s->names[i].value;

		if (!mask || (v & mask) != mask)
			continue;
		if (any && s->delim)
			out_text(o, s->delim);
		out_text(o, s->names[i].name);
		any = true;
		v &= ~mask;
	}
	return any && !v;
}

static bool put_steps(const struct line_fast *f, struct out *o, const struct record *rec)
{
	const unsigned char *data = rec->data;

	for (size_t i = 0; i < f->nr; i++) {
		const struct step *s = &f->steps[i];
		const char *text;
		size_t n;
		uint64_t v;

		switch (s->kind) {
		case STEP_TEXT:
			out_write(o, s->text, s->text_bytes);
			break;
		case STEP_CHARS:
			if ((uint32_t)s->offset + s->bytes > rec->data_bytes)
				return false;
			text = (const char *)data + s->offset;
			n = strnlen(text, s->bytes);
			if (!is_plain(text, n))
				return false;
			out_write(o, text, n);
			break;
		case STEP_STRING:
			v = number(f, data + s->offset, 4) & 0xffff;
			if (s->relative)
				v += (uint64_t)s->offset + s->bytes;
			if (v > rec->data_bytes)
				return false;
			text = (const char *)data + v;
			n = strnlen(text, rec->data_bytes - v);
			if (n == rec->data_bytes - v || !is_plain(text, n))
				return false;
			out_write(o, text, n);
			break;
		case STEP_SYMBOL:
			if (!put_symbol(s, o, value_of(f, s, data)))
				return false;
			break;
		case STEP_FLAGS:
			if (!put_flags(s, o, value_of(f, s, data)))
				return false;
			break;
		case STEP_CHOICE:
			out_text(o, value_of(f, s, data) ? s->yes : s->no);
			break;
		default:
			put_number(s, o, value_of(f, s, data));
		}
	}
	return true;
}

/* `comm:pid [prio]`; libtraceevent learns the name, as its plug-in has it learn. */
static bool put_task(const struct line_fast *f, struct out *o, const unsigned char *comm,
		     const unsigned char *pid, const unsigned char *prio)
{
	int32_t id = (int32_t)number(f, pid, 4), *seen = &f->seen[(uint32_t)id & (SEEN_SLOTS - 1)];
	size_t n = strnlen((const char *)comm, 16);
	char *p;

	if (!is_plain((const char *)comm, n))
		return false;
	if (*seen != id) {
		char name[17];

		memcpy(name, comm, n);
		name[n] = '\0';
		tep_register_comm(f->tep, name, id);
		*seen = id;
	}
	p = out_room(o, 80);
	memcpy(p, comm, n);
	p += n;
	*p++ = ':';
	p = number_put(p, (uint32_t)id);
	*p++ = ' ';
	*p++ = '[';
	p = number_put(p, number(f, prio, 4));
	*p++ = ']';
	out_done(o, p);
	return true;
}

static bool put_switch(const struct line_fast *f, struct out *o, const unsigned char *d)
{
	static const char states[] = "SDTtZXxW";
	const struct sched_fields *s = &f->sched;
	uint64_t state = number(f, d + s->state, s->state_bytes);
	char text[24];
	size_t n = 0;

	if (!put_task(f, o, d + s->comm, d + s->pid, d + s->prio))
		return false;
	text[n++] = ' ';
	for (unsigned int i = 0; i < sizeof(states) - 1; i++) {
		if (!(state >> i & 1))
			continue;
		if (n > 1)
			text[n++] = '|';
		text[n++] = states[i];
	}
	if (n == 1)
		text[n++] = 'R';
	out_write(o, text, n);
	out_write(o, " ==> ", 5);
	return put_task(f, o, d + s->next_comm, d + s->next_pid, d + s->next_prio);
}

static bool put_wakeup(const struct line_fast *f, struct out *o, const unsigned char *d)
{
	const struct sched_fields *s = &f->sched;
	uint64_t cpu = number(f, d + s->cpu, 4);
	char *p;

	if (!put_task(f, o, d + s->comm, d + s->pid, d + s->prio))
		return false;
	p = out_room(o, 40);
	memcpy(p, " CPU:", 5);
	p = cpu < 1000 ? number_zeros(p + 5, cpu, 3) : number_put(p + 5, cpu);
	out_done(o, p);
	return true;
}

static bool callers_set(struct callers *c, size_t i, const char *name)
{
	while (c->nr <= i) {
		if (ARRAY_ROOM(c->at, c->nr, c->room, 16))
			return false;
		c->at[c->nr++] = NULL;
	}
	c->at[i] = name;
	return true;
}

/* How deep a function is below those that were seen on its CPU: the plug-in's way. */
static size_t depth_below(struct line_fast *f, unsigned int cpu, const char *parent,
			  const char *name)
{
	struct callers *c;

	if (cpu >= f->nr_callers) {
		struct callers *more = reallocarray(f->callers, cpu + 1u, sizeof(*more));

		if (!more)
			return 0;
		memset(more + f->nr_callers, 0, (cpu + 1u - f->nr_callers) * sizeof(*more));
		f->callers = more;
		f->nr_callers = cpu + 1;
	}
	c = &f->callers[cpu];
	for (size_t i = 0; i < c->nr && c->at[i]; i++) {
		if (c->at[i] != parent && strcmp(c->at[i], parent) != 0)
			continue;
		if (name)
			callers_set(c, i + 1, name);
		return i;
	}
	if (callers_set(c, 0, parent) && name)
		callers_set(c, 1, name);
	return 0;
}

static bool put_function(struct line_fast *f, struct out *o, const struct record *rec)
{
	const unsigned char *d = rec->data;
	uint64_t ip = number(f, d + f->ip, f->ip_bytes);
	const char *name = f->name(f->arg, ip);
	const char *parent = f->name(f->arg, number(f, d + f->parent_ip, f->parent_ip_bytes));
	size_t n = name ? strlen(name) : 0, depth = 0;
	char *p;

	if (parent)
		depth = depth_below(f, rec->cpu, parent, name);
	/* its names are the file's, and so the depth is bounded by their number */
	for (; depth; depth--) {
		p = out_room(o, 3);
		memcpy(p, "   ", 3);
		out_done(o, p + 3);
	}
	if (name && is_plain(name, n))
		out_write(o, name, n);
	else if (name)
		return false;
	else
		out_printf(o, "0x%" PRIx64, ip);
	return true;
}

bool line_fast_put(struct line_fast *f, struct out *o, const struct record *rec)
{
	size_t used;
	bool good;

	/* in one piece, so that what does not work out can be taken back */
	out_room(o, OUT_BYTES / 4);
	used = o->used;
	if (rec->data_bytes > OUT_BYTES / 16)
		return false;
	switch (f->how) {
	case FAST_FUNCTION:
		good = put_function(f, o, rec);
		break;
	case FAST_SWITCH:
		good = put_switch(f, o, rec->data);
		break;
	case FAST_WAKEUP:
		good = put_wakeup(f, o, rec->data);
		break;
	default:
		good = put_steps(f, o, rec);
	}
	if (!good)
		o->used = used;
	return good;
}
