/* SPDX-License-Identifier: MIT */
/*
 * Signals that the program's calls send, and calls of its handlers. Where the kernel's tracepoints
 * may be opened, they report more (sched_perf.c).
 */
#ifndef VESTIGE_SOURCES_SIGNAL_H
#define VESTIGE_SOURCES_SIGNAL_H

#include <signal.h>

#include "engine/sources/source.h"

/*
 * A call sends a signal. @code: SI_USER and its kind. @pid: of a process if @group, else of a
 * thread; as the call has it, so 0 or negative for groups of processes.
 */
struct signal_send_listener {
	struct source_link link;
	void (*call)(int sig, int code, int pid, int group);
};
extern struct source signal_sends;

/* A handler of the program is about to run; @flags: SA_* as the program installed it. */
struct signal_handler_listener {
	struct source_link link;
	void (*call)(int sig, const siginfo_t *info, uint64_t handler, uint64_t flags);
};
extern struct source signal_handlers;

/*
 * signals_fatal() - call @handler for a signal of @signals (bit N: signal N) while the program has
 * the default action for it, on the thread's signal stack. @signals: 0: stop. There is one handler.
 * Under the tree lock. Return: 0; -ENODEV: the program is static, and would see the handler.
 */
int signals_fatal(void (*handler)(int sig, siginfo_t *info, void *context), uint64_t signals);

/*
 * signals_take() - give a signal to the engine: @handler gets each such signal, with all others
 * blocked. The program still sees and sets its own action for it. @sig: a signal that is ignored by
 * default, or SIGSEGV; with SIGSEGV the other fault signals are not blocked. Under the tree lock.
 * Return: 0; -ENODEV: the program is static; -EBUSY: two are taken; -ENOMEM; -EINVAL.
 */
int signals_take(int sig, void (*handler)(int sig, siginfo_t *info, void *context));

/* Give a signal back to the program, also one that is on its way. Under the tree lock. */
void signals_give_back(int sig);

/* From the taken signal's handler: call the program's handler, if any, as the kernel would. */
void signals_forward(int sig, siginfo_t *info, void *context);

/* From the same handler, if the program has none: take the default action. */
void signals_by_default(int sig, siginfo_t *info, void *context);

/* Whether the program has a handler for the taken signal. Any context. */
int signals_taken_is_handled(int sig);

/*
 * A handler begins, or returns. A handler that longjmp() leaves is not reported as ended. @context:
 * the handler's ucontext_t.
 */
struct handler_frame {
	/* set by the listener: the handler that this one interrupted */
	struct handler_frame *below;
	uint64_t handler;
	void *context;
};
struct handler_frame_listener {
	struct source_link link;
	void (*call)(struct handler_frame *f, int begins);
};
extern struct source handler_frames;

#endif
