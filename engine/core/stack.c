/* SPDX-License-Identifier: MIT */
/*
 * See stack.h. The record is an event with the format of the kernel's kernel_stack, so readers of
 * the kernel's stacks can read it. The hook walks the stack, since it knows the stacks of wrapped
 * calls. Frames beyond MAX_FRAMES are left out. fork: the child's area has the event's row
 * (area_fork). Tests: tests/engine/fire/stacks.
 */
#include "engine/core/stack.h"

#include <errno.h>

#include "abi/option.h"
#include "abi/record.h"
#include "arch_barrier.h"
#include "engine/base/mem.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/interpose.h"
#include "engine/core/ops.h"
#include "engine/core/thread.h"
#include "engine/core/unwind.h"
#include "engine/process/libc.h"
#include "engine/ring/proxy.h"
#include "engine/ring/ring_write.h"

#define MAX_OWN_FRAMES	32u /* the engine's frames between this function and the program */
#define HEAD_BYTES	16u
#define MAX_FRAMES	64u
#define MAX_USER_FRAMES 8u /* as in the kernel; unused ones are zero */
#define USER_BYTES	(HEAD_BYTES + 8 * MAX_USER_FRAMES)

static stack_walk *walker;
static int (*prepare_walker)(void);
static int prepared, started;

void stack_register(stack_walk *walk, int (*prepare)(void))
{
	walker = walk;
	prepare_walker = prepare;
}

int stack_prepare(void)
{
	if (!load_acquire(&prepared) && prepare_walker && !prepare_walker())
		store_release(&prepared, 1);
	return load_acquire(&prepared) ? 0 : -ENOSYS;
}

int stack_start(void)
{
	int err = load_acquire(&prepared) ? 0 : -ENOSYS;

	if (!err)
		err = ftrace_format_text(FTRACE_KERNEL_STACK);
	if (!err)
		err = ftrace_format_text(FTRACE_USER_STACK);
	if (!err)
		store_release(&started, 1);
	return err;
}

int stack_started(void)
{
	return load_acquire(&started);
}

void stack_each_frame(stack_each *each, void *arg)
{
	struct srcu_thread *outside;

	if (!load_acquire(&prepared))
		return;
	/* the unwinder takes locks of its own */
	interpose_mute();
	outside = ops_outside_begin();
	walker(each, arg);
	ops_outside_end(outside);
	interpose_unmute();
}

/* Whether an address is in the engine; the walker leaves these out, too. */
static int stack_is_own(uint64_t ip)
{
	static uint64_t lo, hi;
	uint64_t from, to = load_acquire(&hi);

	if (unlikely(!to)) {
		libc_own_text(&from, &to);
		store_relaxed(&lo, from);
		store_release(&hi, to);
	}
	return ip - load_relaxed(&lo) < to - load_relaxed(&lo);
}

struct frames {
	uint64_t *to;
	uint32_t n, room;
};

static int keep(void *arg, uint64_t ip, uint64_t sp)
{
	struct frames *f = arg;

	(void)sp;
	f->to[f->n++] = ip;
	return f->n == f->room;
}

/*
 * Walk by our own tables, if all of the stack is the thread's own and all frames have tables. That
 * costs a tenth of the unwinder's time. @frame: as __builtin_frame_address(0). Return: the number
 * of frames; 0: the unwinder must walk.
 */
static uint32_t save_by_tables(const uint64_t *frame, uint64_t *to, uint32_t room)
{
	const uint64_t top = thread_stack.top, at = (uint64_t)frame;
	const struct unwind_memory memory = {.of = {{at, top}}};
	struct unwind u = {interpose_caller(frame + 1), at + 16, frame[0], 0};
	uint32_t n = 0, steps = room + MAX_OWN_FRAMES;
	enum unwind_step how = UNWIND_CALLER;

	if (top - at >= thread_stack.bytes)
		return 0;
	for (; n < room && steps && how == UNWIND_CALLER; steps--) {
		if (!stack_is_own(u.ip))
			to[n++] = u.ip;
		how = unwind_step(&u, &memory);
	}
	return n == room || how == UNWIND_END ? n : 0;
}

__attribute__((noinline)) uint32_t stack_save(uint64_t *to, uint32_t room)
{
	struct frames f = {.to = to, .room = room};

	/* the stack of a proxy record's thread is not here */
	if (ring_as || !load_acquire(&prepared) || !room)
		return 0;
	f.n = save_by_tables(__builtin_frame_address(0), to, room);
	if (!f.n)
		stack_each_frame(keep, &f);
	return f.n;
}

void stack_record(struct ring *r)
{
	stack_record_from(r, 0);
}

void stack_record_from(struct ring *r, uint32_t skip)
{
	uint64_t frames[MAX_FRAMES];
	uint32_t n;

	if (!ring_is_on(r))
		return;
	n = stack_save(frames, MAX_FRAMES);
	if (n > skip)
		stack_put(r, frames + skip, n - skip);
}

void stack_put(struct ring *r, const uint64_t *frames, uint32_t nr)
{
	uint32_t bytes = HEAD_BYTES + nr * 8;
	struct ring_slot slot;

	if (!nr || !ring_reserve(r, &slot, bytes))
		return;
	slot.words[1] = nr;
	memcpy(slot.words + 2, frames, nr * 8);
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_KERNEL_STACK, bytes));
}

void stack_put_as_other(struct ring *r, const uint64_t *frames, uint32_t nr)
{
	uint32_t bytes = HEAD_BYTES + nr * 8;
	struct ring_slot slot;

	if (!started || !nr || !ring_reserve_as_other(r, &slot, bytes))
		return;
	slot.words[1] = nr;
	memcpy(slot.words + 2, frames, nr * 8);
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_KERNEL_STACK, bytes));
}

static void record_user(struct ring *r)
{
	uint64_t frames[MAX_USER_FRAMES];
	struct ring_slot slot;
	uint32_t n;

	if (!ring_is_on(r))
		return;
	n = stack_save(frames, MAX_USER_FRAMES);
	if (!n || !ring_reserve(r, &slot, USER_BYTES))
		return;
	slot.words[1] = (uint32_t)r->area->pid;
	/* the page is zero, so zeros follow */
	memcpy(slot.words + 2, frames, n * 8);
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_USER_STACK, USER_BYTES));
}

void stack_record_wanted(struct ring *r)
{
	uint64_t options = load_relaxed(&r->buffer->options);

	if (area_option_on(options, AREA_OPTION_STACKTRACE))
		stack_record(r);
	if (area_option_on(options, AREA_OPTION_USERSTACKTRACE))
		record_user(r);
}
