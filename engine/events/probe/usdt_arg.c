/* SPDX-License-Identifier: MIT */
/*
 * Arguments of markers: operands as gcc and clang print them for an assembler, behind `SIZE@`; a
 * negative size means a signed number. Registers of any width, constants, memory by base, index and
 * displacement, variables by name. Refused are vector registers, ah and its kind, and memory of a
 * segment (thread-local). Pure. Tests: tests/engine/events/usdt,
 * tests/fuzz/probes.c.
 */
#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/events/probe/usdt.h"

struct operand {
	struct fetch_arg *arg;
	int (*symbol)(void *from, const char *name, size_t n, uint64_t *address);
	void *from;
};

static int read_number(const char *text, size_t n, int64_t *v)
{
	int negative = n && *text == '-';
	uint64_t u;

	if (n == (size_t)negative || str_to_u64(text + negative, n - (size_t)negative, &u))
		return -EINVAL;
	*v = negative ? (int64_t)(0 - u) : (int64_t)u;
	return 0;
}

/* Evaluate a sum of numbers and names; @named: a name is in it. */
static int read_sum(const struct operand *o, const char *text, size_t n, int64_t *v, int *named)
{
	size_t i = 0, start;

	*v = 0;
	while (i < n) {
		int64_t term = 0;
		uint64_t address;

		start = i;
		if (text[i] == '-' || text[i] == '+')
			i++;
		while (i < n && text[i] != '-' && text[i] != '+')
			i++;
		if (text[start] == '+')
			start++;
		if (i == start)
			return -EINVAL;
		if (is_digit(text[start]) || text[start] == '-') {
			if (read_number(text + start, i - start, &term))
				return -EINVAL;
		} else {
			if (*named || o->symbol(o->from, text + start, i - start, &address))
				return -EINVAL;
			term = (int64_t)address;
			*named = 1;
		}
		*v = (int64_t)((uint64_t)*v + (uint64_t)term);
	}
	return 0;
}

/* Parse `%BASE,%INDEX,8` in an operand's parentheses; without a scale it is 1. */
static int read_base(struct fetch_arg *a, const char *text, size_t n, int *by_ip)
{
	size_t first = text_find(text, n, ','), second;
	uint64_t scale = 1;

	a->base = FETCH_INDEXED;
	a->reg = a->index = ARCH_NR_REGS;
	a->scale = 1;
	*by_ip = arch_operand_is_ip(text, first);
	if (*by_ip)
		return first == n ? 0 : -EINVAL;
	if (first) {
		a->reg = (uint8_t)arch_reg_operand(text, first);
		if (a->reg == ARCH_NR_REGS)
			return -EINVAL;
	}
	if (first == n)
		return 0;
	text += first + 1;
	n -= first + 1;
	second = text_find(text, n, ',');
	a->index = (uint8_t)arch_reg_operand(text, second);
	if (a->index == ARCH_NR_REGS ||
	    (second < n && str_to_u64(text + second + 1, n - second - 1, &scale)) || scale > 8)
		return -EINVAL;
	a->scale = (uint8_t)scale;
	return 0;
}

static int read_memory(const struct operand *o, const char *text, size_t n)
{
	size_t open = text_find(text, n, '(');
	int named = 0, by_ip = 0, err;
	struct fetch_arg *a = o->arg;
	int64_t disp;

	a->base = FETCH_IMM;
	err = read_sum(o, text, open, &disp, &named);
	if (!err && open < n)
		err = text[n - 1] == ')' ? read_base(a, text + open + 1, n - open - 2, &by_ip)
					 : -EINVAL;
	/* only a name can be relative to the instruction pointer */
	if (err || (by_ip && !named))
		return -EINVAL;
	if (by_ip)
		a->base = FETCH_IMM;
	a->nr_derefs = 1;
	a->derefs[0] = disp;
	return 0;
}

static int read_operand(const struct operand *o, const char *text, size_t n)
{
	struct fetch_arg *a = o->arg;
	int named = 0;
	int64_t v;

	if (!n)
		return -EINVAL;
	if (*text == '%' && text_find(text, n, ':') == n) {
		a->base = FETCH_REG;
		a->reg = (uint8_t)arch_reg_operand(text, n);
		return a->reg == ARCH_NR_REGS ? -EINVAL : 0;
	}
	if (*text == '%')
		return -EINVAL;
	if (*text != '$')
		return read_memory(o, text, n);
	if (read_sum(o, text + 1, n - 1, &v, &named))
		return -EINVAL;
	a->base = FETCH_IMM;
	a->value = (uint64_t)v;
	return 0;
}

int usdt_arg_parse(struct fetch_arg *arg, const char *text, size_t n,
		   int (*symbol)(void *from, const char *name, size_t n, uint64_t *address),
		   void *from)
{
	const struct operand o = {arg, symbol, from};
	size_t at = text_find(text, n, '@');
	int64_t size = 0;
	int err = -EINVAL;

	*arg = (struct fetch_arg){.type = fetch_integer(8, 0)};
	if (at < n && !read_number(text, at, &size)) {
		int64_t bytes = size < 0 ? -size : size;

		if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) {
			arg->type = fetch_integer((uint32_t)bytes, size < 0);
			err = read_operand(&o, text + at + 1, n - at - 1);
		}
	}
	if (err)
		*arg = (struct fetch_arg){.type = arg->type, .base = FETCH_IMM};
	return err;
}
