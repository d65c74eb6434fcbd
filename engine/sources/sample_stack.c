/* SPDX-License-Identifier: MIT */
/*
 * sample_stack(), see sample.h. A word is read where it is certain that it may be: on the thread's
 * own stack, on its stack for handlers, and in the page of the interrupted stack pointer, which is
 * the kernel's word for a coroutine's stack; deeper frames of such a stack are left out. No state.
 * fork: nothing to do. Tests: tests/engine/tracers/sysprof.
 */
#include <ucontext.h>

#include "arch_context.h"
#include "arch_frame.h"
#include "engine/base/compiler.h"
#include "engine/core/interpose.h"
#include "engine/core/thread.h"
#include "engine/process/eh_frame.h"
#include "engine/process/libc.h"
#include "engine/sources/sample.h"

#define PAGE 4096u

struct regs {
	uint64_t ip, sp, fp;
};

/* From where to where may be read. */
struct bounds {
	struct {
		uint64_t lo, hi;
	} of[3];
	uint64_t own_lo, own_hi; /* the engine's text */
};

static struct bounds bounds_of(const ucontext_t *context, uint64_t sp)
{
	uint64_t alt = (uint64_t)context->uc_stack.ss_sp;
	struct bounds b = {.of = {{sp, thread_stack.top},
				  {alt, context->uc_stack.ss_flags & SS_DISABLE
						? alt
						: alt + context->uc_stack.ss_size},
				  {sp, (sp | (PAGE - 1)) + 1}}};

	/* it is on another one */
	if (thread_stack.top - sp > thread_stack.bytes)
		b.of[0].lo = thread_stack.top;
	libc_own_text(&b.own_lo, &b.own_hi);
	return b;
}

/* The words at @at. */
static const uint64_t *words(const struct bounds *b, uint64_t at, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(b->of) && !(at & 7); i++)
		if (at >= b->of[i].lo && at < b->of[i].hi && b->of[i].hi - at >= bytes)
			return (const uint64_t *)at;
	return NULL;
}

/* The code that a handler interrupted, where the handler returns to. */
static int leave_handler(struct bounds *b, struct regs *r)
{
	const void *context = words(b, r->sp, sizeof(ucontext_t));

	if (!context)
		return 0;
	r->ip = *arch_context_ip((void *)(uint64_t)context);
	r->sp = *arch_context_sp((void *)(uint64_t)context);
	r->fp = arch_context_fp(context);
	/* a handler's own stack is left for the thread's, or another */
	if (thread_stack.top - r->sp <= thread_stack.bytes)
		b->of[0].lo = r->sp;
	return r->ip != 0;
}

/* No table: as functions with a frame pointer have it, which is the caller's here. */
static int by_frame_pointer(const struct bounds *b, struct regs *r)
{
	const uint64_t *frame = r->fp >= r->sp ? words(b, r->fp, 16) : NULL;

	if (!frame)
		return 0;
	r->sp = r->fp + 16;
	r->fp = frame[0];
	r->ip = interpose_caller(&frame[1]);
	return r->ip != 0;
}

static uint64_t end_of_frame(const struct bounds *b, const struct regs *r,
			     const struct eh_rule *rule)
{
	const uint64_t *word;

	switch (rule->cfa) {
	case EH_SP:
		return r->sp + (uint64_t)(int64_t)rule->cfa_offset;
	case EH_FP:
		return r->fp + (uint64_t)(int64_t)rule->cfa_offset;
	case EH_FP_DEREF:
		word = words(b, r->fp + (uint64_t)(int64_t)rule->cfa_offset, 8);
		return word ? *word : 0;
	case EH_STUB:
		return arch_stub_cfa(r->sp, r->ip, (uint32_t)rule->cfa_offset);
	default:
		return 0;
	}
}

static int by_rule(const struct bounds *b, struct regs *r, const struct eh_rule *rule)
{
	const uint64_t cfa = end_of_frame(b, r, rule);
	const uint64_t *ret, *fp;

	ret = cfa > r->sp ? words(b, cfa - 8, 8) : NULL;
	if (!ret)
		return 0;
	if (rule->fp != EH_FP_SAME) {
		fp = words(b,
			   (rule->fp == EH_FP_AT_CFA ? cfa : r->fp) +
				   (uint64_t)(int64_t)rule->fp_offset,
			   8);
		if (!fp)
			return 0;
		r->fp = *fp;
	}
	r->sp = cfa;
	r->ip = interpose_caller(ret);
	return r->ip != 0;
}

uint32_t sample_stack(const void *context, struct sample_frame *to, uint32_t room)
{
	ucontext_t *c = (ucontext_t *)(uint64_t)context;
	struct regs r = {*arch_context_ip(c), *arch_context_sp(c), arch_context_fp(c)};
	struct bounds b = bounds_of(c, r.sp);
	int exact = 1, more = 1; /* the address is not behind a call */
	uint32_t n = 0, steps = 4 * room;
	struct eh_rule rule;

	while (more && n < room && steps--) {
		if (r.ip - b.own_lo >= b.own_hi - b.own_lo)
			to[n++] = (struct sample_frame){r.ip, r.sp};
		rule = eh_frame_rule(r.ip - !exact);
		exact = rule.cfa == EH_SIGNAL;
		if (rule.cfa == EH_SIGNAL)
			more = leave_handler(&b, &r);
		else if (rule.cfa == EH_NONE)
			more = by_frame_pointer(&b, &r);
		else
			more = rule.cfa != EH_END && by_rule(&b, &r, &rule);
	}
	return n;
}
