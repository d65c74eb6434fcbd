/* SPDX-License-Identifier: MIT */
/*
 * The functions that syscall_entry.S calls before and after a system call. Any context. Tests:
 * tests/engine/events/syscalls.
 */
#include <assert.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/core/syscalls.h"
#include "engine/hook/libc/syscall_sites.h"
#include "engine/hook/x86_64/syscall_entry.h"

struct frame {
	uint64_t nr;
	uint64_t args[6];
	uint64_t ret;
	uint64_t island;
	uint64_t rbx;
	uint64_t back;
	uint64_t used[6];
	const struct syscalls_changer *changer;
	uint64_t words[SYSCALLS_WORDS];
};

static_assert(offsetof(struct frame, nr) == FRAME_NR, "FRAME_NR");
static_assert(offsetof(struct frame, args) == FRAME_ARGS, "FRAME_ARGS");
static_assert(offsetof(struct frame, ret) == FRAME_RET, "FRAME_RET");
static_assert(offsetof(struct frame, island) == FRAME_ISLAND, "FRAME_ISLAND");
static_assert(offsetof(struct frame, rbx) == FRAME_RBX, "FRAME_RBX");
static_assert(offsetof(struct frame, back) == FRAME_BACK, "FRAME_BACK");
static_assert(offsetof(struct frame, used) == FRAME_USED, "FRAME_USED");
static_assert(offsetof(struct frame, changer) == FRAME_CHANGER, "FRAME_CHANGER");
static_assert(offsetof(struct frame, words) == FRAME_WORDS, "FRAME_WORDS");
static_assert(sizeof(struct frame) == FRAME_BYTES, "FRAME_BYTES");

uint64_t hook_syscall_enter(struct frame *f);
void hook_syscall_exit(struct frame *f);

/* Return: 0; or the offset of the island's tail that must make the call. */
uint64_t hook_syscall_enter(struct frame *f)
{
	uint32_t i;

	if (syscalls_are_programs())
		syscalls_user.enter(f->nr, f->args);
	for (i = 0; i < 6; i++)
		f->used[i] = f->args[i];
	f->changer = load_acquire(&syscalls_changer);
	if (unlikely(f->changer))
		f->changer->before(f->nr, f->used, f->words);
	switch (f->nr) {
	case SYS_vfork:
		return TAIL_VFORK;
	case SYS_clone3:
		return TAIL_CLONE3;
	case SYS_clone:
		return f->args[0] & CLONE_VM || f->args[1] ? TAIL_CLONE : 0;
	default:
		return 0;
	}
}

void hook_syscall_exit(struct frame *f)
{
	/* none after a tail, which has another frame */
	if (unlikely(f->changer))
		f->changer->after(f->nr, f->ret, f->args, f->words);
	if (syscalls_are_programs())
		syscalls_user.exit(f->nr, f->ret);
}
