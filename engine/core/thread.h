/* SPDX-License-Identifier: MIT */
/*
 * Threads that the program starts get their control block ahead, and give it back when they end.
 * They are counted: the process must end when its last thread does, except the agent.
 */
#ifndef VESTIGE_CORE_THREAD_H
#define VESTIGE_CORE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/*
 * Call back in each thread that pthread_create() starts, first and last. @top: the address from
 * which its stack goes down; @bytes: how far, at most. Constructor context, one pair.
 */
void threads_on_start(void (*start)(uint64_t top, uint64_t bytes), void (*end)(void));

/*
 * threads_watch() - call back in the creator of each thread, once it is made, and in each thread
 * that ends. @tid: 0: not known. NULL: no more. One pair, under the tree's lock.
 */
void threads_watch(void (*made)(int tid), void (*gone)(void));

/*
 * The calling thread's own stack: from which address it goes down, and how far at most. 0: not
 * known.
 */
struct thread_stack {
	uint64_t top, bytes;
};
extern __thread struct thread_stack thread_stack __attribute__((tls_model("initial-exec")));

/* Main's; in a process that the engine came to later main itself does not know it. */
extern struct thread_stack main_stack;

/* The id of a thread; 0: not known. Any context, one system call. */
int thread_tid(pthread_t thread);

/* The calling thread's id, to be asked before it forks. */
int threads_before_fork(void);

/* As pthread_create(), for a thread of our own: neither traced nor counted. */
int thread_create_untraced(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *));

/* Wait for the end of a thread that is not joined yet, no longer than @ms. Normal context. */
void thread_wait_end(pthread_t thread, uint32_t ms);

/*
 * thread_join() - pthread_tryjoin_np(); a thread that may make no system call leaves its memory.
 * Normal context.
 * Return: 0: it has ended; or an errno.
 */
int thread_join(pthread_t thread);

/* The calling thread, which libc made, is about to end without its destructors. Normal context. */
void thread_leaves(void);

#endif
