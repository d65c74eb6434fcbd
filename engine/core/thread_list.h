/* SPDX-License-Identifier: MIT */
/* The threads that this process has, as /proc/self/task lists them: those of raw clone() too. */
#ifndef VESTIGE_CORE_THREAD_LIST_H
#define VESTIGE_CORE_THREAD_LIST_H

/*
 * thread_list_each() - call @each with every thread's id, the caller's among them, in the order of the ids;
 * one that comes or goes meanwhile may be there or not. It ends when @each returns other than 0.
 * Return: what @each returned last, or -errno: no /proc, no descriptor. Makes system calls, no memory.
 */
int thread_list_each(int (*each)(int tid, void *data), void *data);

#endif
