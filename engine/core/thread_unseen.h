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
 * threads_unseen_stacks() - call @known for the stack of each other thread that exists now, except
 * the main thread's: its lowest address, and its size up to libc's memory at its end. Constructor
 * context of a late engine, in a thread that libc has made. Return: as threads_unseen_mark(); after
 * an error @known was not called.
 */
int threads_unseen_stacks(void (*known)(uint64_t lo, uint64_t bytes));

#endif
