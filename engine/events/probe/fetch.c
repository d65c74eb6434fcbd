/* SPDX-License-Identifier: MIT */
/*
 * See fetch.h: the grammar. The texts and positions of errors are the kernel's (6.12). An argument
 * becomes a base (a register, a word of the stack, a number ...), offsets for dereferences, and a
 * type that says what is stored. Refused are arrays of strings and of symstr, and names without
 * their meaning (abi/probe_word.h).
 *
 * Nothing is allocated. Control context; no state. Tests: tests/engine/events/kprobe,
 * tests/fuzz/probes.c.
 */
#include "engine/events/probe/fetch.h"

#include <errno.h>

#include "abi/probe_word.h"
#include "arch_regs.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

static const struct fetch_type types[] = {
	{"u8", "u8", "%u", 1, 0, 0, 0},
	{"u16", "u16", "%u", 2, 0, 0, 0},
	{"u32", "u32", "%u", 4, 0, 0, 0},
	{"u64", "u64", "%Lu", 8, 0, 0, 0},
	{"s8", "s8", "%d", 1, 1, 0, 0},
	{"s16", "s16", "%d", 2, 1, 0, 0},
	{"s32", "s32", "%d", 4, 1, 0, 0},
	{"s64", "s64", "%Ld", 8, 1, 0, 0},
	{"x8", "u8", "0x%x", 1, 0, 0, 0},
	{"x16", "u16", "0x%x", 2, 0, 0, 0},
	{"x32", "u32", "0x%x", 4, 0, 0, 0},
	{"x64", "u64", "0x%Lx", 8, 0, 0, 0},
	{"char", "u8", "'%c'", 1, 0, 0, 0},
	{"symbol", "u64", "%pS", 8, 0, 0, 0},
	{"string", "__data_loc char[]", "\\\"%s\\\"", 4, 1, 1, 0},
	{"ustring", "__data_loc char[]", "\\\"%s\\\"", 4, 1, 1, 0},
	/* a type of our own */
	{"string64", "__data_loc char[]", "\\\"%s\\\"", 4, 1, 1, 64},
};
#define DEFAULT_TYPE (&types[11])
#define STRING_TYPE  (&types[14])

/* The parser's state: the text behind `=`, and its offset in the word. */
struct parse {
	struct fetch_arg *arg;
	const struct fetch_context *ctx;
	struct parse_error *error;
	size_t name_bytes; /* length of its text if that can be the argument's name; else 0 */
	int is_meaning;	   /* the parsed text is a meaning, not the written text */
};

static int bad(struct parse *p, uint32_t position, const char *text)
{
	*p->error = (struct parse_error){text, position};
	return -EINVAL;
}

static int is(const char *text, size_t n, const char *word)
{
	return n == strlen(word) && !memcmp(text, word, n);
}

/* Read a number as the kernel's kstrtol() does: with a sign, and no newline. */
static int number(const char *text, size_t n, int64_t *v)
{
	int minus = n && *text == '-';
	uint64_t u;

	if (n && (*text == '-' || *text == '+'))
		text++, n--;
	if (!n || !is_digit(*text) || text[n - 1] == '\n' || str_to_u64(text, n, &u))
		return -EINVAL;
	if (u > (uint64_t)INT64_MAX + (uint64_t)minus)
		return -ERANGE;
	*v = minus ? (int64_t)(0 - u) : (int64_t)u;
	return 0;
}

static int unsigned_number(const char *text, size_t n, uint64_t *v)
{
	return !n || text[n - 1] == '\n' ? -EINVAL : str_to_u64(text, n, v);
}

int fetch_good_name(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		      (i && is_digit(c))))
			return 0;
	}
	return n > 0;
}

static int parse_register(struct parse *p, const char *text, size_t n, uint32_t at)
{
	uint32_t reg = arch_reg_named(text + 1, n - 1);

	if (p->ctx->event && !p->ctx->is_tracepoint)
		return bad(p, at, "Invalid $-variable specified");
	/* at a return only these registers are known */
	if (reg == ARCH_NR_REGS || p->ctx->is_function ||
	    (p->ctx->is_return && reg != ARCH_REG_RESULT && reg < ARCH_NR_SAVED))
		return bad(p, at, "Invalid register name");
	p->arg->base = FETCH_REG;
	p->arg->reg = (uint8_t)reg;
	return 0;
}

