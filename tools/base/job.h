/* SPDX-License-Identifier: MIT */
/*
 * Jobs that a second thread does for the thread that needs their results later. The second thread
 * does them in the order of job_begin(). The first thread does a job itself if it needs the result
 * of a job that has not begun. A process that fork()s may not use its jobs in the child.
 * Costs one lock for each call. Tests: tests/unit/test_job.c.
 */
#ifndef VESTIGE_TOOLS_JOB_H
#define VESTIGE_TOOLS_JOB_H

#include <stdbool.h>

struct job_thread;

struct job {
	/*
	 * The work. It uses nothing that the owner may change before job_finish(). Return: 0 or
	 * more; -errno with fail() set.
	 */
	int (*run)(void *arg);
	void *arg;
	/* internal, all zero at first */
	bool begun; /* the owner's */
	enum { JOB_WAITS, JOB_RUNS, JOB_DONE } state;
	int ret;
	char *why; /* fail()'s text of ret < 0; NULL: no memory */
	struct job *next;
};

/*
 * job_thread_new() - a thread that is started with the first job; freed with job_thread_free().
 * NULL: memory is short. If the thread cannot be started, or the process may use one CPU only, the
 * owner does all jobs in job_finish().
 */
struct job_thread *job_thread_new(void);

/* End the thread; each job that was begun is finished or dropped. NULL: does nothing. */
void job_thread_free(struct job_thread *t);

/* Let the thread do @j, which is not begun. It is borrowed until job_finish(). */
void job_begin(struct job_thread *t, struct job *j);

/* Is @j begun and not finished? */
static inline bool job_is_begun(const struct job *j)
{
	return j->begun;
}

/*
 * job_finish() - wait until @j, which is begun, is done; do it if it has not been started.
 * Return: as run(), with fail() set in this thread.
 */
int job_finish(struct job_thread *t, struct job *j);

/* As job_finish(), but a job that was not started is not done, and the result is dropped. */
void job_drop(struct job_thread *t, struct job *j);

#endif
