/* SPDX-License-Identifier: MIT */
/* The fields about a thread, beside its number, in records of sched. */
#ifndef VESTIGE_SOURCES_TASK_H
#define VESTIGE_SOURCES_TASK_H

#include <stdint.h>

#define TASK_COMM_BYTES 16u

struct sched_task {
	int32_t tid;
	int32_t prio;
	uint64_t read_ns;
	char comm[TASK_COMM_BYTES];
};

/*
 * sched_task_find() - a thread of this or another process as it is, or was when it was last seen.
 * @now_ns: CLOCK_MONOTONIC; data older than a tenth of a second is read again. Under the tree lock.
 */
const struct sched_task *sched_task_find(int tid, uint64_t now_ns);

/* The name of a thread of this process, as it is known; `<...>`: it is not. @comm: 16 bytes. Any
 * context. */
void sched_task_comm(int tid, char *comm);

/*
 * The calling thread's id, name and priority. A thread that is under seccomp is not asked, as the
 * question may end it: the id is then 0 where it is not known, the priority 120. Any context.
 */
int sched_task_own_tid(void);
void sched_task_own(char *comm, int32_t *prio);

#endif
