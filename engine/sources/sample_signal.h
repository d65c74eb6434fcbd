/* SPDX-License-Identifier: MIT */
/*
 * SAMPLE_SIGNAL, which the engine takes from the program and hides from it. sigaction() and its
 * kind return and set the program's own action, which is called for signals that are not the
 * engine's. sigwait() and its kind do not get the engine's. Under the tree lock.
 */
#ifndef VESTIGE_SOURCES_SAMPLE_SIGNAL_H
#define VESTIGE_SOURCES_SAMPLE_SIGNAL_H

#include <signal.h>

/*
 * sample_signal_take() - begin. @handle is called for each such signal and returns whether it was
 * the engine's. Return: 0; -ENODEV: the program is static; -ENOMEM. sample_signal_give_back() -
 * end: the program gets all such signals again, also one that is on its way.
 */
int sample_signal_take(int (*handle)(const siginfo_t *info, void *context));
void sample_signal_give_back(void);

#endif
