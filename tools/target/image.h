/* SPDX-License-Identifier: MIT */
/*
 * An image of a traced process, or one of its instances, found through its area: live, stopped or
 * dead.
 */
#ifndef VESTIGE_TOOLS_IMAGE_H
#define VESTIGE_TOOLS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/area/follow.h"
#include "tools/target/areas_dir.h"

struct image {
	struct areas_dir dir;
	int pid;
	int inner; /* its PID in its own PID namespace, which is in the area's name */
	unsigned long long start; /* field 22 of /proc/PID/stat */
	unsigned long long named; /* start in the area's name: 0 if the process has no /proc */
	bool alive;
	char process[64];	   /* name of the process's area in the folder: PID.START */
	char instance[64];	   /* the instance; "" the top one */
	char name[136];		   /* of the area: PID.START, with @INSTANCE behind it */
	char path[PATH_MAX + 160]; /* of the area */
	dev_t dev;		   /* the area must be this file; ino 0: any file of that name */
	ino_t ino;
};

/*
 * image_open() - find the area of process @pid; 0: of the only live process that has an area.
 * A dead process has its area until that is removed.
 * Return: 0 or -errno with fail() set: ESRCH no such process is traced, EINVAL several are.
 * To be closed with image_close().
 */
int image_open(struct image *t, int pid);
void image_close(struct image *t);

/*
 * image_open_instance() - the area of an instance of @top's process.
 * @t: on success to be closed with image_close(); paths of files are then the instance's.
 * Return: 0 or -errno with fail() set: ENOENT there is none of that name.
 */
int image_open_instance(const struct image *top, const char *name, struct image *t);

/*
 * image_open_area() - the area in folder @dir of process (@pid, @start), live or dead, or of its
 * @instance ("": the process itself). Return: 0 or -errno with fail() set; on success to be closed
 * with image_close().
 */
int image_open_area(struct image *t, const struct areas_dir *dir, int pid, unsigned long long start,
		    const char *instance);

/* Whether the process has another root folder, or another mount there, than we have. */
bool image_other_root(int pid);

struct meta;

/*
 * image_meta() - the tables of its process's area, to be freed with meta_free(). If the process has
 * not looked for its functions yet, it is asked to do so first. Return: 0 or -errno with fail()
 * set.
 */
int image_meta(const struct image *t, struct meta **out);

/* image_tables() - the tables as they are; the process is not asked. */
int image_tables(const struct image *t, struct meta **out);

/*
 * image_functions() - have a process look for its functions, if its tables say that it has not yet
 * (meta_waits()). Return: whether it did; then read the tables again. A process that is dead or
 * stopped cannot.
 */
bool image_functions(const struct image *t, const struct meta *m);

/*
 * image_drain() - have the process write records that are still in the kernel to its area. Call it
 * before a file is made of the records. Does nothing if the process cannot answer.
 */
void image_drain(const struct image *t);

/* image_mkdir(), image_rmdir() - make and remove an instance. Return: as image_write(). */
int image_mkdir(struct image *t, const char *instance);
int image_rmdir(struct image *t, const char *instance);

/* Does the process of @pid that began at @start live? A zombie does not. */
bool image_lives(int pid, unsigned long long start);

/*
 * Descriptors of a live process, which make repeated checks of its state cheap. Both belong to that
 * process for ever, even if its PID is used again.
 */
struct image_watch {
	int pidfd;   /* -1: none; so is */
	int stat_fd; /* /proc/PID/stat */
};

#define IMAGE_NO_WATCH ((struct image_watch){-1, -1})

/*
 * image_watch() - open both. One that cannot be opened is -1; then the process looks as if it had
 * ended, and the caller must call image_lives(). image_unwatch() - close them.
 *
 * image_watch_runs() - has the process a thread that is no zombie? One poll().
 *
 * image_watch_state() - the letter of its state in /proc/PID/stat; 'T' for every kind of stop; 'Z':
 * it has ended, in the sense of image_lives(). One read.
 */
void image_watch(int pid, unsigned long long start, struct image_watch *w);
void image_unwatch(struct image_watch *w);
bool image_watch_runs(const struct image_watch *w);
char image_watch_state(const struct image_watch *w, unsigned long long start);

/* Can the process's agent answer: does it live, and is it not stopped? */
bool image_answers(int pid, unsigned long long start);

/*
 * image_await_start() - wait until a process that starts has filled its area's tables, which takes
 * some ms, or seconds on a busy machine. Returns at once if it cannot answer.
 * @fd: its area.
 */
void image_await_start(const struct image *t, int fd);

/*
 * Has the process ended for certain? If that cannot be found out, for example without a free
 * descriptor, image_lives() and image_has_ended() are both false.
 */
bool image_has_ended(int pid, unsigned long long start);

/* The image as a source for follow.h; @t is borrowed. */
struct followed image_followed(const struct image *t);

/* Is the process stopped (by a signal or a debugger), so that its agent cannot answer? */
bool image_stopped(int pid);

/*
 * image_parse_name() - PID and START of an area's name, or of its agent's socket.
 * @is_socket: set to which of them. Return: whether @name is either.
 */
bool image_parse_name(const char *name, int *pid, unsigned long long *start, bool *is_socket);

/*
 * image_read() - read a control file through the agent.
 * @text: on success malloced, NUL behind it; @bytes its size, NULL not wanted.
 * Return: 0 or -errno with fail() set: the errno of the kernel's file of that name; ETIMEDOUT: the
 * process is stopped or hangs; ESRCH: it has ended.
 */
int image_read(struct image *t, const char *file, char **text, size_t *bytes);

/*
 * image_list() - a folder of the control files, by AGENT_LIST.
 * @text: on success malloced lines `MODE NAME`, NUL behind them. Return: as image_read().
 */
int image_list(struct image *t, const char *dir, char **text);

/*
 * image_write() - one write of @n bytes to a control file.
 * @truncate: as `>`; false as `>>`. Return: as image_read().
 */
int image_write(struct image *t, const char *file, const char *text, size_t n, bool truncate);

/*
 * image_write_as() - the same on behalf of thread @tid: a mark (trace_marker) is recorded as that
 * thread's. With image_write() it is the calling thread's.
 */
int image_write_as(struct image *t, const char *file, const char *text, size_t n, bool truncate,
		   int tid);

/* The text of a write in one process. */
struct translated {
	char *text; /* malloced */
	size_t n;
	bool is_own; /* valid in this process alone: has an address, or a later loaded object */
};

/*
 * image_translate() - translate the user's @text for the process: names of the source are replaced
 * by their meanings there. image_write() does this itself. Return: 0 or -errno with fail() set;
 * then nothing is allocated.
 */
int image_translate(const struct image *t, const char *file, const char *text, size_t n,
		    struct translated *translated);

/* image_put() - write a text of image_translate() without translation. Return: as image_write(). */
int image_put(struct image *t, const char *file, const char *text, size_t n, bool truncate);

/* Whether writes to @file make records of the writing thread (trace_marker). */
bool image_is_marker(const char *file);

#endif
