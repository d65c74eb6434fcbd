/* SPDX-License-Identifier: MIT */
/*
 * Threads that give up system calls (seccomp, syscall user dispatch) or the processor's counter.
 * From just before the program's call on, the engine makes no system call in that thread
 * (sys_is_forbidden()), in threads that it makes, in children that it forks and, with
 * SECCOMP_FILTER_FLAG_TSYNC, in any other thread.
 */
#ifndef VESTIGE_CORE_SANDBOX_H
#define VESTIGE_CORE_SANDBOX_H

#include "engine/arch/sys.h"

/* The calling thread is the main thread, and free. Constructor context. */
void sandbox_start(void);

/* In a fork's child: the calling thread is the only one, and keeps its rights. */
void sandbox_fork(void);

/*
 * The agent has rights that the program has given up. So it must end with the last free thread
 * (which ends, or gives up system calls), and before a filter is set for all threads. @stop:
 * returns whether there was an agent, and it has ended. @start: called if the program's call
 * failed. One pair.
 */
void sandbox_use_agent(int (*stop)(void), void (*start)(void));

/*
 * Set @ahead, which gets the memory that the calling thread will need before it gives up system
 * calls. Constructor context, one callback.
 */
void sandbox_on_enter(void (*ahead)(void));

/*
 * A filter was set that the engine did not see: from now on no thread of the program makes system
 * calls for the engine. Any context.
 */
void sandbox_was_entered(void);

/*
 * sandbox_new_thread() - the calling thread is about to make a thread. sandbox_no_thread() - that
 * failed. Return: the value that the new thread passes to sandbox_thread_starts().
 */
enum sys_rights sandbox_new_thread(void);
void sandbox_no_thread(enum sys_rights rights);
void sandbox_thread_starts(enum sys_rights rights);
void sandbox_thread_ends(void);

/*
 * The calling thread, which libc has made by itself after the engine's start, makes its first
 * record: its end will be seen. Any context.
 */
void sandbox_thread_seen(void);

#endif
