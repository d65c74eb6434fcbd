/* SPDX-License-Identifier: MIT */
/*
 * See line_expr.h. Tests: tests/cli/test_report.py.
 */
#include "tools/report/line_expr.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/load_number.h"

struct tep_format_field *line_field(struct tep_event *ev, const char *name)
{
	struct tep_format_field *f = tep_find_field(ev, name);

	return f ? f : tep_find_common_field(ev, name);
}

bool line_field_is_number(const struct tep_format_field *f)
{
	return f &&
	       !(f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_STRING)) &&
	       f->offset >= 0 && (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
}

void line_expr_free(struct line_expr *e)
{
	if (!e)
		return;
	line_expr_free(e->left);
	line_expr_free(e->right);
	free(e);
}

static struct line_expr *expr_new(int kind)
{
	struct line_expr *e = calloc(1, sizeof(*e));

	if (e)
		e->kind = kind;
	return e;
}

static struct line_expr *field_expr(const struct tep_format_field *field)
{
	struct line_expr *e = line_field_is_number(field) ? expr_new(EXPR_FIELD) : NULL;

	if (e) {
		e->offset = (uint16_t)field->offset;
		e->bytes = (uint16_t)field->size;
	}
	return e;
}

/* Is @arg a constant? */
static bool is_const(const struct tep_print_arg *arg, uint64_t *v)
{
	char *end;

	if (arg->type != TEP_PRINT_ATOM || !isdigit((unsigned char)arg->atom.atom[0]))
		return false;
	*v = strtoull(arg->atom.atom, &end, 0);
	return !*end || !strcmp(end, "U") || !strcmp(end, "UL") || !strcmp(end, "ULL");
}

/* `array[number]` */
static struct line_expr *element_expr(struct tep_event *ev, const struct tep_print_arg *arg)
{
	struct tep_format_field *field;
	struct line_expr *e;
	uint64_t i;

	if (arg->op.left->type != TEP_PRINT_FIELD || !is_const(arg->op.right, &i))
		return NULL;
	field = line_field(ev, arg->op.left->field.name);
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

/* The bits that a cast leaves; 0: the type is not known. */
static uint64_t cast_mask(struct tep_event *ev, const char *type)
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
		return tep_get_long_size(ev->tep) == 8 ? UINT64_MAX : 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(type, all[i].type))
			return all[i].mask;
	return 0;
}

/* Convert @arg. NULL: it is not supported, or memory is short. */
static struct line_expr *expr_of(struct tep_event *ev, const struct tep_print_arg *arg, int depth)
{
	struct line_expr *e = NULL;
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
		return field_expr(line_field(ev, arg->field.name));
	if (arg->type == TEP_PRINT_TYPE) {
		v = cast_mask(ev, arg->typecast.type);
		/* a cast to a long of 4 bytes does not change a field of at most 4 bytes */
		if (!v && arg->typecast.item->type == TEP_PRINT_FIELD &&
		    strstr(arg->typecast.type, "long")) {
			struct tep_format_field *field =
				line_field(ev, arg->typecast.item->field.name);

			v = line_field_is_number(field) && field->size <= 4 ? UINT64_MAX : 0;
		}
		e = v ? expr_new(EXPR_MASK) : NULL;
		if (e) {
			e->value = v;
			e->left = expr_of(ev, arg->typecast.item, depth + 1);
		}
		if (e && e->left)
			return e;
	} else if (arg->type == TEP_PRINT_OP && !strcmp(arg->op.op, "[")) {
		return element_expr(ev, arg);
	} else if (arg->type == TEP_PRINT_OP && op_of(arg->op.op)) {
		e = expr_new(EXPR_OP);
		if (e) {
			e->op = op_of(arg->op.op);
			e->left = expr_of(ev, arg->op.left, depth + 1);
			e->right = expr_of(ev, arg->op.right, depth + 1);
		}
		if (e && e->left && e->right)
			return e;
	}
	line_expr_free(e);
	return NULL;
}

struct line_expr *line_expr_new(struct tep_event *ev, const struct tep_print_arg *arg)
{
	return expr_of(ev, arg, 0);
}

uint64_t line_expr_value(const struct line_expr *e, const unsigned char *data, bool swap)
{
	uint64_t l, r;

	if (e->kind == EXPR_FIELD)
		return load_number(data + e->offset, e->bytes, swap);
	if (e->kind == EXPR_CONST)
		return e->value;
	l = line_expr_value(e->left, data, swap);
	if (e->kind == EXPR_MASK)
		return l & e->value;
	r = line_expr_value(e->right, data, swap);
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
