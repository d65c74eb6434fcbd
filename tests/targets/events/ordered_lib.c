/* SPDX-License-Identifier: MIT */
/* A library with a lock of its own, for the round `reload` of ordered.c. */
#include <pthread.h>

static pthread_mutex_t lock_of_library = PTHREAD_MUTEX_INITIALIZER;

/* Take the caller's lock and the own one, in that order or in the other. */
void take_with_own(pthread_mutex_t *lock, int own_first);

__attribute__((noipa)) void take_with_own(pthread_mutex_t *lock, int own_first)
{
	pthread_mutex_t *first = own_first ? &lock_of_library : lock;
	pthread_mutex_t *second = own_first ? lock : &lock_of_library;

	pthread_mutex_lock(first);
	pthread_mutex_lock(second);
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
}
