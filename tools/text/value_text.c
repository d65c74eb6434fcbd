/* SPDX-License-Identifier: MIT */
/*
 * See value_text.h. Arguments have the form of the kernel's func-args and funcgraph-args (6.15),
 * which gets its types from BTF; bool, char and enum are ours. Costs about 100 ns an argument.
 * Tests: tests/engine/args, tests/unit/test_value_text.c.
 */
#include "tools/text/value_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/code/prototype.h"

#define MAX_FLAGS 8 /* of an enum, named in one value */

struct value_text {
	struct reader *r;
	struct prototypes *prototypes; /* NULL: not asked for yet */
};

struct value_text *value_text_new(struct reader *r)
{
	struct value_text *v = calloc(1, sizeof(*v));

	if (v)
		v->r = r;
	return v;
}

void value_text_free(struct value_text *v)
{
	if (!v)
		return;
	prototypes_free(v->prototypes);
	free(v);
}

static const struct prototype *prototype_of(struct value_text *v, uint64_t ip)
{
	if (v->r->prototypes)
		return prototypes_find(v->r->prototypes, ip);
	if (!v->prototypes)
		v->prototypes = prototypes_new(v->r->symbols);
	return v->prototypes ? prototypes_find(v->prototypes, ip) : NULL;
}

/* The low @bytes of a register; what is above them is not the value's. */
static uint64_t low(uint64_t v, unsigned int bytes)
{
	return bytes && bytes < 8 ? v & ((UINT64_C(1) << 8 * bytes) - 1) : v;
}

static int64_t signed_low(uint64_t v, unsigned int bytes)
{
	uint64_t sign = bytes && bytes < 8 ? UINT64_C(1) << (8 * bytes - 1) : 0;

	return (int64_t)((low(v, bytes) ^ sign) - sign);
}

static void put_char(struct out *o, const struct value_type *t, uint64_t v)
{
	uint64_t c = low(v, 1);

	if (c >= ' ' && c < 127 && c != '\'' && c != '\\')
		out_printf(o, "'%c'", (int)c);
	else
		out_printf(o, "%" PRId64, t->is_signed ? signed_low(v, 1) : (int64_t)c);
}

/* The name of a value, else the names of its bits, else the number. */
static void put_enum(struct out *o, const struct value_type *t, uint64_t v)
{
	int64_t value = t->is_signed ? signed_low(v, t->bytes) : (int64_t)low(v, t->bytes);
	uint64_t rest = (uint64_t)value;
	uint32_t nr = 0, bits[MAX_FLAGS];

	for (uint32_t i = 0; i < t->nr_names; i++) {
		uint64_t bit = (uint64_t)t->names[i].value;

		if (t->names[i].value == value) {
			out_text(o, t->names[i].name);
			return;
		}
		if (bit && !(bit & (bit - 1)) && rest & bit && nr < MAX_FLAGS) {
			bits[nr++] = i;
			rest &= ~bit;
		}
	}
	if (rest || !nr) {
		out_printf(o, "%" PRId64, value);
		return;
	}
	for (uint32_t i = 0; i < nr; i++) {
		out_text(o, i ? "|" : "");
		out_text(o, t->names[bits[i]].name);
	}
}

/* @words: the registers; the type says which of them it uses. */
static void put_value(struct out *o, const struct value_type *t, const uint64_t *words)
{
	uint64_t v = t->is_constant ? t->constant : t->reg[0] >= 0 ? words[t->reg[0]] : 0;

	switch (t->kind) {
	case VALUE_SIGNED:
		out_printf(o, "%" PRId64, signed_low(v, t->bytes));
		break;
	case VALUE_UNSIGNED:
	case VALUE_POINTER:
		out_printf(o, "0x%" PRIx64, low(v, t->bytes));
		break;
	case VALUE_BOOL:
		v = low(v, t->bytes);
		if (v > 1)
			out_printf(o, "0x%" PRIx64, v);
		else
			out_text(o, v ? "true" : "false");
		break;
	case VALUE_CHAR:
		put_char(o, t, v);
		break;
	case VALUE_ENUM:
		put_enum(o, t, v);
		break;
	case VALUE_WORDS:
		out_text(o, "{");
		for (unsigned int w = 0; w < t->nr_words && w < VALUE_MAX_WORDS; w++) {
			out_text(o, w ? ", " : "");
			if (t->reg[w] < 0)
				out_text(o, "...");
			else
				out_printf(o, "0x%" PRIx64,
					   low(words[t->reg[w]], t->word_bytes[w]));
		}
		out_text(o, "}");
		break;
	default:
		out_text(o, "...");
		break;
	}
}

void value_text_args(struct value_text *v, struct out *o, uint64_t ip, const void *args)
{
	const struct prototype *t = prototype_of(v, ip);
	uint64_t words[RECORD_NR_ARGS];

	for (unsigned int i = 0; i < RECORD_NR_ARGS; i++)
		words[i] = record_arg(args, i);
	out_text(o, "(");
	for (unsigned int i = 0; !t && i < RECORD_NR_ARGS; i++)
		out_printf(o, "%s0x%" PRIx64, i ? ", " : "", words[i]);
	for (uint32_t i = 0; t && i < t->nr; i++) {
		out_text(o, i ? ", " : "");
		if (t->params[i].name) {
			out_text(o, t->params[i].name);
			out_text(o, "=");
		}
		put_value(o, &t->params[i].type, words);
	}
	if (t && t->variadic)
		out_text(o, t->nr ? ", ..." : "...");
	out_text(o, ")");
}

bool value_text_is_void(struct value_text *v, uint64_t ip)
{
	const struct prototype *t = prototype_of(v, ip);

	return t && t->result.kind == VALUE_VOID;
}

/* The kernel's: 32 bits that are negative may be an int's. */
static void put_untyped(struct out *o, uint64_t value)
{
	int64_t err = value >> 31 == 1 ? (int32_t)value : (int64_t)value;

	if (err < 0 && err >= -4095)
		out_printf(o, "%" PRId64, err);
	else
		out_printf(o, "0x%" PRIx64, value);
}

void value_text_result(struct value_text *v, struct out *o, uint64_t ip, uint64_t value, bool hex)
{
	const struct prototype *t = prototype_of(v, ip);

	if (!hex && !t)
		put_untyped(o, value);
	else if (t && (!hex || t->result.kind == VALUE_UNKNOWN))
		put_value(o, &t->result, &value);
	else
		out_printf(o, "0x%" PRIx64, t ? low(value, t->result.bytes) : value);
}
