/* SPDX-License-Identifier: MIT */
/*
 * See unwind.h. A return address that the graph has replaced by a stub is resolved to the real one.
 * No state. fork: nothing to do. Costs: bench/sysprof.c. Tests: tests/engine/tracers/sysprof,
 * tests/engine/graph/adjacent.
 */
#include "engine/core/unwind.h"

#include <ucontext.h>

#include "arch_barrier.h"
#include "arch_context.h"
#include "arch_frame.h"
#include "engine/base/compiler.h"
#include "engine/core/interpose.h"
#include "engine/process/eh_frame.h"

static uint64_t (*original_of)(uint64_t ip);

void unwind_originals(uint64_t (*of)(uint64_t ip))
{
	store_release(&original_of, of);
}

uint64_t unwind_exact(uint64_t ip)
{
	uint64_t (*of)(uint64_t ip) = load_acquire(&original_of);

	return of ? of(ip) : ip;
}

/* The words at @at; NULL: they must not be read. */
static const uint64_t *words(const struct unwind_memory *m, uint64_t at, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < UNWIND_RANGES && !(at & 7); i++)
		if (at >= m->of[i].lo && at < m->of[i].hi && m->of[i].hi - at >= bytes)
			return m->of[i].copy ? m->of[i].copy + (at - m->of[i].lo) / 8
					     : (const uint64_t *)at;
	return NULL;
}

/* Go to the code that a handler interrupted, to which the handler returns. */
static enum unwind_step leave_handler(struct unwind *u, const struct unwind_memory *m)
{
	const void *context = words(m, u->sp, sizeof(ucontext_t));
	uint64_t ip = context ? *arch_context_ip((void *)(uint64_t)context) : 0;

	if (!ip)
		return UNWIND_LOST;
	*u = (struct unwind){unwind_exact(ip), *arch_context_sp((void *)(uint64_t)context),
			     arch_context_fp(context), 1};
	return UNWIND_INTERRUPTED;
}

static uint64_t end_of_frame(const struct unwind *u, const struct unwind_memory *m,
			     const struct eh_rule *rule)
{
	const uint64_t *word;

	switch (rule->cfa) {
	case EH_SP:
		return u->sp + (uint64_t)(int64_t)rule->cfa_offset;
	case EH_FP:
		return u->fp + (uint64_t)(int64_t)rule->cfa_offset;
	case EH_FP_DEREF:
		word = words(m, u->fp + (uint64_t)(int64_t)rule->cfa_offset, 8);
		return word ? *word : 0;
	case EH_STUB:
		return arch_stub_cfa(u->sp, u->ip, (uint32_t)rule->cfa_offset);
	default:
		return 0;
	}
}

/*
 * The caller's address in @word. In a copy of a stack, an address that the graph has replaced stays
 * a stub's.
 */
static uint64_t caller_at(const struct unwind_memory *m, const uint64_t *word)
{
	return m->of[0].copy && interpose_is_stub(*word) ? 0 : interpose_caller(word);
}

static enum unwind_step by_rule(struct unwind *u, const struct unwind_memory *m,
				const struct eh_rule *rule)
{
	const uint64_t cfa = end_of_frame(u, m, rule);
	const uint64_t *ret = cfa > u->sp ? words(m, cfa - 8, 8) : NULL, *fp = &u->fp;
	uint64_t ip;

	if (ret && rule->fp != EH_FP_SAME)
		fp = words(m,
			   (rule->fp == EH_FP_AT_CFA ? cfa : u->fp) +
				   (uint64_t)(int64_t)rule->fp_offset,
			   8);
	if (!ret || !fp)
		return UNWIND_LOST;
	ip = caller_at(m, ret);
	if (!ip)
		return UNWIND_END;
	*u = (struct unwind){ip, cfa, *fp, 0};
	return UNWIND_CALLER;
}

enum unwind_step unwind_step(struct unwind *u, const struct unwind_memory *memory)
{
	const struct eh_rule rule = eh_frame_rule(u->ip - !u->exact);

	switch (rule.cfa) {
	case EH_NONE:
		return UNWIND_NO_TABLE;
	case EH_END:
		return UNWIND_END;
	case EH_SIGNAL:
		return leave_handler(u, memory);
	default:
		return by_rule(u, memory, &rule);
	}
}

enum unwind_step unwind_by_frame_pointer(struct unwind *u, const struct unwind_memory *memory)
{
	const uint64_t *frame = u->fp >= u->sp ? words(memory, u->fp, 16) : NULL;
	uint64_t ip = frame ? caller_at(memory, &frame[1]) : 0;

	if (!ip)
		return UNWIND_LOST;
	*u = (struct unwind){ip, u->fp + 16, frame[0], 0};
	return UNWIND_CALLER;
}
