/* SPDX-License-Identifier: MIT */
/*
 * The overhead guard (option `guard`, guard_budget): if the records of calls take more than their
 * share of a thread's CPU time, it switches off the functions that make most of them.
 */
#ifndef VESTIGE_CONTROL_GUARD_H
#define VESTIGE_CONTROL_GUARD_H

/*
 * guard_work() - the guard's turn in the agent; without the tree lock. @timeout_ms: how long the
 * agent was going to wait, in ms; -1: for ever. Return: how long it is to wait now, in ms; -1: for
 * ever.
 */
int guard_work(int timeout_ms);

#endif