static int parse_argument_number(struct parse *p, const char *text, size_t n, uint32_t at)
{
	uint64_t v;

	if (unsigned_number(text, n, &v))
		return bad(p, at, "Invalid $-variable specified");
	if (!v || v > (p->ctx->is_return ? FETCH_MAX_BEGUN : 128))
		return bad(p, at, "Invalid argument number");
	if (p->ctx->event) {
		if (v > p->ctx->event->nr_fields)
			return bad(p, at, "Invalid argument number");
		p->arg->base = FETCH_FIELD;
		p->arg->field = &p->ctx->event->fields[v - 1];
		return 0;
	}
	/* the first argument of a tracepoint's probe function is its private data */
	v += p->ctx->is_tracepoint != 0;
	if (p->ctx->is_return) {
		p->arg->base = FETCH_BEGUN;
		p->arg->value = v - 1;
		return 0;
	}
	if (v <= ARCH_NR_ARGS) {
		p->arg->base = FETCH_REG;
		p->arg->reg = (uint8_t)arch_arg_reg((uint32_t)v - 1);
		return 0;
	}
	/* above the return address */
	p->arg->base = FETCH_STACK;
	p->arg->value = v - ARCH_NR_ARGS;
	return 0;
}

/* Parse `$FIELD`, or a field that each record has. */
static int parse_field(struct parse *p, const char *name, size_t n, uint32_t at)
{
	p->arg->field = event_field(p->ctx->event, name, n);
	if (!p->arg->field && !is(name, n, "comm") && !is(name, n, "COMM"))
		return bad(p, at, "Invalid $-variable specified");
	p->arg->base = p->arg->field ? FETCH_FIELD : FETCH_COMM;
	return 0;
}

ptrdiff_t fetch_errno_at;

static int parse_variable(struct parse *p, const char *text, size_t n, uint32_t at)
{
	const char *name = text + 1;
	uint64_t v;

	n--;
	if (p->ctx->event && !p->ctx->is_tracepoint)
		return parse_field(p, name, n, at);
	if (is(name, n, "retval")) {
		if (!p->ctx->is_return)
			return bad(p, at, "$retval is not available on probe");
		p->arg->base = FETCH_RETVAL;
		return 0;
	}
	/* our own: the kernel has no errno */
	if (p->ctx->is_return && (is(name, n, "errno") || is(name, n, "errno_null"))) {
		p->arg->base = FETCH_ERRNO;
		fetch_errno_at = (const char *)&errno - arch_thread_pointer();
		p->arg->value = is(name, n, "errno") ? UINT64_MAX : 0;
		return 0;
	}
	if (is(name, n, "stack")) {
		p->arg->base = FETCH_REG;
		p->arg->reg = ARCH_REG_SP;
		return 0;
	}
	if (n > 5 && !memcmp(name, "stack", 5)) {
		if (unsigned_number(name + 5, n - 5, &v))
			return bad(p, at, "Invalid $-variable specified");
		if (v > 2048)
			return bad(p, at, "Invalid stack number");
		p->arg->base = FETCH_STACK;
		p->arg->value = v;
		return 0;
	}
	if (is(name, n, "comm") || is(name, n, "COMM")) {
		p->arg->base = FETCH_COMM;
		return 0;
	}
	if (is(name, n, "arg*")) {
		bad(p, at, "BTF is not available or not supported");
		return -EOPNOTSUPP;
	}
	if (n > 3 && !memcmp(name, "arg", 3))
		return parse_argument_number(p, name + 3, n - 3, at);
	return bad(p, at, "Invalid $-variable specified");
}

static int parse_memory(struct parse *p, const char *text, size_t n, uint32_t at)
{
	struct fetch_arg *a = p->arg;
	uint64_t v;
	size_t i;
	int64_t offset = 0;
	int err;

	a->base = FETCH_IMM;
	if (n > 1 && is_digit(text[1])) {
		if (unsigned_number(text + 1, n - 1, &a->value))
			return bad(p, at, "Invalid memory address");
	} else if (n > 1 && text[1] == '+') {
		if (!p->ctx->is_file)
			return bad(p, at, "File offset is not available with kprobe");
		if (unsigned_number(text + 2, n - 2, &v))
			return bad(p, at, "Invalid file offset value");
		err = p->ctx->file_offset(p->ctx->arg, v, &a->value);
		if (err)
			return err;
	} else {
		if (p->ctx->is_file)
			return bad(p, at, "Symbol is not available with uprobe");
		for (i = 1; i < n && text[i] != '+' && text[i] != '-'; i++)
			;
		if (i == 1 || (i < n && number(text + i, n - i, &offset)))
			return bad(p, at, "Invalid memory address");
		err = p->ctx->symbol(p->ctx->arg, text + 1, i - 1, &a->value);
		if (err)
			return err;
		a->value += (uint64_t)offset;
	}
	a->derefs[a->nr_derefs++] = 0;
	return 0;
}

