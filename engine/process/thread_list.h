/* SPDX-License-Identifier: MIT */
/*
 * The threads that this process has, as /proc/self/task lists them, also threads made by raw
 * clone().
 */
#ifndef VESTIGE_PROCESS_THREAD_LIST_H
#define VESTIGE_PROCESS_THREAD_LIST_H

#include <stddef.h>

/*
 * thread_list_each() - call @each with every thread's id, the caller's among them, in the order of
 * the ids; a thread that starts or ends meanwhile may be in it or not. It ends when @each returns
 * other than 0. Return: what @each returned last, or -errno: no /proc, no descriptor. Makes system
 * calls, no memory.
 */
int thread_list_each(int (*each)(int tid, void *data), void *data);

/*
 * The same in steps, for a process that has inherited the descriptor. thread_list_open(): the folder,
 * closed with sys_close(); or -errno. thread_list_each_in(): read it from the beginning.
 * thread_list_state(): the letter of /proc, S (waits), D (and cannot be interrupted), Z and X (has
 * ended; the main thread's row stays as long as the process) and so on.
 */
int thread_list_open(void);
int thread_list_each_in(int folder, int (*each)(int tid, void *data), void *data);
char thread_list_state(int folder, int tid);

/* As thread_list_read(), in such a folder. */
long thread_list_read_in(int folder, int tid, const char *file, char *text, size_t bytes);

/*
 * thread_list_main() - the text of /proc/self/FILE, which is the main thread's, also when that has
 * ended. @file: status or stat. @text: NUL-terminated. @bytes: its room; what does not fit is left
 * out. Return: bytes of text, or -errno: no /proc, no descriptor. Makes system calls, no memory.
 */
long thread_list_main(const char *file, char *text, size_t bytes);

/* The same of /proc/self/task/TID/FILE; @file: at most 16 characters. -ENOENT: no thread of this
 * process has the id. */
long thread_list_read(int tid, const char *file, char *text, size_t bytes);

/*
 * Open the folder once, for all later calls of this thread, which has a table of descriptors of its
 * own: the program may leave /proc by chroot(). One thread in the process.
 */
void thread_list_keep(void);

#endif
