/* SPDX-License-Identifier: MIT */
/*
 * The pools of libuv and GLib (work.h). uv_queue_work() gets a function of ours in place of the
 * program's, which is kept with the item. A GLib pool gets code of ours, with a number, in place of
 * its function. That happens at the first g_thread_pool_push() that is seen, and stays: the code
 * also executes items that were queued before. It always calls the pool's own function, even if
 * there is no listener.
 *
 * A pool that ends leaves its number to the next pool at the same address. Not seen: work that
 * libuv and GLib give to their pools themselves, pools without a number (there are PER_PAGE
 * numbers), static programs. fork: the child has the same. Tests: tests/engine/tracers/workqueue.
 */
#include <errno.h>

#include "arch_barrier.h"
#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/interpose.h"
#include "engine/core/text_patch.h"
#include "engine/sources/work.h"

#define PAGE	 4096u
#define PER_PAGE ((PAGE - 8u) / ARCH_NUMBERED_BYTES)

typedef void uv_work(void *req);
typedef void uv_after_work(void *req, int status);
typedef void g_func(void *data, void *user_data);

/* The beginning of GLib's struct GThreadPool, which is public. */
struct g_pool {
	g_func *func;
};

static struct {
	struct g_pool *pool; /* NULL: a free row */
	g_func *func;	     /* the pool's own function */
	uint32_t name;
} g_pools[PER_PAGE] BIG_ZEROS;
static uint8_t *code;
static uint32_t uv_pool;

enum { UV_QUEUE, UV_CANCEL, G_PUSH };
static struct interposed calls[];

static void uv_executes(void *req)
{
	struct work_taken taken;

	/* it is always there: it is put into the table before it is queued */
	if (!work_take(uv_pool, req, &taken))
		return;
	work_report(WORK_START, uv_pool, taken.waited_ns);
	((uv_work *)taken.function)(req);
	work_report(WORK_END, uv_pool, 0);
}

static int wrap_uv_queue(void *loop, void *req, uv_work *work, uv_after_work *after)
{
	int (*real)(void *, void *, uv_work *, uv_after_work *) = calls[UV_QUEUE].real;
	struct work_taken taken;
	int ret;

	if (interpose_muted() || !work || !load_acquire(&works.first) || uv_pool == WORK_POOLS ||
	    !work_queue(uv_pool, req, (uint64_t)work, 1))
		return real(loop, req, work, after);
	work_report(WORK_QUEUE, uv_pool, 0);
	ret = real(loop, req, uv_executes, after);
	if (ret && work_take(uv_pool, req, &taken))
		work_report(WORK_CANCEL, uv_pool, 0);
	return ret;
}

static int wrap_uv_cancel(void *req)
{
	int ret = INTERPOSE_REAL(calls[UV_CANCEL], int(void *))(req);
	struct work_taken taken;

	/* requests of other kinds are not in the table */
	if (!ret && work_take(uv_pool, req, &taken))
		work_report(WORK_CANCEL, uv_pool, 0);
	return ret;
}

/* Called by the numbered code. */
static void g_executes(void *data, void *user_data, void *unused, uint32_t number)
{
	g_func *func = load_acquire(&g_pools[number].func);
	struct work_taken taken = {0, UINT64_MAX};
	uint32_t name = g_pools[number].name;

	(void)unused;
	if (load_acquire(&works.first)) {
		work_take(name, data, &taken);
		work_report(WORK_START, name, taken.waited_ns);
	}
	func(data, user_data);
	work_report(WORK_END, name, 0);
}

static g_func *stub_of(uint32_t number)
{
	return (g_func *)(uint64_t)(code + number * ARCH_NUMBERED_BYTES);
}

/* The pool's number; a new pool gets one for ever. */
static uint32_t number_of(struct g_pool *pool)
{
	uint32_t i;

	for (i = 0; i < PER_PAGE; i++)
		if (compare_and_store(&g_pools[i].pool, NULL, pool) ||
		    load_acquire(&g_pools[i].pool) == pool)
			return i;
	return PER_PAGE;
}

static void take_pool(struct g_pool *pool)
{
	g_func *func = load_acquire(&pool->func);
	uint32_t i;

	if ((uint64_t)func - (uint64_t)code < PAGE)
		return;
	i = number_of(pool);
	if (i == PER_PAGE)
		return;
	g_pools[i].name = work_pool_of("", (uint64_t)func);
	store_release(&g_pools[i].func, func);
	store_release(&pool->func, stub_of(i));
}

static int wrap_g_push(struct g_pool *pool, void *data, void *error)
{
	int (*real)(struct g_pool *, void *, void *) = calls[G_PUSH].real;
	uint64_t func;
	uint32_t i;

	if (interpose_muted() || !pool || !data || !load_acquire(&works.first))
		return real(pool, data, error);
	take_pool(pool);
	func = (uint64_t)load_acquire(&pool->func) - (uint64_t)code;
	i = (uint32_t)(func / ARCH_NUMBERED_BYTES);
	if (func < PAGE && g_pools[i].name < WORK_POOLS) {
		work_queue(g_pools[i].name, data, 0, 0);
		work_report(WORK_QUEUE, g_pools[i].name, 0);
	}
	return real(pool, data, error);
}

static struct interposed calls[] = {
	INTERPOSED(UV_QUEUE, "uv_queue_work", wrap_uv_queue),
	INTERPOSED(UV_CANCEL, "uv_cancel", wrap_uv_cancel),
	INTERPOSED(G_PUSH, "g_thread_pool_push", wrap_g_push),
};

static int make_code(void)
{
	const uint64_t target = (uint64_t)g_executes;
	uint8_t *at = sys_map_anon(PAGE);
	uint32_t i;

	if (!at)
		return -ENOMEM;
	memcpy(at + PAGE - sizeof(target), &target, sizeof(target));
	for (i = 0; i < PER_PAGE; i++)
		arch_make_numbered(
			at + i * ARCH_NUMBERED_BYTES, i,
			(int32_t)(PAGE - sizeof(target) - (i + 1) * ARCH_NUMBERED_BYTES));
	if (text_seal(at, PAGE)) {
		sys_munmap(at, PAGE);
		return -EACCES;
	}
	code = at;
	return 0;
}

int work_pools_want(int on)
{
	int err = code ? 0 : make_code();

	/* pools of vestige/workqueue.h are seen in a static program, too */
	if (err || !interpose_possible())
		return err;
	if (on)
		uv_pool = work_pool_of("libuv", 0);
	return interpose_switch(calls, ARRAY_SIZE(calls), on);
}
