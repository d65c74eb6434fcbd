/* SPDX-License-Identifier: MIT */
/* A traced process, live, stopped or dead, found through its area. */
#ifndef VESTIGE_TOOLS_TARGET_H
#define VESTIGE_TOOLS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/reader/follow.h"
#include "tools/target/areas_dir.h"

struct target {
	struct areas_dir dir;
	int pid;
	unsigned long long start; /* field 22 of /proc/PID/stat */
	bool alive;
	char process[64];	   /* of its process's area in the folder: PID.START */
	char instance[64];	   /* which of its instances is meant; "" the top one */
	char name[136];		   /* of the area: PID.START, with @INSTANCE behind it */
	char path[PATH_MAX + 160]; /* of the area */
	dev_t dev;		   /* of the file that is meant, where one is; ino 0: whichever */
	ino_t ino;
};

/*
 * target_open() - find the area of process @pid; 0: of the one live process that has one.
 * A dead process has one as long as nobody removed it.
 * Return: 0 or -errno with fail() set: ESRCH no such process is traced, EINVAL several are.
 * To be closed with target_close().
 */
int target_open(struct target *t, int pid);
void target_close(struct target *t);

/*
 * target_open_session() - a live process of the session of that name.
 * Return: as target_open(), ESRCH there is none.
 */
int target_open_session(struct target *t, const char *session);

/*
 * target_open_instance() - the area of an instance of @top's process.
 * @t: on success to be closed with target_close(); paths of files are then the instance's.
 * Return: 0 or -errno with fail() set: ENOENT there is none of that name.
 */
int target_open_instance(const struct target *top, const char *name, struct target *t);

/*
 * target_open_area() - the area of process (@pid, @start), or of its @instance ("": its own), in the folder
 * @dir, whether it lives or not. Return: 0 or -errno with fail() set; on success to be closed with target_close().
 */
int target_open_area(struct target *t, const struct areas_dir *dir, int pid,
		     unsigned long long start, const char *instance);

struct meta;

/* The tables of its process's area, to be freed with meta_free(). Return: 0 or -errno with fail() set. */
int target_meta(const struct target *t, struct meta **out);

/* target_mkdir(), target_rmdir() - make and remove an instance. Return: as target_write(). */
int target_mkdir(struct target *t, const char *instance);
int target_rmdir(struct target *t, const char *instance);

/* Does the process of @pid that began at @start live? One that nobody waited for does not. */
bool target_lives(int pid, unsigned long long start);

/* Does it live, and is not stopped? */
bool target_answers(int pid, unsigned long long start);

/* Has it ended for certain? Where the outside cannot tell (it has no descriptor left, say) neither is true. */
bool target_has_ended(int pid, unsigned long long start);

/* What is to be followed of it; @t is borrowed. */
struct followed target_followed(const struct target *t);

/* Is the process stopped (by a signal or a debugger), so that its agent cannot answer? */
bool target_stopped(int pid);

/*
 * target_parse_name() - PID and START of an area's name, or of its agent's socket.
 * @is_socket: told which of them. Return: whether @name is either.
 */
bool target_parse_name(const char *name, int *pid, unsigned long long *start, bool *is_socket);

/*
 * target_read() - read a control file through the agent.
 * @text: on success malloced, NUL behind it; @bytes its size, NULL not wanted.
 * Return: 0 or -errno with fail() set: what the kernel's file of that name would say; ETIMEDOUT
 * the process is stopped or hangs; ESRCH it has ended.
 */
int target_read(struct target *t, const char *file, char **text, size_t *bytes);

/*
 * target_list() - a folder of the control files, as AGENT_LIST tells it.
 * @text: on success malloced lines `MODE NAME`, NUL behind them. Return: as target_read().
 */
int target_list(struct target *t, const char *dir, char **text);

/*
 * target_write() - one write of @n bytes to a control file.
 * @truncate: as `>`; false as `>>`. Return: as target_read().
 */
int target_write(struct target *t, const char *file, const char *text, size_t n, bool truncate);

/*
 * target_write_as() - the same on behalf of thread @tid, which a mark in the trace (trace_marker) names.
 * target_write() names the caller.
 */
int target_write_as(struct target *t, const char *file, const char *text, size_t n, bool truncate,
		    int tid);

/* Is it a file whose writer a record tells? */
bool target_is_marker(const char *file);

#endif
