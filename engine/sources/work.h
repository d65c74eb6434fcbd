/* SPDX-License-Identifier: MIT */
/*
 * Work that threads do for others: items that are put into pools, and executed. Pools are the
 * program's own (vestige/workqueue.h), libuv's (uv_queue_work()) and GLib's (g_thread_pool_push()).
 */
#ifndef VESTIGE_SOURCES_WORK_H
#define VESTIGE_SOURCES_WORK_H

#include <stdint.h>

#include "engine/sources/source.h"

#define WORK_POOLS	256u
#define WORK_NAME_BYTES 48u

enum work_what { WORK_QUEUE = 1, WORK_START, WORK_END, WORK_CANCEL };

struct work {
	enum work_what what;
	uint32_t pool;
	/* WORK_START: ns since it was queued; UINT64_MAX: not known. */
	uint64_t waited_ns;
};

struct work_listener {
	struct source_link link;
	void (*call)(const struct work *w);
};
/* Its want() may fail with -ENOMEM. */
extern struct source works;

/* The @i-th pool: its name (GLib's have "") and its function. Return: 1; 0: there is none. */
int work_pool(uint32_t i, const char **name, uint64_t *function);

/* The number of items of pools that are not in the table, as there are more than WORK_POOLS. */
uint64_t work_unknown(void);

/* The functions of vestige/workqueue.h. Any context. Return: 0; -EINVAL. */
int work_say(int what, const char *pool, const void *item);

/*
 * For wrappers that see pools. work_pool_of() - the pool with that name, or with that function;
 * WORK_POOLS: there is no room. work_queue() - keep an item with its function until work_take().
 * @only: there is no other item at that address. Return: 1; 0: there is no room. Any context.
 */
uint32_t work_pool_of(const char *name, uint64_t function);
int work_queue(uint32_t pool, const void *item, uint64_t function, int only);

struct work_taken {
	uint64_t function, waited_ns;
};
/* Take the item that was queued first. Return: whether there was one. */
int work_take(uint32_t pool, const void *item, struct work_taken *taken);

/* Call the listeners. Any context. */
void work_report(enum work_what what, uint32_t pool, uint64_t waited_ns);

/* Switch the wrappers of work_pools.c. Return: 0 or -errno. */
int work_pools_want(int on);

#endif
