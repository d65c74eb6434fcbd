/* SPDX-License-Identifier: MIT */
/*
 * See syscalls.h. Owns the number of users of each system call number. The engine starts its agent
 * through libc, and these calls are not the program's: meanwhile only threads that existed before
 * count, and the calling thread does not. fork: the child wants what its parent wanted, and its
 * text is patched as it was. Tests: tests/engine/events/syscalls.
 */
#include "engine/core/syscalls.h"

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/compiler.h"
#include "engine/core/interpose.h"
#include "engine/ring/ring.h"

struct syscalls_user syscalls_user;
const struct syscalls_changer *syscalls_changer;

static const struct syscalls_hook *hook;
static uint32_t wanted[SYSCALLS_MAX] BIG_ZEROS;
static uint32_t wanted_all;
static uint32_t nr_wanted;

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
			bitmap_set(bits, i);
	return hook->update(bits);
}

int syscalls_want(uint32_t nr, int on)
{
	uint32_t *count = nr < SYSCALLS_MAX ? &wanted[nr] : &wanted_all;
	int err;

	if (!hook)
		return -ENODEV;
	*count += on ? 1u : ~0u;
	nr_wanted += on ? 1u : ~0u;
	if (*count > 1 || (*count && !on))
		return 0;
	err = update();
	if (err && on) {
		*count = 0;
		nr_wanted--;
	}
	return on ? err : 0;
}

void syscalls_own_begin(void)
{
	thread_is = THREAD_OWN;
	store_release(&own_busy, 1);
}

/*
 * A thread that the program makes meanwhile would be taken for the engine's. So if calls are
 * wanted, wait until the engine's has started.
 */
void syscalls_own_end(int made)
{
	const struct timespec soon = {.tv_nsec = 1000000};
	int tries;

	for (tries = 0; made && nr_wanted && load_acquire(&own_busy) && tries < 1000; tries++)
		arch_syscall(SYS_futex, (long)&own_busy, FUTEX_WAIT, 1, (long)&soon, 0, 0);
	if (!made)
		store_release(&own_busy, 0);
	thread_is = THREAD_SEEN;
}

void syscalls_own_thread(void)
{
	if (thread_is == THREAD_NEW) {
		store_release(&own_busy, 0);
		arch_syscall(SYS_futex, (long)&own_busy, FUTEX_WAKE, 1, 0, 0, 0);
	}
	thread_is = THREAD_OWN;
}

int syscalls_are_programs(void)
{
	/* libc's calls in a fork's child that has no area yet do not count as lost */
	if (ring_is_forks_child())
		return 0;
	/* such as an unwinder's that walks for a record's stack: another record would walk again */
	if (unlikely(interpose_muted()))
		return 0;
	if (likely(thread_is == THREAD_SEEN))
		return 1;
	if (thread_is == THREAD_OWN || load_relaxed(&own_busy))
		return 0;
	thread_is = THREAD_SEEN;
	return 1;
}
