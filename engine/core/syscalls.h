/* SPDX-License-Identifier: MIT */
/*
 * System calls that the program makes through libc: the link between the hook, which finds and
 * patches the sites, and the source with the listeners (sources/syscall.h). Neither knows the
 * other.
 */
#ifndef VESTIGE_CORE_SYSCALLS_H
#define VESTIGE_CORE_SYSCALLS_H

#include <stdint.h>

#define SYSCALLS_MAX 512u /* numbers of system calls */

struct syscalls_hook {
	/*
	 * From now on report calls with these numbers; others need not be reported. @wanted:
	 * SYSCALLS_MAX bits; all 0: none. Return: 0 or -errno. Under the tree lock.
	 */
	int (*update)(const uint64_t *wanted);
};

struct syscalls_user {
	/*
	 * @args: as the kernel gets them. Any context: no lock, no libc, no system call through
	 * libc.
	 */
	void (*enter)(uint64_t nr, const uint64_t *args);
	void (*exit)(uint64_t nr, uint64_t ret);
};

/* Register the hook. Constructor context, once. */
void syscalls_register_hook(const struct syscalls_hook *hook);

/* Register the user, always the same one, before the first syscalls_want(). Under the tree lock. */
void syscalls_register_user(const struct syscalls_user *user);

/* The registered user, for the hook. */
extern struct syscalls_user syscalls_user;

/*
 * The one part of the engine that may change the arguments that the kernel gets. It sees the calls
 * that are wanted (syscalls_want()), also the engine's own through libc. Any context, as for the
 * user.
 */
#define SYSCALLS_WORDS 32u
struct syscalls_changer {
	/*
	 * @args: may be changed: the kernel gets these. @words: memory for its own use until the
	 * call has returned.
	 */
	void (*before)(uint64_t nr, uint64_t *args, uint64_t *words);
	/* Not called for calls that start a thread or process. @args: as the program gave them. */
	void (*after)(uint64_t nr, uint64_t ret, const uint64_t *args, uint64_t *words);
};
extern const struct syscalls_changer *syscalls_changer; /* NULL: none */

/*
 * syscalls_want() - add (@on 1) or remove a user of calls with this number. @nr: SYSCALLS_MAX: all
 * numbers. Return: 0; -errno: nothing has changed. Under the tree lock.
 */
int syscalls_want(uint32_t nr, int on);

/*
 * The engine makes a thread of its own: from syscalls_own_begin() on, calls of the creating thread
 * and of threads that did not exist before are the engine's. The new thread calls
 * syscalls_own_thread(), the creating thread syscalls_own_end(). @made: whether a thread was made.
 */
void syscalls_own_begin(void);
void syscalls_own_end(int made);

/* Calls of the calling thread are not recorded any more: it is the engine's, or about to end. */
void syscalls_own_thread(void);

/* Whether calls of the calling thread are the program's, to be recorded. Any context. */
int syscalls_are_programs(void);

#endif
