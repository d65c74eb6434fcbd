/* SPDX-License-Identifier: MIT */
/*
 * A session as a directory of the mount: a process and all that it starts, tagged alike
 * (VESTIGE_SESSION). One set of files for all: writes go to every member, and to members that come
 * later; what is read of them is put together as session_text() says.
 */
#ifndef VESTIGE_TOOLS_MOUNT_SESSION_H
#define VESTIGE_TOOLS_MOUNT_SESSION_H

#include "tools/mount/process.h"
#include "tools/text/out.h"

struct session;

/*
 * session_get() - the session of that name.
 * @instance: NULL; or that instance of its members, which is as a session of its own: those that have
 * it are its members.
 * Return: it, to be given back with session_put(); NULL with *@err: -ENOENT it has no members.
 */
struct session *session_get(const char *name, const char *instance, int *err);
void session_put(struct session *s);

/* Each session that has a member. @put: returns non-zero to stop. */
void session_list(int (*put)(void *arg, const char *name), void *arg);

/* A member, whose files stand for all; to be given back with process_put(). NULL: there is none. */
struct process *session_first(struct session *s);

/*
 * session_members() - all, in the order in which they came, each to be given back with
 * process_put(). @out: set to the array, freed by the caller. Return: how many.
 */
unsigned int session_members(struct session *s, struct process ***out);

/*
 * session_look() - find those that have come, or come and ended, since the last look; without @now not if
 * that was a few milliseconds ago.
 */
void session_look(struct session *s, bool now);

/*
 * session_claim() - become the one who reads a CPU's trace_pipe, UINT32_MAX: all of them. Members that
 * come later are found without being asked for from now on.
 * Return: 0 or -EBUSY. To be given back with session_unclaim().
 * session_raw_opened(), session_raw_closed() - the same of trace_pipe_raw, which several may have.
 */
int session_claim(struct session *s, unsigned int cpu);
void session_unclaim(struct session *s, unsigned int cpu);
void session_raw_opened(struct session *s);
void session_raw_closed(struct session *s);
bool session_has_pipes(struct session *s);

/* The server ends: what members find of it when they start goes. */
void sessions_end(void);

/*
 * session_write() - one write to each member that lives, and kept for those to come. A mark goes to
 * one member: that of thread @tid, which writes, or else the first that lives.
 * Return: 0 or -errno, of the first that refused it.
 */
int session_write(struct session *s, const char *path, const char *text, size_t n, bool truncate,
		  int tid);

/*
 * session_mkdir(), session_rmdir() - make or remove an instance in each member that lives, and in those
 * to come. Return: 0 or -errno: EEXIST, ENOENT all have it, or none has; EBUSY files of it are open.
 */
int session_mkdir(struct session *s, const char *instance);
int session_rmdir(struct session *s, const char *instance);

/* A file of it was opened, or closed. */
void session_opened(struct session *s, int change);

/*
 * session_print() - what a file of the session reads as: the union of the members' lists, the sum of
 * their counts, and of all others what the first member says. Not trace. Return: 0 or -errno.
 */
int session_print(struct session *s, const char *path, struct out *o);

#endif
