/* SPDX-License-Identifier: MIT */
/*
 * The death of the process by a signal for which the program has the default action: a fault,
 * abort(), or a signal that another process sent.
 */
#ifndef VESTIGE_SOURCES_FATAL_H
#define VESTIGE_SOURCES_FATAL_H

#include <signal.h>

/*
 * A reporter runs in the handler, on a stack of its own, while other threads go on. It runs once in
 * a process, for the first thread that gets here. @context: a copy of the interrupted registers;
 * changes that help an unwinder are undone before the process dies. @copied: an unwinder that
 * starts in the reporter reaches the interrupted code. Any context, and worse: memory, stacks and
 * the engine's own state may be damaged.
 */
typedef void fatal_report(int sig, siginfo_t *info, void *context, int copied);

/*
 * fatal_start() - set @report as the reporter. Under the tree lock. Return: 0; -ENODEV: the program
 * is static; -ENOMEM. fatal_stop() - remove it.
 */
int fatal_start(fatal_report *report);
void fatal_stop(void);

/*
 * fatal_guarded() - call @fn(@arg), which may touch damaged memory: a fault in it ends it. In a
 * reporter; elsewhere it is an ordinary call. Any context. Return: 0; -1: a fault ended it.
 */
int fatal_guarded(void (*fn)(void *), void *arg);

#endif
