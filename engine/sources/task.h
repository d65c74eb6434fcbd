/* SPDX-License-Identifier: MIT */
/* What records of sched say of a thread beside its id. */
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
 * sched_task_find() - a thread of any process as it is now, or was when it was last seen. @now_ns:
 * CLOCK_MONOTONIC; data older than a tenth of a second is read again. Under the tree lock.
 */
const struct sched_task *sched_task_find(int tid, uint64_t now_ns);

/*
 * Copy the known name of a thread of this process to @comm, 16 bytes; `<...>`: it is not known. Any
 * context.
 */
void sched_task_comm(int tid, char *comm);

/*
 * The calling thread's id, name and priority. A thread under a seccomp filter makes no system call
 * for it, as that may end the thread: an unknown id is then 0, the priority 120. Any context.
 */
int sched_task_own_tid(void);
void sched_task_own(char *comm, int32_t *prio);

#endif
