/* SPDX-License-Identifier: MIT */
/*
 * A program's own pool of threads, for the tracer `workqueue`: the pool says when it gets an item
 * of work, and when one of its threads begins and ends it.
 *
 *	vestige_work_queue("mail", job);	... push(queue, job)
 *	job = pop(queue); vestige_work_start("mail", job); run(job); vestige_work_end("mail", job);
 *
 * trace_stat/workqueues then has the items of each pool, the threads that executed them, and their
 * waiting times. Nothing has to be linked; without libvestige, and while the tracer is not current,
 * a call is a load and a test. Pools of libuv and GLib are seen as they are.
 *
 * @pool: its name; up to 47 bytes count. @item: any address or number but 0 that no other item of
 * the pool has meanwhile. Any thread and signal handler. The waiting time is not known for an item
 * that was queued before the tracer was on, or when 65,536 others waited; such an item is only
 * counted.
 */
#ifndef VESTIGE_WORKQUEUE_H
#define VESTIGE_WORKQUEUE_H

#include <vestige/vestige.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For the table of functions. Not to be used directly. */
enum vestige_work_ {
	VESTIGE_WORK_QUEUE_ = 1,
	VESTIGE_WORK_START_ = 2,
	VESTIGE_WORK_END_ = 3,
	VESTIGE_WORK_CANCEL_ = 4,
};

static inline void vestige_work_call_(enum vestige_work_ what, const char *pool, const void *item)
{
	if (vestige_call_(work))
		vestige_call_(work)(what, pool, item);
}

/** vestige_work_queue() - the item is about to be put into the pool's queue. */
static inline void vestige_work_queue(const char *pool, const void *item)
{
	vestige_work_call_(VESTIGE_WORK_QUEUE_, pool, item);
}

/** vestige_work_start() - the calling thread is about to do it. */
static inline void vestige_work_start(const char *pool, const void *item)
{
	vestige_work_call_(VESTIGE_WORK_START_, pool, item);
}

/** vestige_work_end() - the calling thread has done it. */
static inline void vestige_work_end(const char *pool, const void *item)
{
	vestige_work_call_(VESTIGE_WORK_END_, pool, item);
}

/** vestige_work_cancel() - it was taken out of the queue, and will not be done. */
static inline void vestige_work_cancel(const char *pool, const void *item)
{
	vestige_work_call_(VESTIGE_WORK_CANCEL_, pool, item);
}

#ifdef __cplusplus
}
#endif

#endif
