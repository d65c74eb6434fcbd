/* SPDX-License-Identifier: MIT */
/*
 * sample_stack(), see sample.h. It reads a word only where that is safe: on the thread's own stack,
 * on its signal stack, and in the page of the interrupted stack pointer, which may be a
 * coroutine's. Deeper frames of a coroutine's stack are left out. No state. fork: nothing to do.
 * Tests: tests/engine/tracers/sysprof.
 */
#include <ucontext.h>

#include "arch_context.h"
#include "engine/core/thread.h"
#include "engine/core/unwind.h"
#include "engine/process/libc.h"
#include "engine/sources/sample.h"

#define PAGE 4096u

static struct unwind_memory memory_of(const ucontext_t *context, uint64_t sp)
{
	uint64_t alt = (uint64_t)context->uc_stack.ss_sp;
	struct unwind_memory m = {.of = {{sp, thread_stack.top},
					 {alt, context->uc_stack.ss_flags & SS_DISABLE
						       ? alt
						       : alt + context->uc_stack.ss_size},
					 {sp, (sp | (PAGE - 1)) + 1}}};

	/* the thread is on another stack */
	if (thread_stack.top - sp > thread_stack.bytes)
		m.of[0].lo = thread_stack.top;
	return m;
}

/* Step to the next frame. Return: whether there is one. */
static int step(struct unwind *u, struct unwind_memory *m)
{
	enum unwind_step how = unwind_step(u, m);

	if (how == UNWIND_NO_TABLE)
		how = unwind_by_frame_pointer(u, m);
	/* the walk goes from a signal stack to the thread's stack, or to another one */
	if (how == UNWIND_INTERRUPTED && thread_stack.top - u->sp <= thread_stack.bytes)
		m->of[0].lo = u->sp;
	return how == UNWIND_CALLER || how == UNWIND_INTERRUPTED;
}

uint32_t sample_stack(const void *context, struct sample_frame *to, uint32_t room)
{
	ucontext_t *c = (ucontext_t *)(uint64_t)context;
	struct unwind u = {unwind_exact(*arch_context_ip(c)), *arch_context_sp(c),
			   arch_context_fp(c), 1};
	struct unwind_memory m = memory_of(c, u.sp);
	uint32_t n = 0, steps = 4 * room;
	uint64_t own_lo, own_hi; /* the engine's text */

	libc_own_text(&own_lo, &own_hi);
	do
		if (u.ip - own_lo >= own_hi - own_lo)
			to[n++] = (struct sample_frame){u.ip, u.sp};
	while (n < room && steps-- && step(&u, &m));
	return n;
}
