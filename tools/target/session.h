/* SPDX-License-Identifier: MIT */
/*
 * A session as a target: a process and all that it starts, tagged alike (VESTIGE_SESSION). One set
 * of files for all: writes go to every member, and to members that come later; reads combine the
 * members' texts as session_print() says.
 */
#ifndef VESTIGE_TOOLS_SESSION_H
#define VESTIGE_TOOLS_SESSION_H

#include "tools/target/process.h"
#include "tools/target/session_file.h"
#include "tools/target/session_members.h"
#include "tools/target/writes.h"
#include "tools/text/out.h"

#define MAX_SESSIONS 1024u

struct session {
	struct target target; /* its name is the session's */
	struct session *next;
	unsigned int refs;    /* under the table's lock */
	char instance[64];    /* of its members; "": the members themselves */
	pthread_mutex_t lock; /* of what follows */
	struct session_members roll;
	struct process **members; /* in the order in which they came; references are the roll's */
	unsigned int nr_members, room;
	unsigned int first; /* those before it have ended */
	struct writes writes;
	struct session_file file;	  /* of them */
	bool watched;			  /* session_watch() */
	struct pipe_readers pipe_readers; /* made with the first member */
	unsigned int nr_open;		  /* files */
	uint64_t looked_ns;		  /* when members were looked for last */
	uint64_t idle_ns;		  /* when it was given back last; under the table's lock */
};

/*
 * session_get() - the session of that name.
 * @instance: NULL; or that instance of its members, which is as a session of its own: those that
 * have it are its members.
 * Return: it, to be given back with session_put(); NULL with *@err and fail() set: ENOENT it has no
 * members.
 */
struct session *session_get(const char *name, const char *instance, int *err);
void session_put(struct session *s);

/*
 * session_members() - all, in the order in which they came, each to be given back with
 * process_put(). @out: set to the array, freed by the caller. Return: how many.
 */
unsigned int session_members(struct session *s, struct process ***out);

/*
 * session_look() - find members that have come, or come and ended, since the last look; without
 * @now not if that was a few milliseconds ago.
 */
void session_look(struct session *s, bool now);

/* When the last look for members began, by CLOCK_MONOTONIC: all that were there then are known. */
uint64_t session_looked(struct session *s);

/* A member whose files represent all; release it with process_put(). NULL: there is none. */
struct process *session_first(struct session *s);

/*
 * session_print() - the contents of a file of the session: the union of the members' lists, the sum
 * of their counts, and for all other files the first member's text. Not trace. Return: 0 or -errno.
 */
int session_print(struct session *s, const char *path, struct out *o);

/* Its lock is held: */

/* Find new members, let those go whose areas are gone. */
void session_refresh(struct session *s);

/* Show the writes to processes that start from now on. */
void session_show_writes(struct session *s);

/* One write in one member, in its meaning there. Return: as image_write(). */
int session_carry_out(struct process *p, struct written *w);

/* It has carried out the writes up to then, and its fork's children have them from it. */
void session_set_done(const struct process *p, uint64_t until_ns);

/* Look for new members every few milliseconds from now on, until there are none left. */
void session_watch(struct session *s);

/* As targets_serve(). */
void sessions_serve(bool on);

extern const struct target_ops session_ops;

#endif
