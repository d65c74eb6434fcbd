/* SPDX-License-Identifier: MIT */
/*
 * The death of the process by a signal that the program leaves to its default action: a fault,
 * abort(), a signal that another process sent.
 */
#ifndef VESTIGE_SOURCES_FATAL_H
#define VESTIGE_SOURCES_FATAL_H

#include <signal.h>

/*
 * A reporter runs in the handler, on a stack of its own, while other threads go on: once a process,
 * for the first thread that gets here. @context: a copy of the interrupted registers; changes for
 * an unwinder are undone before the process dies. @copied: unwinders that start in the reporter
 * come to the interrupted code.
 * Any context, and worse: memory, stacks and the engine's own state may be damaged.
 */
typedef void fatal_report(int sig, siginfo_t *info, void *context, int copied);

/*
 * fatal_start() - have @report called. Under the tree's lock. Return: 0; -ENODEV: the program is
 * static; -ENOMEM. fatal_stop() - end that.
 */
int fatal_start(fatal_report *report);
void fatal_stop(void);

/*
 * fatal_guarded() - call @fn(@arg), which may run into damaged memory: a fault ends it, where a
 * reporter runs. Any context. Return: 0; -1: it did not come to its end.
 */
int fatal_guarded(void (*fn)(void *), void *arg);

#endif
