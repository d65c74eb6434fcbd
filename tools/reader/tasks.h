/* SPDX-License-Identifier: MIT */
/* Names of threads: pid to comm, the table behind saved_cmdlines. */
#ifndef VESTIGE_TOOLS_TASKS_H
#define VESTIGE_TOOLS_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_COMM_BYTES 16

struct task {
	int32_t pid;
	int32_t tgid; /* 0 unknown */
	bool traced; /* of a traced process; other threads only appear in records, such as wakers */
	char comm[TASK_COMM_BYTES];
};

struct tasks;

/* An empty table; NULL and errno if memory is short. Freed with tasks_free(). */
struct tasks *tasks_new(void);
void tasks_free(struct tasks *t);

/*
 * tasks_set() - name a thread; the last name given wins.
 * @comm: cut to 15 bytes; control characters become '?'.
 * Return: 0 or -ENOMEM.
 */
int tasks_set(struct tasks *t, int32_t pid, int32_t tgid, const char *comm);

/* Mark a thread as one of the traced process @tgid. Return: 0 or -ENOMEM. */
int tasks_trace(struct tasks *t, int32_t pid, int32_t tgid);

/* The thread's name; "<idle>" for 0, "<...>" if it is not known. Borrowed. */
const char *tasks_comm(const struct tasks *t, int32_t pid);

/* Whether the thread's name is known. */
bool tasks_has_comm(const struct tasks *t, int32_t pid);

/* The thread's process; 0 if it is not known. */
int32_t tasks_tgid(const struct tasks *t, int32_t pid);

/* Whether a thread is of a traced process; true for all threads if the source has no such data. */
bool tasks_traced(const struct tasks *t, int32_t pid);

/* How many there are, and the i-th in order of pid. */
size_t tasks_count(const struct tasks *t);
const struct task *tasks_at(const struct tasks *t, size_t i);

#endif
