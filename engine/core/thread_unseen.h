/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CORE_THREAD_UNSEEN_H
#define VESTIGE_CORE_THREAD_UNSEEN_H

#include <pthread.h>
#include <stdint.h>

/*
 * threads_unseen_mark() - give the value @value of @key to all other threads that exist now, as
 * pthread_setspecific() in each would do, and to the calling thread. @tid_offset: offset of a
 * thread's id in the memory of its pthread_t. Constructor context of a late engine. Return: 0;
 * -ENOTSUP: libc's memory is not as expected, and only the caller has the value.
 */
int threads_unseen_mark(pthread_key_t key, const void *value, uint32_t tid_offset);

/*
 * threads_unseen_own() - give the calling thread the first values of the engine's thread-local
 * variables, which are all zero. Any context.
 */
void threads_unseen_own(void);

/*
 * threads_unseen_look() - give them to all other threads that lack them. To be called before the
 * engine is switched on; waits for threads that are being made, 50 ms after the engine's start and
 * after each that it finds. Does nothing where the engine is not late, or has been there for 10 s.
 * Agent context.
 */
void threads_unseen_look(void);

/*
 * threads_unseen_stacks() - call @known for the stack of each other thread that exists now, except
 * the main thread's: its lowest address, and its size up to libc's memory at its end. Constructor
 * context of a late engine, in a thread that libc has made. Return: as threads_unseen_mark(); after
 * an error @known was not called.
 */
int threads_unseen_stacks(void (*known)(uint64_t lo, uint64_t bytes));

#endif
