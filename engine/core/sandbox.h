/* SPDX-License-Identifier: MIT */
/*
 * Threads that give up system calls (seccomp, syscall user dispatch) or the processor's counter.
 * From just before the program's call on, the engine makes no system call in that thread
 * (sys_is_forbidden()), nor in the threads that it makes, the children that it forks and, with
 * SECCOMP_FILTER_FLAG_TSYNC, in any other thread.
 */
#ifndef VESTIGE_CORE_SANDBOX_H
#define VESTIGE_CORE_SANDBOX_H

#include "engine/arch/sys.h"

/* The calling thread is main(), and free. Constructor context. */
void sandbox_start(void);

/* In a fork's child: the calling thread is the only one, with the rights that it had. */
void sandbox_fork(void);

/*
 * The agent has rights that the program has given up. So it ends with the last thread that is free
 * (which ends, or gives up system calls), and before a filter is set for all threads.
 * @stop: return whether there was one, and it has ended. @start: the program's call failed. One
 * pair.
 */
void sandbox_use_agent(int (*stop)(void), void (*start)(void));

/*
 * Get the memory that the calling thread will need, before it gives up system calls. Constructor
 * context, one callback.
 */
void sandbox_on_enter(void (*ahead)(void));

/*
 * A filter was set that we did not see: no thread of the program makes system calls of ours. Any
 * context.
 */
void sandbox_was_entered(void);

/*
 * sandbox_new_thread() - the calling thread is about to make one. sandbox_no_thread(): that failed.
 * Return: the value that the new thread passes to sandbox_thread_starts().
 */
enum sys_rights sandbox_new_thread(void);
void sandbox_no_thread(enum sys_rights rights);
void sandbox_thread_starts(enum sys_rights rights);
void sandbox_thread_ends(void);

#endif
