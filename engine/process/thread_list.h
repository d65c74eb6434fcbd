/* SPDX-License-Identifier: MIT */
/*
 * The threads of this process, as listed by /proc/self/task; also threads made by raw clone().
 */
#ifndef VESTIGE_PROCESS_THREAD_LIST_H
#define VESTIGE_PROCESS_THREAD_LIST_H

#include <stddef.h>
#include <stdint.h>

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
 * thread_list_stat() - a field in the text of the file stat. @text: ends with a NUL. @field: its
 * number in proc(5), STAT_STATE or greater. Return: where it begins in @text; "" if it is not
 * there.
 */
static inline const char *thread_list_stat(const char *text, uint32_t field)
{
	const char *at = NULL;
	uint32_t left = field - 2;

	/* `TID (NAME) STATE ...`, and NAME may contain any character */
	for (; *text; text++)
		if (*text == ')')
			at = text + 1;
	while (at && *at && left)
		left -= *at++ == ' ';
	return at && !left ? at : "";
}

#define STAT_STATE 3u
#define STAT_UTIME 14u
#define STAT_CPU   39u
#define STAT_EXIT  52u /* the exit status, of a thread that has ended */

/*
 * Open the folder once, for all later calls of this thread, which must have a descriptor table of
 * its own: the program may leave /proc by chroot(). One thread in the process.
 */
void thread_list_keep(void);

#endif
