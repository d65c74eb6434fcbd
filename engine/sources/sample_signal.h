/* SPDX-License-Identifier: MIT */
/*
 * SAMPLE_SIGNAL, taken from the program and hidden from it: sigaction() and its like return and set
 * the program's own action, which is called for signals that are not ours; sigwait() and its like
 * do not get ours. Under the tree's lock.
 */
#ifndef VESTIGE_SOURCES_SAMPLE_SIGNAL_H
#define VESTIGE_SOURCES_SAMPLE_SIGNAL_H

#include <signal.h>

/*
 * sample_signal_take() - @handle is called for each. It returns whether the signal was ours.
 * Return: 0; -ENODEV: the program is static; -ENOMEM. sample_signal_give_back() - it is the
 * program's again, also a signal that is on its way.
 */
int sample_signal_take(int (*handle)(const siginfo_t *info, void *context));
void sample_signal_give_back(void);

#endif
