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
 * signals_ending() - the signals that end a command's work: SIGINT, SIGTERM, and SIGHUP unless it
 * is ignored, as it is under nohup(1). SIGINT is one of them also in the background of a script,
 * where the shell ignores it: scripts end `record` by `kill -INT`. @set: gets them.
 */
static inline void signals_ending(sigset_t *set)
{
	struct sigaction now;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	if (!sigaction(SIGHUP, NULL, &now) && now.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

/* signals_on_ending() - call @handler in the calling process for each of signals_ending(). */
static inline void signals_on_ending(void (*handler)(int))
{
	const struct sigaction act = {.sa_handler = handler};
	sigset_t set;

	signals_ending(&set);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&set, sig) == 1)
			sigaction(sig, &act, NULL);
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
