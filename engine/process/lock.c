/* SPDX-License-Identifier: MIT */
/*
 * See lock.h. An uncontended lock makes no futex call. fork: lock_fork(); in a child of raw clone()
 * the lock is as it was. Tests: tests/unit/test_lock.c, tests/engine/fire/loader_lock.
 */
#include "engine/process/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13 /* since Linux 5.14; FUTEX_LOCK_PI uses CLOCK_REALTIME */
#endif

#define NS_PER_SEC   UINT64_C(1000000000)
#define FIRST_NAP_NS UINT64_C(20000)
#define LAST_NAP_NS  UINT64_C(2000000)
#define SLICE_NS     UINT64_C(100000000)

static uint32_t owner_of(uint32_t word)
{
	return word & FUTEX_TID_MASK;
}

static struct timespec in_spec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC),
				 .tv_nsec = (long)(ns % NS_PER_SEC)};
}

static int lock_pi(struct lock *l, int op, int clock, uint64_t ns)
{
	struct timespec until;

	if (ns != LOCK_FOR_EVER)
		until = in_spec(sys_clock_ns(clock) + ns);
	return (int)arch_syscall(SYS_futex, (long)&l->word, op | FUTEX_PRIVATE_FLAG, 0,
				 ns == LOCK_FOR_EVER ? 0 : (long)&until, 0, 0);
}

/* Take the lock if its owner has ended and the kernel knows nothing of it. */
static int take_over(struct lock *l, uint32_t tid)
{
	uint32_t word = load_relaxed(&l->word);

	return word && word == owner_of(word) &&
	       arch_syscall(SYS_tgkill, sys_getpid(), word, 0, 0, 0, 0) == -ESRCH &&
	       compare_and_store(&l->word, word, tid);
}

/* Wait without priority inheritance. Return: 0 or -ETIMEDOUT. */
static int wait_asleep(struct lock *l, uint32_t tid, uint64_t ns)
{
	uint64_t nap_ns = FIRST_NAP_NS, begin = sys_clock_ns(CLOCK_MONOTONIC);

	while (!compare_and_store(&l->word, 0, tid)) {
		if (ns != LOCK_FOR_EVER && sys_clock_ns(CLOCK_MONOTONIC) - begin > ns)
			return -ETIMEDOUT;
		sys_sleep_ns((long)nap_ns);
		if (nap_ns < LAST_NAP_NS)
			nap_ns *= 2;
		else if (take_over(l, tid))
			return 0;
	}
	return 0;
}

/*
 * An owner that may make no system call cannot tell the kernel that it releases the lock: a waiter
 * would sleep until that thread ends, and get the lock then, even if another thread has it. So no
 * thread waits in the kernel once there are such threads; one that does so already looks for them
 * after a slice of time.
 */
static int wait(struct lock *l, uint32_t tid, uint64_t ns)
{
	uint64_t slice_ns;
	uint32_t owner, word;
	int err;

	for (;;) {
		if (load_relaxed(&sys_nr_forbidden))
			return wait_asleep(l, tid, ns);
		owner = owner_of(load_relaxed(&l->word));
		slice_ns = min_of(ns, SLICE_NS);
		err = lock_pi(l, FUTEX_LOCK_PI2, CLOCK_MONOTONIC, slice_ns);
		if (err == -ENOSYS)
			err = lock_pi(l, FUTEX_LOCK_PI, CLOCK_REALTIME, slice_ns);
		if (err == -ETIMEDOUT && slice_ns < ns) {
			ns -= ns == LOCK_FOR_EVER ? 0 : slice_ns;
			continue;
		}
		word = load_relaxed(&l->word);
		/*
		 * its owner has ended while no thread waited; another waiter may have found that,
		 * too, and have the lock now
		 */
		if (err == -ESRCH && owner_of(word) == owner &&
		    compare_and_store(&l->word, word, tid))
			return 0;
		if (err != -ESRCH && err != -EAGAIN && err != -EINTR)
			break;
	}
	if (!err || err == -EDEADLK || err == -ETIMEDOUT)
		return err;
	return wait_asleep(l, tid, ns);
}

int lock_take_within(struct lock *l, uint64_t ns)
{
	uint32_t tid = (uint32_t)sys_own_tid();

	if (!tid)
		return -EPERM;
	if (compare_and_store(&l->word, 0, tid))
		return 0;
	if (owner_of(load_relaxed(&l->word)) == tid)
		return -EDEADLK;
	return ns ? wait(l, tid, ns) : -ETIMEDOUT;
}

void lock_release(struct lock *l)
{
	uint32_t word = owner_of(load_relaxed(&l->word));

	if (compare_and_store(&l->word, word, 0))
		return;
	if (arch_syscall(SYS_futex, (long)&l->word, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, 0, 0, 0,
			 0) < 0)
		__atomic_store_n(&l->word, 0, __ATOMIC_RELEASE);
}

void lock_fork(struct lock *l, int owned)
{
	__atomic_store_n(&l->word, owned ? (uint32_t)sys_own_tid() : 0, __ATOMIC_RELEASE);
}
