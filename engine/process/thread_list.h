/* SPDX-License-Identifier: MIT */
/*
 * The threads of this process, as listed by /proc/self/task; also threads made by raw clone().
 */
#ifndef VESTIGE_PROCESS_THREAD_LIST_H
#define VESTIGE_PROCESS_THREAD_LIST_H

#include <stddef.h>

/*
 * thread_list_each() - call @each with the id of every thread, the caller included, sorted by id. A
 * thread that starts or ends meanwhile may be included or not. Stops if @each does not return 0.
 * Return: the last result of @each; -errno: no /proc, no descriptor. Makes system calls, allocates
 * nothing.
 */
int thread_list_each(int (*each)(int tid, void *data), void *data);

/*
 * The same in steps, for a process that has inherited the descriptor. thread_list_open() - open the
 * folder, to be closed with sys_close(); or -errno. thread_list_each_in() - read it from the
 * beginning. thread_list_state() - the state letter in /proc: S (sleeps), D (sleeps
 * uninterruptibly), Z and X (has ended; the main thread's entry stays as long as the process) and
 * so on.
 */
int thread_list_open(void);
int thread_list_each_in(int folder, int (*each)(int tid, void *data), void *data);
char thread_list_state(int folder, int tid);

/* As thread_list_read(), in such a folder. */
long thread_list_read_in(int folder, int tid, const char *file, char *text, size_t bytes);

/*
 * thread_list_main() - read /proc/self/FILE, which is about the main thread, even after it has
 * ended. @file: status or stat. @text: gets a NUL at its end. @bytes: its size; what does not fit
 * is left out. Return: bytes of text; -errno: no /proc, no descriptor. Makes system calls,
 * allocates nothing.
 */
long thread_list_main(const char *file, char *text, size_t bytes);

/*
 * As thread_list_main(), for /proc/self/task/TID/FILE; @file: at most 16 characters. -ENOENT: no
 * thread of this process has the id.
 */
long thread_list_read(int tid, const char *file, char *text, size_t bytes);

/*
 * Open the folder once, for all later calls of this thread, which must have a descriptor table of
 * its own: the program may leave /proc by chroot(). One thread in the process.
 */
void thread_list_keep(void);

#endif
