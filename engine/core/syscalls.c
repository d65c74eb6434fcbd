/* SPDX-License-Identifier: MIT */
/*
 * See syscalls.h. Owns how often each number is wanted. What the engine itself asks of libc, to have
 * an agent, is not the program's: while it does, only threads that were there count, and the one
 * that asks does not. fork: the child wants what its parent wanted, and its text is patched as it was.
 * Tests: tests/engine/events/syscalls.
 */
#include "engine/core/syscalls.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/ring/ring.h"

struct syscalls_user syscalls_user;

static const struct syscalls_hook *hook;
static uint32_t wanted[SYSCALLS_MAX];
static uint32_t wanted_all;

enum { THREAD_NEW, THREAD_SEEN, THREAD_OWN };
static __thread uint8_t thread_is __attribute__((tls_model("initial-exec")));
static uint32_t own_busy;

void syscalls_register_hook(const struct syscalls_hook *h)
{
	hook = h;
}

void syscalls_register_user(const struct syscalls_user *user)
{
	syscalls_user = *user;
}

static int update(void)
{
	uint64_t bits[SYSCALLS_MAX / 64] = {0};
	uint32_t i;

	for (i = 0; i < SYSCALLS_MAX; i++)
		if (wanted_all || wanted[i])
			bits[i / 64] |= UINT64_C(1) << (i % 64);
	return hook->update(bits);
}

int syscalls_want(uint32_t nr, int on)
{
	uint32_t *count = nr < SYSCALLS_MAX ? &wanted[nr] : &wanted_all;
	int err;

	if (!hook)
		return -ENODEV;
	*count += on ? 1u : ~0u;
	if (*count > 1 || (*count && !on))
		return 0;
	err = update();
	if (err && on)
		*count = 0;
	return on ? err : 0;
}

void syscalls_own_begin(void)
{
	thread_is = THREAD_OWN;
	store_release(&own_busy, 1);
}

void syscalls_own_end(int made)
{
	if (!made)
		store_release(&own_busy, 0);
	thread_is = THREAD_SEEN;
}

void syscalls_own_thread(void)
{
	if (thread_is == THREAD_NEW)
		store_release(&own_busy, 0);
	thread_is = THREAD_OWN;
}

int syscalls_are_programs(void)
{
	/* what libc does in a fork's child before that has an area is nobody's loss */
	if (ring_is_forks_child())
		return 0;
	if (likely(thread_is == THREAD_SEEN))
		return 1;
	if (thread_is == THREAD_OWN || load_relaxed(&own_busy))
		return 0;
	thread_is = THREAD_SEEN;
	return 1;
}
