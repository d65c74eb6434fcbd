/* SPDX-License-Identifier: MIT */
/*
 * See stack_tracer.h. A callback of ops.h at the entry of functions: it compares the stack pointer
 * with the deepest one so far, and walks the stack if it is deeper. Calls on other stacks
 * (sigaltstack, coroutines) do not count, as interrupt stacks do not in the kernel.
 *
 * A recursion reaches a new depth with each call. To avoid a walk of the whole stack for each, the
 * walk ends at the first function that the previous walk has seen at the same place, if the return
 * addresses further out are still in the same words of the stack.
 *
 * An event may listen to the entries, too (stack_tracer_listen()): the callback serves both.
 *
 * One thread at a time measures; a call that comes meanwhile, also in a signal handler, is ignored.
 * fork: the child goes on in its own area. Costs: one callback, bench "steady". Tests:
 * tests/engine/fire/stack_tracer.
 */
#include "engine/core/stack_tracer.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seqcount.h"
#include "engine/process/area.h"
#include "engine/core/ops.h"
#include "engine/core/stack.h"
#include "engine/core/thread.h"
#include "engine/ring/ring.h"

struct function_set stack_trace_filter = {.shown = AREA_FILTER_STACK, .ring = ring_top};

static uint64_t max_bytes;
static int is_on, reserved;
static stack_left_func *listener;
static uint32_t busy;

struct frame {
	uint64_t ip, sp;
};

/* Innermost first. One is the last walk, the other the current one. */
static struct trace {
	uint64_t top;
	int tid;
	uint32_t nr;
	struct frame at[AREA_STACK_FRAMES];
} last BIG_ZEROS, now BIG_ZEROS;

struct walk {
	uint64_t sp;	/* where it begins; frames below are the engine's */
	uint32_t known; /* frames of `last` further in than this have been passed */
	int same_thread, joined;
};

/* Whether the frames of `last` from the @i-th on are also on this stack. */
static int still_there(uint32_t i)
{
	for (; i < last.nr; i++)
		if (((const uint64_t *)last.at[i].sp)[-1] != last.at[i].ip)
			return 0;
	return 1;
}

static int add(void *arg, uint64_t ip, uint64_t sp)
{
	struct walk *w = arg;

	if (sp < w->sp)
		return 0;
	if (sp >= now.top || now.nr == AREA_STACK_FRAMES)
		return 1;
	while (w->same_thread && w->known < last.nr && last.at[w->known].sp < sp)
		w->known++;
	if (w->same_thread && w->known < last.nr && last.at[w->known].sp == sp &&
	    last.at[w->known].ip == ip && still_there(w->known)) {
		w->joined = 1;
		return 1;
	}
	now.at[now.nr++] = (struct frame){ip, sp};
	return 0;
}

static void report(uint64_t depth)
{
	struct area_stack *s = area_stack();
	uint32_t i;

	write_seqcount_begin(&s->gen);
	s->max_bytes = depth;
	s->tid = now.tid;
	s->nr_frames = now.nr;
	for (i = 0; i < now.nr; i++)
		s->frames[i] = (struct area_stack_frame){now.at[i].ip, now.top - now.at[i].sp};
	write_seqcount_end(&s->gen);
}

static void measure(uint64_t sp, uint64_t depth, uint64_t top)
{
	struct walk w = {.sp = sp};
	uint32_t kept;

	now.top = top;
	now.tid = ring_thread_id();
	now.nr = 0;
	w.same_thread = last.top == now.top && last.tid == now.tid;
	stack_each_frame(add, &w);
	if (w.joined) {
		kept = last.nr - w.known;
		if (kept > AREA_STACK_FRAMES - now.nr)
			kept = AREA_STACK_FRAMES - now.nr;
		memcpy(&now.at[now.nr], &last.at[w.known], kept * sizeof(*now.at));
		now.nr += kept;
	}
	memcpy(&last, &now, sizeof(last));
	store_relaxed(&max_bytes, depth);
	report(depth);
}

static void hit(uint32_t id, void *arg, const struct ops_frame *frame)
{
	stack_left_func *left = load_acquire(&listener);
	struct thread_stack stack = thread_stack.bytes ? thread_stack : main_stack;
	uint64_t sp, depth;

	(void)arg;
	if (!frame || !area)
		return;
	sp = (uint64_t)&frame->parent_ip;
	depth = stack.top - sp;
	if (depth > stack.bytes)
		return;
	if (left)
		left(function_ip(id), frame->parent_ip, depth, stack.bytes - depth);
	if (likely(depth <= load_relaxed(&max_bytes)) || !load_relaxed(&is_on))
		return;
	if (!load_acquire(&reserved) || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	if (depth > max_bytes)
		measure(sp, depth, stack.top);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

static struct call_ops stack_ops = {
	.kind = OPS_ENTRY,
	.how = OPS_C | OPS_SAVE_ALL,
	.filter = &stack_trace_filter,
	.entry = hit,
};

/* Have calls reach hit() while anything needs them. Return: 0 or -errno of the hook. */
static int follow(int wanted)
{
	int err = 0;

	if (wanted && !stack_ops.is_on)
		err = ftrace_register(&stack_ops);
	else if (!wanted && stack_ops.is_on)
		err = ftrace_unregister(&stack_ops);
	/* a thread that is still inside uses only static memory */
	return err == -ETIMEDOUT ? 0 : err;
}

int stack_tracer_is_on(void)
{
	return is_on;
}

int stack_tracer_found(void)
{
	return reserved && area_stack()->nr_frames;
}

static int reserve(void)
{
	int err = reserved ? 0 : area_reserve_stack();

	if (!err)
		store_release(&reserved, 1);
	return err;
}

int stack_tracer_set(int on)
{
	int err;

	if (on == is_on)
		return 0;
	err = on ? stack_start() : 0;
	if (!err)
		err = reserve();
	if (!err)
		err = follow(on || listener);
	if (!err) {
		store_relaxed(&is_on, on);
		area_stack()->enabled = (uint32_t)on;
	}
	return err;
}

int stack_tracer_update(void)
{
	return stack_ops.is_on ? ftrace_register(&stack_ops) : 0;
}

int stack_tracer_listen(stack_left_func *func)
{
	int err = follow(is_on || func);

	if (!err)
		store_release(&listener, func);
	return err;
}

int stack_tracer_set_max(uint64_t bytes)
{
	int err = reserve();

	if (err)
		return err;
	store_relaxed(&max_bytes, bytes);
	store_relaxed(&area_stack()->max_bytes, bytes);
	return 0;
}

/* A child with an area of its own goes on there, from zero. */
static void fork_stack_tracer(const struct lifecycle_fork *f)
{
	if (f->when != LIFECYCLE_FORK_RESUME)
		return;
	busy = 0;
	reserved = 0;
	max_bytes = 0;
	last.nr = 0;
	if (is_on && !reserve())
		area_stack()->enabled = 1;
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_stack_tracer, NULL);
