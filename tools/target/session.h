/* SPDX-License-Identifier: MIT */
/*
 * A session as a target: a process and all processes that it starts, with one tag
 * (VESTIGE_SESSION). It has one set of files. Writes go to every member, and to members that come
 * later. Reads combine the members' texts: see session_print().
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
	struct process **members; /* in the order in which they came; roll has the references */
	unsigned int nr_members, room;
	unsigned int first; /* members before this one have ended */
	struct writes writes;
	struct session_file file;	  /* with the writes */
	bool watched;			  /* session_watch() */
	struct pipe_readers pipe_readers; /* made with the first member */
	unsigned int nr_open;		  /* files */
	uint64_t looked_ns;		  /* time of the last look for members */
	uint64_t idle_ns; /* time of the last session_put(); under the table's lock */
};

/*
 * session_get() - the session of that name.
 * @instance: NULL; or an instance, which is like a session of its own: its members are those that
 * have this instance.
 * Return: it, to be released with session_put(); NULL with *@err and fail() set: ENOENT: it has no
 * members.
 */
struct session *session_get(const char *name, const char *instance, int *err);
void session_put(struct session *s);

/*
 * session_members() - all members, in the order in which they came, each to be released with
 * process_put(). @out: gets the array, freed by the caller. Return: how many.
 */
unsigned int session_members(struct session *s, struct process ***out);

/*
 * session_look() - find members that have started, and perhaps ended, since the last look. If that
 * was only a few milliseconds ago, it looks again only with @now.
 */
void session_look(struct session *s, bool now);

/*
 * The time (CLOCK_MONOTONIC, ns) at which the last look for members began. All members that existed
 * then are known.
 */
uint64_t session_looked(struct session *s);

/* A member whose files represent all; release it with process_put(). NULL: there is none. */
struct process *session_first(struct session *s);

/*
 * session_print() - the contents of a file of the session: the union of the members' lists, the sum
 * of their counts, and for all other files the first member's text. Not trace. Return: 0 or -errno.
 */
int session_print(struct session *s, const char *path, struct out *o);

/* The caller of the next functions holds the session's lock. */

/* Find new members, and remove members whose areas are gone. */
void session_refresh(struct session *s);

/* Show the writes to processes that start from now on. */
void session_show_writes(struct session *s);

/* One write in one member, translated for it (meaning.h). Return: as image_write(). */
int session_carry_out(struct process *p, struct written *w);

/* @p has carried out the writes up to @until_ns; children that it forks inherit their effect. */
void session_set_done(const struct process *p, uint64_t until_ns);

/* Look for new members every few milliseconds from now on, until there are none left. */
void session_watch(struct session *s);

/* As targets_serve(). */
void sessions_serve(bool on);

extern const struct target_ops session_ops;

#endif
