/* SPDX-License-Identifier: MIT */
/*
 * Passes dlopen() and dlclose() on to all parts that keep a list of objects. Runs in the thread
 * that loads, under the loader's lock, before new code is relocated or run. fork: the child has the
 * same objects. Tests: tests/engine/fire/dlopen, loader_lock.
 */
#include <link.h>

#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/control/tree.h"
#include "engine/events/object_items.h"
#include "engine/process/area.h"
#include "engine/process/libc.h"
#include "engine/core/function.h"
#include "engine/core/trace_array.h"
#include "engine/events/tracepoint/tracepoint_api.h"
#include "engine/hook/loader.h"

/*
 * An object is being unloaded, see loader_follow(). No other thread writes to it while it is
 * unmapped: the loader's lock is held, so one thread does this at a time. fork() waits for the tree
 * lock.
 */
static int removing;

static void objects_going(void)
{
	if (!area || !area_is_own() || removing)
		return;
	removing = !tree_lock_take();
}

static void follow_objects(void)
{
	objects_follow();
	tree_mirror(&global_trace);
}

/*
 * dl_iterate_phdr() has a lock of the loader's for which a thread in dlopen() or dlclose() may wait
 * while it has the tree lock. So this wait is short; if it is in vain, the work stays due.
 */
static int follow_inside(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)info;
	(void)bytes;
	(void)arg;
	if (!tree_lock_try(TREE_SOON_NS))
		return 1;
	tree_settle_later(NULL);
	objects_follow_elsewhere();
	tree_mirror(&global_trace);
	tree_lock_release();
	return 1;
}

/* Catch up on objects that threads without system calls have loaded or unloaded. */
static void follow_later(void)
{
	dl_iterate_phdr(follow_inside, NULL);
}

static void objects_changed(void)
{
	if (!area || !area_is_own())
		return;
	if (!removing && tree_lock_take())
		return;
	removing = 0;
	if (sys_is_forbidden())
		tree_settle_later(follow_later);
	else
		follow_objects();
	tree_lock_release();
}

/*
 * An object with tracepoints reports that it is relocated. Where dlopen() is not seen, the object
 * is new.
 */
static void object_ready(const void *address)
{
	int known;

	if (!area || sys_is_forbidden() || !area_is_own() || tree_lock_take())
		return;
	known = object_items_ready(address);
	if (known < 0) {
		functions_update();
		known = object_items_ready(address);
	}
	if (known)
		tree_mirror(&global_trace);
	tree_lock_release();
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	tracepoint_api_on_ready(object_ready);
	if (!libc_is_static && loader_follow(objects_going, objects_changed))
		area_status("objects that dlopen() loads are not traced", NULL, 0);
	/* VESTIGE_BOOT may have had one loaded: libgcc, for unwinding */
	if (!libc_is_static && area && !tree_lock_take()) {
		objects_follow_relocated();
		tree_lock_release();
	}
}

LIFECYCLE(LIFECYCLE_LIVE, start, NULL, NULL);
