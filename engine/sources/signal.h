/* SPDX-License-Identifier: MIT */
/*
 * Signals that the program's calls send, and its handlers that are called. Where the kernel's
 * tracepoints may be opened they say more (sched_perf.c).
 */
#ifndef VESTIGE_SOURCES_SIGNAL_H
#define VESTIGE_SOURCES_SIGNAL_H

#include <signal.h>

#include "engine/sources/source.h"

/*
 * A call sends a signal. @code: SI_USER and its like. @pid: of a process, where @group, or of a
 * thread; as the call has it, so 0 or negative for groups of processes.
 */
struct signal_send_listener {
	struct source_link link;
	void (*call)(int sig, int code, int pid, int group);
};
extern struct source signal_sends;

/* A handler of the program's is about to run; @flags: SA_* as the program installed it. */
struct signal_handler_listener {
	struct source_link link;
	void (*call)(int sig, const siginfo_t *info, uint64_t handler, uint64_t flags);
};
extern struct source signal_handlers;

/*
 * signals_fatal() - while the program leaves a signal of @signals (bit N: signal N) to its default
 * action, @handler is called for it, on the thread's stack for handlers. 0: no more. One handler.
 * Under the tree's lock. Return: 0; -ENODEV: the program is static, and would see the handler.
 */
int signals_fatal(void (*handler)(int sig, siginfo_t *info, void *context), uint64_t signals);

/*
 * signals_take() - one signal is the engine's: @handler gets each, with all others blocked. The
 * program sees and sets its own action for it, as if it had the signal. It is a signal whose
 * default is that nothing happens, or SIGSEGV, which with its like is not blocked. Under the tree's
 * lock. Return: 0; -ENODEV: the program is static; -EBUSY: two are taken; -ENOMEM; -EINVAL.
 */
int signals_take(int sig, void (*handler)(int sig, siginfo_t *info, void *context));

/* The program's again: one that is on its way is the program's, too. Under the tree's lock. */
void signals_give_back(int sig);

/* From the taken signal's handler: call the program's handler, if any, as the kernel would. */
void signals_forward(int sig, siginfo_t *info, void *context);

/* From there, if the program has no handler: take the default action. */
void signals_by_default(int sig, siginfo_t *info, void *context);

/* Whether the program has a handler for the taken signal. Any context. */
int signals_taken_is_handled(int sig);

/*
 * A handler begins, and ends by a return; one that longjmp() leaves does not end here. @context:
 * the ucontext_t that it gets.
 */
struct handler_frame {
	struct handler_frame *below; /* the listener's: of the handler that this one interrupted */
	uint64_t handler;
	void *context;
};
struct handler_frame_listener {
	struct source_link link;
	void (*call)(struct handler_frame *f, int begins);
};
extern struct source handler_frames;

#endif
