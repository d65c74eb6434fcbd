/* SPDX-License-Identifier: MIT */
/*
 * A stack of the engine's for signal handlers in threads where the program has set none, so that a
 * handler of ours can run when a thread's stack is used up. sigaltstack() shows the program what it
 * has set itself.
 */
#ifndef VESTIGE_CORE_ALTSTACK_H
#define VESTIGE_CORE_ALTSTACK_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/*
 * altstack_start() - threads that begin from now on have one, and so has the calling thread.
 * @placed: called in a thread when ours is put in place. Threads that run already, and threads that
 * may make no system call, have none. It cannot be undone. Under the tree's lock.
 */
void altstack_start(void (*placed)(uint64_t lo, size_t bytes));

/* In each thread that begins and ends. */
void altstack_thread_start(void);
void altstack_thread_end(void);

/* sigaltstack() as the program calls it. @real: libc's. Return: as that; errno is set. */
int altstack_set(int (*real)(const stack_t *, stack_t *), const stack_t *stack, stack_t *old);

/* Whether the thread's stack for handlers is ours now. Any context. */
int altstack_is_ours(void);

#endif
