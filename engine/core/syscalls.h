/* SPDX-License-Identifier: MIT */
/*
 * System calls that the program makes through libc: the link between the hook, which finds and
 * patches the sites, and the source that listeners join (sources/syscall.h). Neither knows the
 * other.
 */
#ifndef VESTIGE_CORE_SYSCALLS_H
#define VESTIGE_CORE_SYSCALLS_H

#include <stdint.h>

#define SYSCALLS_MAX 512u /* numbers */

struct syscalls_hook {
	/*
	 * From now on report calls with these numbers; others need not be reported. @wanted:
	 * SYSCALLS_MAX bits; all 0: none. Return: 0 or -errno. Under the tree's lock.
	 */
	int (*update)(const uint64_t *wanted);
};

struct syscalls_user {
	/* @args: as the kernel gets them. Any context: no lock, no libc, no system call of
	 * libc's. */
	void (*enter)(uint64_t nr, const uint64_t *args);
	void (*exit)(uint64_t nr, uint64_t ret);
};

/* Constructor context, once. */
void syscalls_register_hook(const struct syscalls_hook *hook);

/* Before the first syscalls_want(); always the same user. Under the tree's lock. */
void syscalls_register_user(const struct syscalls_user *user);

/* For the hook. */
extern struct syscalls_user syscalls_user;

/*
 * The one part of the engine that may change the arguments that the kernel gets. It sees the calls
 * that are wanted (syscalls_want()), also the engine's own through libc. Any context, as the
 * user's.
 */
#define SYSCALLS_WORDS 32u
struct syscalls_changer {
	/*
	 * @args: to be changed: the kernel gets these. @words: its own until the call has returned.
	 */
	void (*before)(uint64_t nr, uint64_t *args, uint64_t *words);
	/* Not for calls that start a thread or process. @args: as the program gave them. */
	void (*after)(uint64_t nr, uint64_t ret, const uint64_t *args, uint64_t *words);
};
extern const struct syscalls_changer *syscalls_changer; /* NULL: none */

/*
 * syscalls_want() - calls with this number are wanted once more, or once less. @nr: SYSCALLS_MAX:
 * all numbers. Return: 0 or -errno, and then nothing has changed. Under the tree's lock.
 */
int syscalls_want(uint32_t nr, int on);

/*
 * The engine makes a thread of its own: from syscalls_own_begin() on, the calls of the creating
 * thread and of threads that did not exist before are the engine's. The new thread calls
 * syscalls_own_thread(), the creating thread syscalls_own_end(). @made: whether there is a new one.
 */
void syscalls_own_begin(void);
void syscalls_own_end(int made);

/* The calling thread's are not recorded any more: it is the engine's, or at its end. */
void syscalls_own_thread(void);

/* Whether the calling thread's are to be recorded. Any context. */
int syscalls_are_programs(void);

#endif
