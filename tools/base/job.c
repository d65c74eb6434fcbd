/* SPDX-License-Identifier: MIT */
#include "tools/base/job.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/signals.h"
#include "tools/base/two_cpus.h"

struct job_thread {
	pthread_t thread;
	bool tried, running, end;
	pthread_mutex_t lock;
	pthread_cond_t more, done; /* a job waits, or the end; a job is done */
	struct job *first, **last; /* those that wait */
};

struct job_thread *job_thread_new(void)
{
	struct job_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->last = &t->first;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->more, NULL);
	pthread_cond_init(&t->done, NULL);
	return t;
}

static void run(struct job *j)
{
	j->ret = j->run(j->arg);
	j->why = j->ret < 0 ? strdup(fail_text()) : NULL;
}

static void *work(void *arg)
{
	struct job_thread *t = arg;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		struct job *j = t->first;

		if (j) {
			t->first = j->next;
			t->last = t->first ? t->last : &t->first;
			j->state = JOB_RUNS;
			pthread_mutex_unlock(&t->lock);
			run(j);
			pthread_mutex_lock(&t->lock);
			j->state = JOB_DONE;
			pthread_cond_signal(&t->done);
		} else if (t->end) {
			break;
		} else {
			pthread_cond_wait(&t->more, &t->lock);
		}
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void job_thread_free(struct job_thread *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->end = true;
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->lock);
	if (t->running)
		pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->done);
	pthread_cond_destroy(&t->more);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void job_begin(struct job_thread *t, struct job *j)
{
	if (!t->tried) {
		t->tried = true;
		t->running = has_two_cpus() && !thread_without_signals(&t->thread, work, t);
	}
	j->next = NULL;
	j->begun = true;
	pthread_mutex_lock(&t->lock);
	j->state = JOB_WAITS;
	*t->last = j;
	t->last = &j->next;
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->lock);
}

/* Take a job that waits out of the list. With the lock held. */
static void take_back(struct job_thread *t, struct job *j)
{
	struct job **at = &t->first;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	if (t->last == &j->next)
		t->last = at;
}

/* Wait while @j runs; take it back if it waits. */
static void claim(struct job_thread *t, struct job *j)
{
	pthread_mutex_lock(&t->lock);
	while (j->state == JOB_RUNS)
		pthread_cond_wait(&t->done, &t->lock);
	if (j->state == JOB_WAITS)
		take_back(t, j);
	pthread_mutex_unlock(&t->lock);
}

static void forget(struct job *j)
{
	free(j->why);
	j->why = NULL;
	j->begun = false;
}

void job_drop(struct job_thread *t, struct job *j)
{
	claim(t, j);
	forget(j);
}

int job_finish(struct job_thread *t, struct job *j)
{
	int ret;

	claim(t, j);
	if (j->state == JOB_WAITS)
		run(j);
	ret = j->ret;
	if (ret < 0)
		ret = fail(-ret, "%s", j->why ? j->why : "out of memory");
	forget(j);
	return ret;
}
