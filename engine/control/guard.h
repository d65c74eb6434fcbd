/* SPDX-License-Identifier: MIT */
/*
 * The overhead guard (option `guard`, guard_budget): where the records of calls take more than
 * their share of a thread's CPU time, the functions that make most of them are switched off.
 */
#ifndef VESTIGE_CONTROL_GUARD_H
#define VESTIGE_CONTROL_GUARD_H

/*
 * guard_work() - the agent's turn; without the tree's lock.
 * @timeout_ms: how long the agent was going to wait, -1: for ever.
 * Return: how long it is to wait.
 */
int guard_work(int timeout_ms);

#endif
