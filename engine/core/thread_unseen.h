/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CORE_THREAD_UNSEEN_H
#define VESTIGE_CORE_THREAD_UNSEEN_H

#include <pthread.h>
#include <stdint.h>

/*
 * threads_unseen_mark() - give all other threads that are there now the value @value of @key, as
 * each would by pthread_setspecific(), and the calling thread, too. @tid_offset: of a thread's id in
 * what its pthread_t points to. Constructor context of a late engine. Return: 0; -ENOTSUP: libc's
 * memory is not as expected, and only the caller has the value.
 */
int threads_unseen_mark(pthread_key_t key, const void *value, uint32_t tid_offset);

/*
 * threads_unseen_stacks() - call @known with the stack of each other thread that is there now, but
 * main's: its lowest address, and its bytes up to libc's memory at its end. Constructor context of a
 * late engine, in a thread that libc has made. Return: as above: it is not called.
 */
int threads_unseen_stacks(void (*known)(uint64_t lo, uint64_t bytes));

#endif
