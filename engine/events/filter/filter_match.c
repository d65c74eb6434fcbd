/* SPDX-License-Identifier: MIT */
/*
 * Runs a filter's program. Any context, signal handlers included: no lock, no libc. A field that
 * points to the program's text is read by process_vm_readv(), as the pointer may be invalid. Costs:
 * about 1 ns for each term; bench "events". Tests: tests/engine/events/filter.
 */
#include "arch_regs.h"
#include "engine/core/context.h"
#include "engine/arch/read_memory.h"
#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/glob.h"
#include "engine/base/mem.h"
#include "engine/events/filter/filter_impl.h"
#include "engine/ring/ring.h"

static __attribute__((noinline)) uint64_t load_number(const uint8_t *p, uint32_t size,
						      int is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int64_t) * (const int8_t *)p : *p;
	case 2: {
		uint16_t v;

		memcpy(&v, p, 2);
		return is_signed ? (uint64_t)(int64_t)(int16_t)v : v;
	}
	case 4: {
		uint32_t v = *(const uint32_t *)p;

		return is_signed ? (uint64_t)(int64_t)(int32_t)v : v;
	}
	default:
		return *(const uint64_t *)p;
	}
}

static int compare(const struct filter_pred *p, uint64_t v)
{
	int64_t a = (int64_t)v, b = (int64_t)p->value;

	switch (p->op) {
	case OP_EQ:
		return v == p->value;
	case OP_NE:
		return v != p->value;
	case OP_LT:
		return p->is_signed ? a < b : v < p->value;
	case OP_LE:
		return p->is_signed ? a <= b : v <= p->value;
	case OP_GT:
		return p->is_signed ? a > b : v > p->value;
	case OP_GE:
		return p->is_signed ? a >= b : v >= p->value;
	default:
		return (v & p->value) != 0;
	}
}

/* Compare a CPU with CPUS{}: with one CPU in it, or as a member of it. */
static int compare_cpu(const struct filter_pred *p, uint64_t cpu)
{
	int in = cpu < p->nr_cpus && bitmap_has(p->cpus, cpu);
	uint32_t i, nr = 0;

	if (p->op == OP_AND)
		return in;
	for (i = 0; i < p->nr_cpus; i++)
		nr += (uint32_t)bitmap_has(p->cpus, i);
	return (in && nr == 1) == (p->op == OP_EQ);
}

static int compare_mask(const struct filter_pred *p, const uint8_t *mask, uint32_t bytes)
{
	int same = 1, common = 0;
	uint32_t i, n = bytes * 8 > p->nr_cpus ? bytes * 8 : p->nr_cpus;

	for (i = 0; i < n; i++) {
		int a = i < bytes * 8 && (mask[i / 8] >> (i % 8) & 1);
		int b = i < p->nr_cpus && bitmap_has(p->cpus, i);

		same &= a == b;
		common |= a && b;
	}
	return p->op == OP_AND ? common : p->op == OP_EQ ? same : !same;
}

/* @s: up to @n bytes, or up to a NUL. */
static int compare_string(const struct filter_pred *p, const char *s, uint32_t n)
{
	char text[FILTER_MAX_STRING + 1];
	uint32_t len = 0;
	int same;

	while (len < n && s[len])
		len++;
	if (p->op == OP_GLOB) {
		/* as in the kernel's filter_parse_regex() */
		uint32_t negated = p->string[0] == '!';

		if (len > FILTER_MAX_STRING)
			len = FILTER_MAX_STRING;
		memcpy(text, s, len);
		text[len] = 0;
		return glob_match(p->string + negated, p->string_bytes - negated, text) !=
		       (int)negated;
	}
	same = len == p->string_bytes && !memcmp(s, p->string, len);
	return p->op == OP_EQ ? same : !same;
}

static int compare_pointer(const struct filter_pred *p, uint64_t addr)
{
	char text[FILTER_MAX_STRING];
	/* stop at the end of the page: the next one may not be mapped */
	size_t in_page = 4096 - (addr & 4095);
	long n;

	n = sys_read_memory(sys_getpid(), addr, text, sizeof(text));
	if (n < 0 && in_page < sizeof(text))
		n = sys_read_memory(sys_getpid(), addr, text, in_page);
	return n > 0 && compare_string(p, text, (uint32_t)n);
}

static __attribute__((noinline)) int evaluate(const struct filter_pred *p, const uint8_t *record)
{
	uint32_t word, at;

	switch (p->from) {
	case FROM_NUMBER:
		if (p->cpus)
			return compare_cpu(p, load_number(record + p->offset, p->size, 0));
		return compare(p, load_number(record + p->offset, p->size, p->is_signed));
	case FROM_STATIC:
		return compare_string(p, (const char *)record + p->offset, p->size);
	case FROM_DYN:
	case FROM_RDYN:
	case FROM_CPUMASK:
		memcpy(&word, record + p->offset, sizeof(word));
		at = (word & 0xffff) + (p->from == FROM_RDYN ? p->offset + 4 : 0);
		if (p->from == FROM_CPUMASK)
			return compare_mask(p, record + at, word >> 16);
		return compare_string(p, (const char *)record + at, word >> 16);
	case FROM_PTR:
		return compare_pointer(p, load_number(record + p->offset, 8, 0));
	case FROM_COMM:
		return compare_string(p, ring_thread_comm(), 16);
	case FROM_CPU:
		return p->cpus ? compare_cpu(p, ring_record_cpu()) : compare(p, ring_record_cpu());
	case FROM_PID:
		return compare(p, (uint64_t)(int64_t)ring_thread_id());
	case FROM_FLAGS:
		return compare(p, context_flags());
	case FROM_PREEMPT:
		return compare(p, context_preempt_count());
	default:
		return compare(p, p->left);
	}
}

int filter_go_on(const struct event_filter *filter, const void *record, uint32_t at)
{
	const uint8_t *bytes = record;

	while (at < FILTER_FALSE) {
		const struct filter_step *step = &filter->steps[at];
		int is;

		if (step->how == HOW_LONG)
			is = evaluate(&filter->preds[at], record);
		else
			is = filter_in_range(step, load_number(bytes + step->offset,
							       filter->preds[at].size,
							       filter->preds[at].is_signed));
		at = is ? step->on_true : step->on_false;
	}
	return at == FILTER_TRUE;
}

int filter_match(const struct event_filter *filter, const void *record)
{
	return filter_match_soon(filter, record);
}
