/* SPDX-License-Identifier: MIT */
/*
 * Handles the entry of a call that other users than the top instance's tracer want, too: see ops.h.
 * The entry points of hook/<cpu>/ call this file: ops_call() with all state of the processor saved,
 * if a callback or an unwinder may run; else ops_record_call() with the general registers.
 *
 * The recursion protection is the kernel's: callbacks do not get a call while a callback of the
 * program, or an unwinder for the engine, runs in the thread, nor in a signal handler that
 * interrupts them. A call that comes while only the engine runs is a signal handler's: the engine's
 * own callbacks get it, the program's do not. Each call makes records: every instance's ring nests
 * as the top one's does.
 *
 * Any context; the lists are read in sections (ring_enter(), ops_enter()). fork: nothing of its
 * own. Costs: bench "instances", "steady". Tests: tests/engine/fire/ops,
 * tests/engine/fire/instances.
 */
#include "abi/option.h"
#include "engine/core/func_repeats.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/core/stack.h"
#include "engine/process/area.h"
#include "engine/ring/ring_write.h"

#define MAX_INSIDE 4u /* the number of the kernel's contexts */

static const struct ops_return_funcs *on_return;
static ops_open_func *is_open;

static void record_function(struct ring *r, uint32_t id, uint64_t parent_ip,
			    const struct arch_args *args, uint64_t now)
{
	int with_args = args && area_option_on(r->buffer->options, AREA_OPTION_FUNC_ARGS);
	struct ring_slot slot;

	if (!ring_reserve_as(r, &slot,
			     with_args ? RECORD_FUNCTION_ARGS_BYTES : RECORD_FUNCTION_BYTES, 0,
			     now))
		return;
	slot.words[1] = parent_ip;
	if (with_args) {
		arch_args_get(args, &slot.words[2]);
	}
	ring_commit(&slot, with_args ? RECORD_FUNCTION_ARGS : RECORD_FUNCTION, id);
}

/* In line, so that the caller that does not save all registers cannot reach the stack walk. */
static inline __attribute__((always_inline)) void record_call(struct ring *r, uint32_t id,
							      uint64_t parent_ip,
							      const struct arch_args *args,
							      uint64_t now, int saved)
{
	if (area_option_on(r->buffer->options, AREA_OPTION_FUNC_NO_REPEATS) &&
	    func_repeats_take(r, id, parent_ip, now))
		return;
	record_function(r, id, parent_ip, args, now);
	if (saved && area_option_on(r->buffer->options, AREA_OPTION_FUNC_STACK_TRACE))
		stack_record(r);
}

static inline __attribute__((always_inline)) uint64_t record_all(uint64_t word, uint64_t parent_ip,
								 uint64_t site_end,
								 const struct arch_args *args,
								 int saved)
{
	uint32_t id = record_word_id(word), i;
	uint64_t next = ops_next(id), now = 0;
	struct srcu_thread *inside = ring_enter();
	const struct ops_list *l;

	if (inside) {
		l = ops_list();
		/*
		 * one stamp for several records; a single record gets its stamp when its slot is
		 * reserved
		 */
		if (l->nr_function + (uint32_t)(next & OPS_RECORD) > 1)
			now = ring_clock();
		if (next & OPS_RECORD)
			record_call(ring_top, id, parent_ip, args, now, saved);
		for (i = 0; i < l->nr_function; i++)
			if (ops_user_wants(&l->function[i], id))
				record_call(l->function[i].ring, id, parent_ip, args, now, saved);
		ring_leave(inside);
	}
	next &= ~(uint64_t)OPS_RECORD;
	return next ? next : site_end;
}

uint64_t ops_record_call(uint64_t word, uint64_t parent_ip, uint64_t site_end,
			 const struct arch_args *args)
{
	return record_all(word, parent_ip, site_end, args, 0);
}

/* The address of the function, as the kernel's ip; @site_end in a fork's child without an area. */
static uint64_t start_of(uint32_t id, uint64_t site_end)
{
	return area ? function_ip(id) : site_end;
}

enum ops_entered ops_enter(struct srcu_thread **inside)
{
	uint32_t n;

	*inside = srcu_read_lock(SRCU_OPS);
	n = srcu_nest(SRCU_OPS);
	if (n > MAX_INSIDE || srcu_nest(SRCU_OUTSIDE))
		return OPS_MISSED;
	return n == 1 ? OPS_FIRST : OPS_ON_TOP;
}

int ops_is_inside(void)
{
	return srcu_nest(SRCU_OPS) != 0;
}

static void call_program(const struct ops_callback *c, unsigned long ip, struct ops_frame *frame)
{
	struct srcu_thread *outside = ops_outside_begin();

	c->func(ip, frame->parent_ip, c->arg, frame);
	ops_outside_end(outside);
}

uint64_t ops_call(struct ops_frame *frame, uint64_t word)
{
	uint32_t id = record_word_id(word), i;
	uint64_t site_end = frame->ip;
	/* the registers at the function's entry, even if a callback changes them */
	const struct arch_args args = arch_args_of(&frame->regs);
	struct srcu_thread *inside;
	enum ops_entered entered = ops_enter(&inside);
	const struct ops_callbacks *now = load_acquire(&ops_callbacks);

	for (i = 0; i < now->nr; i++) {
		const struct ops_callback *c = &now->at[i];

		if (!ops_user_wants(&c->user, id))
			continue;
		if (c->entry)
			c->entry(id, c->arg, entered == OPS_MISSED ? NULL : frame);
		else if (entered == OPS_FIRST)
			call_program(c, start_of(id, site_end), frame);
	}
	ops_leave(inside);
	return record_all(word, frame->parent_ip, site_end, &args, 1);
}

void ops_set_returns(const struct ops_return_funcs *funcs)
{
	store_release(&on_return, funcs);
}

void ops_call_begun(uint32_t id, uint64_t call, uint64_t stack, const struct arch_args *args)
{
	const struct ops_return_funcs *funcs = load_acquire(&on_return);

	if (funcs->begun)
		funcs->begun(id, call, stack, args);
}

void ops_call_returned(uint32_t id, uint64_t call, uint64_t retval, uint64_t ip)
{
	struct srcu_thread *inside = ring_enter();

	if (!inside)
		return;
	load_acquire(&on_return)->returned(id, call, retval, ip);
	ring_leave(inside);
}

void ops_call_unwound(uint64_t call)
{
	const struct ops_return_funcs *funcs = load_acquire(&on_return);

	if (funcs->begun)
		funcs->unwound(call);
}

void ops_call_missed(uint32_t id)
{
	load_acquire(&on_return)->missed(id);
}

void ops_set_open(ops_open_func *func)
{
	is_open = func;
}

int ops_call_may_be_open(uint64_t call, uint64_t stack, uint64_t now)
{
	return !is_open || is_open(call & ~OPS_TAIL, stack, now & ~OPS_TAIL);
}
