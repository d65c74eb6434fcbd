/* SPDX-License-Identifier: MIT */
/*
 * Threads that the program starts get their control block in advance, and free it when they end.
 * They are counted: the process must end when its last thread does, the agent excepted.
 */
#ifndef VESTIGE_CORE_THREAD_H
#define VESTIGE_CORE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/*
 * Set functions that each thread of pthread_create() calls first and last. @top: the upper end of
 * its stack; @bytes: its size at most. Constructor context, one pair.
 */
void threads_on_start(void (*start)(uint64_t top, uint64_t bytes), void (*end)(void));

/*
 * threads_watch() - set functions: @made is called in the creator of each thread after it was made
 * (@tid 0: not known), @gone in each thread that ends. NULL: none. One pair, under the tree lock.
 */
void threads_watch(void (*made)(int tid), void (*gone)(void));

/*
 * The calling thread's own stack: its upper end, and its size at most. 0: not known.
 */
struct thread_stack {
	uint64_t top, bytes;
};
extern __thread struct thread_stack thread_stack __attribute__((tls_model("initial-exec")));

/*
 * The main thread's stack; if the engine was loaded late, the main thread itself does not know it.
 */
extern struct thread_stack main_stack;

/* The id of a thread; 0: not known. Any context, makes one system call. */
int thread_tid(pthread_t thread);

/* The calling thread's id; call it before fork(). */
int threads_before_fork(void);

/*
 * Whether ThreadSanitizer is in the program. It does not know the engine's threads: they must call
 * no code of the program's, which looks for the sanitizer's data of its thread.
 */
int thread_has_sanitizer(void);

/*
 * As pthread_create(), for a thread of the engine: neither traced nor counted, also not by
 * ThreadSanitizer.
 */
int thread_create_untraced(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *));

/* Wait for the end of a thread that has not been joined, at most @ms. Normal context. */
void thread_wait_end(pthread_t thread, uint32_t ms);

/*
 * thread_join() - pthread_tryjoin_np(); a caller that may make no system call does not free the
 * thread's memory. Normal context. Return: 0: the thread has ended; or an errno.
 */
int thread_join(pthread_t thread);

/* The calling thread, which libc made, is about to end without its destructors. Normal context. */
void thread_leaves(void);

#endif
