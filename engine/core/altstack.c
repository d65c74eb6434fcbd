/* SPDX-License-Identifier: MIT */
/*
 * See altstack.h. Owns one mapping for each thread, with a guard page below it, which is unmapped
 * at the thread's end. A handler of the program with SA_ONSTACK runs on it if the program has set
 * no signal stack, so it is as large as some threads' stacks; memory comes with use. fork: the
 * child's thread has its parent's. Tests: tests/engine/fire/crash.
 */
#include "engine/core/altstack.h"

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"

#define STACK_BYTES (256u * 1024)
#define GUARD_BYTES 4096u

static void (*on_placed)(uint64_t lo, size_t bytes);
static __thread uint8_t *mapped __attribute__((tls_model("initial-exec")));
static __thread int is_ours __attribute__((tls_model("initial-exec")));

static int set(const stack_t *stack)
{
	return (int)arch_syscall(SYS_sigaltstack, (long)stack, 0, 0, 0, 0, 0);
}

static int place(void)
{
	const stack_t ours = {.ss_sp = mapped + GUARD_BYTES, .ss_size = STACK_BYTES};

	is_ours = !set(&ours);
	if (is_ours)
		on_placed((uint64_t)ours.ss_sp, ours.ss_size);
	return is_ours;
}

void altstack_thread_start(void)
{
	stack_t old;

	if (!load_acquire(&on_placed) || mapped || sys_is_forbidden() ||
	    arch_syscall(SYS_sigaltstack, 0, (long)&old, 0, 0, 0, 0))
		return;
	mapped = sys_map_table(GUARD_BYTES + STACK_BYTES);
	if (!mapped)
		return;
	sys_mprotect(mapped, GUARD_BYTES, PROT_NONE);
	/* otherwise wait until the program removes its own */
	if (old.ss_flags & SS_DISABLE)
		place();
}

void altstack_thread_end(void)
{
	const stack_t none = {.ss_flags = SS_DISABLE};

	if (!mapped || sys_is_forbidden() || (is_ours && set(&none)))
		return;
	is_ours = 0;
	sys_munmap(mapped, GUARD_BYTES + STACK_BYTES);
	mapped = NULL;
}

void altstack_start(void (*placed)(uint64_t lo, size_t bytes))
{
	store_release(&on_placed, placed);
	altstack_thread_start();
}

int altstack_is_ours(void)
{
	return is_ours;
}

int altstack_set(int (*real)(const stack_t *, stack_t *), const stack_t *stack, stack_t *old)
{
	const stack_t none = {.ss_flags = SS_DISABLE};
	const int was_ours = is_ours;
	const stack_t want = stack ? *stack : none;
	int ret;

	if (!was_ours || (stack && !(want.ss_flags & SS_DISABLE)))
		ret = real(stack, old);
	else /* the program has none, and removes none */
		ret = real(NULL, old);
	if (ret)
		return ret;
	if (was_ours && old)
		*old = none;
	if (!stack)
		return 0;
	if (!(want.ss_flags & SS_DISABLE))
		is_ours = 0;
	else if (!was_ours && mapped)
		place();
	return 0;
}
