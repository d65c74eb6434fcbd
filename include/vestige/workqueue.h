/* SPDX-License-Identifier: MIT */
/*
 * For the tracer `workqueue`: a program's own thread pool reports when an item of work is queued,
 * and when a thread of the pool begins and ends the item.
 *
 *	vestige_work_queue("mail", job);	... push(queue, job)
 *	job = pop(queue); vestige_work_start("mail", job); run(job); vestige_work_end("mail", job);
 *
 * trace_stat/workqueues then shows the items of each pool, the threads that executed them, and
 * their waiting times. The program links nothing. Without libvestige, and while the tracer is not
 * current, a call costs a load and a test. Pools of libuv and GLib need no such calls.
 *
 * Parameters of all functions:
 * @pool: name of the pool; the first 47 bytes count.
 * @item: an address or number, not 0. No other item of the pool has it at the same time.
 *
 * Any thread and any signal handler. An item is only counted, and its waiting time is not known, if
 * it was queued before the tracer was on, or while 65,536 other items waited.
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

/** vestige_work_start() - the calling thread is about to execute the item. */
static inline void vestige_work_start(const char *pool, const void *item)
{
	vestige_work_call_(VESTIGE_WORK_START_, pool, item);
}

/** vestige_work_end() - the calling thread has executed the item. */
static inline void vestige_work_end(const char *pool, const void *item)
{
	vestige_work_call_(VESTIGE_WORK_END_, pool, item);
}

/** vestige_work_cancel() - the item was taken out of the queue and will not be executed. */
static inline void vestige_work_cancel(const char *pool, const void *item)
{
	vestige_work_call_(VESTIGE_WORK_CANCEL_, pool, item);
}

#ifdef __cplusplus
}
#endif

#endif
