/* SPDX-License-Identifier: MIT */
/*
 * A signal stack of the engine's in threads where the program has set none, so that a handler of
 * the engine can run when a thread's stack is used up. sigaltstack() shows the program only what it
 * has set itself.
 */
#ifndef VESTIGE_CORE_ALTSTACK_H
#define VESTIGE_CORE_ALTSTACK_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/*
 * altstack_start() - give a signal stack to the calling thread and to all threads that start from
 * now on. @placed: called in a thread when its stack is set. Threads that run already, and threads
 * that may make no system call, get none. It cannot be undone. Under the tree lock.
 */
void altstack_start(void (*placed)(uint64_t lo, size_t bytes));

/* Called in each thread when it begins, and when it ends. */
void altstack_thread_start(void);
void altstack_thread_end(void);

/* The program's call of sigaltstack(). @real: libc's. Return: as libc's; errno is set. */
int altstack_set(int (*real)(const stack_t *, stack_t *), const stack_t *stack, stack_t *old);

/* Whether the thread's signal stack is the engine's now. Any context. */
int altstack_is_ours(void);

#endif