static int parse_immediate(struct parse *p, const char *text, size_t n, uint32_t at)
{
	int64_t v;

	if (n > 1 && text[1] == '"') {
		if (n < 3 || text[n - 1] != '"')
			return bad(p, at + (uint32_t)n, "String is not closed with '\"'");
		/* a name cannot mean a string, as the argument has no copy of the meaning */
		if (p->is_meaning)
			return bad(p, at, "Invalid immediate value");
		p->arg->base = FETCH_TEXT;
		p->arg->text_at = (uint8_t)(text + 2 - p->arg->text);
		p->arg->text_bytes = (uint8_t)(n - 3);
		return 0;
	}
	if (number(text + 1, n - 1, &v))
		return bad(p, at + 1, "Invalid immediate value");
	p->arg->base = FETCH_IMM;
	p->arg->value = (uint64_t)v;
	return 0;
}

static int is_name_start(char c)
{
	return fetch_good_name(&c, 1);
}

/* Parse a base that is not memory. */
static int parse_base(struct parse *p, const char *text, size_t n, uint32_t at)
{
	switch (n ? *text : 0) {
	case '$':
		return parse_variable(p, text, n, at);
	case '%':
		return parse_register(p, text, n, at);
	case '@':
		return parse_memory(p, text, n, at);
	case '\\':
		return parse_immediate(p, text, n, at);
	default:
		if (n && is_name_start(*text) && p->ctx->event && p->ctx->is_tracepoint)
			return parse_field(p, text, n, at);
		if (n && is_name_start(*text)) {
			bad(p, at, "BTF is not available or not supported");
			return p->ctx->event ? -EINVAL : -EOPNOTSUPP;
		}
		return bad(p, at, "Invalid fetch argument");
	}
}

/* Parse `+8(+0(%di))`: the offsets are found outermost first. */
static int parse_expression(struct parse *p, const char *text, size_t n, uint32_t at)
{
	struct {
		int64_t offset;
		uint32_t at;
	} levels[FETCH_MAX_TEXT / 3 + 1]; /* an offset and its braces have three letters */
	uint32_t depth = 0, start;
	struct fetch_arg *a = p->arg;
	int err;

	while (n && (*text == '+' || *text == '-')) {
		size_t open, close, skip;

		start = at;
		open = text_find(text, n, '(');
		if (open == n)
			return bad(p, start, "Dereference needs a brace");
		/* all memory is the program's, so `u` makes no difference */
		skip = open > 1 && text[1] == 'u' ? 2 : 1;
		if (!is_digit(skip < open ? text[skip] : 0) ||
		    number(text + skip, open - skip, &levels[depth].offset))
			return bad(p, start, "Invalid dereference offset");
		if (*text == '-')
			levels[depth].offset = -levels[depth].offset;
		levels[depth++].at = start;
		close = text_find_last(text, n, ')');
		if (close == n || close < open)
			return bad(p, at + (uint32_t)n, "Dereference brace is not closed");
		if (close != n - 1)
			return bad(p, at + (uint32_t)close + 1, "Invalid fetch argument");
		at += (uint32_t)open + 1;
		text += open + 1;
		n = close - open - 1;
	}
	err = parse_base(p, text, n, at);
	if (err)
		return err;
	if (depth && (a->base == FETCH_COMM || a->base == FETCH_TEXT))
		return bad(p, at, "$comm can not be dereferenced");
	while (depth--) {
		if (a->nr_derefs == FETCH_MAX_DEREFS)
			return bad(p, levels[depth].at, "Dereference is too much nested");
		a->derefs[a->nr_derefs++] = levels[depth].offset;
	}
	return 0;
}

const struct fetch_type *fetch_integer(uint32_t size, int is_signed)
{
	return &types[(is_signed ? 4 : 0) + (size == 8 ? 3 : size / 2)];
}

static const struct fetch_type *find_type(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (is(name, n, types[i].name))
			return &types[i];
	return NULL;
}

