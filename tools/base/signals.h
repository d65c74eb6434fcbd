/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_TOOLS_SIGNALS_H
#define VESTIGE_TOOLS_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* signals_drop() - drop pending signals. @set: the signals, which this thread has blocked. */
static inline void signals_drop(const sigset_t *set)
{
	static const struct timespec now = {0};

	while (sigtimedwait(set, NULL, &now) > 0)
		;
}

/*
 * thread_without_signals() - pthread_create() of a thread with all signals blocked: handlers run in
 * the other threads. @thread: gets the thread. @run, @arg: its function. Return: 0 or an errno.
 */
static inline int thread_without_signals(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

#endif