/* Parse `b4@2/32`: 4 bits from bit 2 on, of 32. */
static int parse_bitfield(struct parse *p, const char *text, size_t n, uint32_t at)
{
	size_t mark = text_find(text, n, '@'), slash = text_find(text, n, '/');
	uint64_t width, first, bits;

	if (slash == n || unsigned_number(text + slash + 1, n - slash - 1, &bits) ||
	    (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return bad(p, at, "Unknown type is specified");
	p->arg->type = &types[bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3];
	if (mark >= slash || unsigned_number(text + 1, mark - 1, &width) ||
	    unsigned_number(text + mark + 1, slash - mark - 1, &first) || !width || width > bits ||
	    first > bits - width)
		return bad(p, at, "Invalid bitfield");
	p->arg->left = (uint8_t)(bits - width - first);
	p->arg->right = (uint8_t)(bits - width);
	return 0;
}

static int parse_array(struct parse *p, const char *text, size_t *n, uint32_t at)
{
	size_t open = text_find(text, *n, '['), close = text_find(text, *n, ']');
	uint64_t count;

	if (open == *n)
		return 0;
	if (close == *n)
		return bad(p, at + (uint32_t)*n, "Array is not closed");
	if (close != *n - 1)
		return bad(p, at + (uint32_t)close + 1, "Array has wrong suffix");
	if (close < open || unsigned_number(text + open + 1, close - open - 1, &count) || !count)
		return bad(p, at + (uint32_t)open + 1, "Invalid array size");
	if (count > FETCH_MAX_ARRAY)
		return bad(p, at + (uint32_t)open + 1, "Array number is too big");
	p->arg->count = (uint32_t)count;
	*n = open;
	return 0;
}

/* @text: behind the `:`; NULL: no type. @at: its offset; @body_at: the expression's offset. */
static int parse_type(struct parse *p, const char *text, size_t n, uint32_t at, uint32_t body_at)
{
	struct fetch_arg *a = p->arg;
	int err = 0;

	a->type = a->base == FETCH_COMM || a->base == FETCH_TEXT ? STRING_TYPE : DEFAULT_TYPE;
	if (text) {
		err = parse_array(p, text, &n, at);
		if (err)
			return err;
		if (a->type == STRING_TYPE && (a->count || !is(text, n, "string")))
			return bad(p, at, "$comm and immediate-string only accepts string type");
		a->type = find_type(text, n);
		if (!a->type && n && *text == 'b')
			err = parse_bitfield(p, text, n, at);
		else if (!a->type)
			err = bad(p, at, "Unknown type is specified");
	}
	if (err)
		return err;
	if (a->type->is_string && a->count)
		return bad(p, at, "Unknown type is specified");
	if (a->type->is_string && !a->nr_derefs && a->base != FETCH_COMM && a->base != FETCH_TEXT &&
	    a->base != FETCH_FIELD)
		return bad(p, text ? at : body_at, "String accepts only memory argument");
	return 0;
}

/* Find the `:` before the type, not one within a string. */
static size_t find_colon(const char *text, size_t n)
{
	size_t i = text_find_last(text, n, '"');

	if (n > 1 && text[0] == '\\' && text[1] == '"' && i < n)
		return i + text_find(text + i, n - i, ':');
	return text_find(text, n, ':');
}

static int parse_name(struct parse *p, const char *word, size_t n, uint32_t index,
		      const struct fetch_arg *others)
{
	struct fetch_arg *a = p->arg;
	struct seq_buf s;
	uint32_t i;

	if (n == SIZE_MAX && p->name_bytes) {
		memcpy(a->name, word, p->name_bytes);
		a->name[p->name_bytes] = 0;
	} else if (n == SIZE_MAX) {
		seq_init(&s, a->name, FETCH_MAX_NAME);
		seq_puts(&s, "arg");
		seq_putu(&s, index + 1);
		a->name[s.len] = 0;
	} else {
		if (n > FETCH_MAX_NAME)
			return bad(p, 0, "Argument name is too long");
		if (!n)
			return bad(p, 0, "Argument name is not specified");
		if (!fetch_good_name(word, n))
			return bad(p, 0,
				   "Argument name must follow the same rules as C identifiers");
		memcpy(a->name, word, n);
		a->name[n] = 0;
	}
	for (i = 0; i < index; i++)
		if (str_equal(a->name, others[i].name))
			return bad(p, 0, "This argument name is already used");
	if (str_starts(a->name, "common_") || str_starts(a->name, "__probe_"))
		return bad(p, 0, "This argument name is already used");
	return 0;
}

const char *fetch_wrong(char which)
{
	static const char *const wrong[] = {
		"This variable is not found at this probe point",
		"$arg* must be an independent parameter without name etc.",
		"$arg* can be used only on function entry or exit",
		"$arg* can be used only once in the parameters",
		"This is not a pointer to union/structure.",
		"Non pointer structure/union argument is not supported.",
		"Failed to parse single hyphen. Forgot '>'?",
		"This field is not found.",
		"This type does not fit for string.",
		"This function returns 'void' type",
		"This variable is in no register or stack slot that a probe can read",
		"Floating point is not supported",
		"Argument expression is too long",
	};

	_Static_assert(ARRAY_SIZE(wrong) == PROBE_WRONG_END - PROBE_WRONG_NAME, "one for each");
	return which >= PROBE_WRONG_NAME && which < PROBE_WRONG_END
		       ? wrong[which - PROBE_WRONG_NAME]
		       : NULL;
}

int fetch_parse(struct fetch_arg *arg, const struct fetch_word *w, uint32_t index,
		const struct fetch_arg *others, const struct fetch_context *ctx,
		struct parse_error *error)
{
	const char *word = w->text;
	size_t n = w->bytes, equals = text_find(word, n, '='), colon = text_find(word, n, ':');
	struct parse p = {arg, ctx, error, 0, 0};
	uint32_t at = 0;
	int err;

	*arg = (struct fetch_arg){0};
	/* a tracepoint's argument and a variable are named by themselves */
	if ((w->means_bytes || ctx->is_tracepoint) && colon <= FETCH_MAX_NAME &&
	    fetch_good_name(word, colon))
		p.name_bytes = colon;
	err = parse_name(&p, word, equals == n ? SIZE_MAX : equals, index, others);
	if (err)
		return err;
	if (equals < n) {
		at = (uint32_t)equals + 1;
		word += at;
		n -= at;
	}
	if (n > FETCH_MAX_TEXT)
		return bad(&p, at, "Argument expression is too long");
	if (!n)
		return bad(&p, at, "No argument expression");
	memcpy(arg->text, word, n);
	arg->text[n] = 0;
	word = arg->text;
	if (w->means_bytes) {
		p.is_meaning = 1;
		word = w->means;
		n = w->means_bytes;
		if (n > FETCH_MAX_TEXT)
			return bad(&p, at, "Argument expression is too long");
	}
	colon = find_colon(word, n);
	err = parse_expression(&p, word, colon, at);
	if (!err && colon < n)
		err = parse_type(&p, word + colon + 1, n - colon - 1, at + (uint32_t)colon + 1, at);
	else if (!err)
		err = parse_type(&p, NULL, 0, at, at);
	/* an event that does not happen in the program's code has no stack */
	if (!err && ctx->event && (arg->base == FETCH_STACK || arg->base == FETCH_REG))
		return bad(&p, at, "Invalid $-variable specified");
	/* the error is in the meaning, so point to the whole word */
	if (err && w->means_bytes)
		error->position = at;
	return err;
}

int fetch_same_field(const struct fetch_arg *a, const struct fetch_arg *b)
{
	return str_equal(a->name, b->name) && a->type == b->type && a->count == b->count;
}

uint32_t fetch_field_bytes(const struct fetch_arg *arg)
{
	return arg->type->size * (arg->count ? arg->count : 1);
}

void fetch_put_conversion(const struct fetch_arg *arg, struct seq_buf *s)
{
	uint32_t i;

	if (arg->count)
		seq_putc(s, '{');
	for (i = 0; i < (arg->count ? arg->count : 1); i++) {
		if (i)
			seq_putc(s, ',');
		seq_puts(s, arg->type->conversion);
	}
	if (arg->count)
		seq_putc(s, '}');
}

void fetch_put_value(const struct fetch_arg *arg, struct seq_buf *s)
{
	uint32_t i;

	if (arg->type->is_string) {
		seq_puts(s, ", __get_str(");
		seq_puts(s, arg->name);
		seq_putc(s, ')');
		return;
	}
	for (i = 0; i < (arg->count ? arg->count : 1); i++) {
		seq_puts(s, ", REC->");
		seq_puts(s, arg->name);
		if (arg->count) {
			seq_putc(s, '[');
			seq_putu(s, i);
			seq_putc(s, ']');
		}
	}
}
