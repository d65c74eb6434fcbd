/* SPDX-License-Identifier: MIT */
/*
 * The inside door to callbacks: struct ftrace_ops of vestige.h and core/ops.h's half of it. Any
 * thread, not signal handlers. Tests: tests/engine/fire/ops.
 */
#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/control/inside.h"
#include "engine/control/tree.h"
#include "engine/core/area.h"
#include "engine/core/ops.h"
#include "engine/hook/graph.h"

/* vestige.h's names for what ops.h has: that header and core's share the name ftrace_ops. */
struct program_ops {
	ops_func *func;
};

static int locked(int (*action)(struct program_ops *ops), struct program_ops *ops)
{
	int err;

	if (!ops)
		return -EINVAL;
	if (!area)
		return -ENODEV;
	tree_lock_take();
	err = action(ops);
	tree_lock_release();
	return err;
}

static int do_register(struct program_ops *ops)
{
	struct ops *o = ops->func ? ops_get(ops) : NULL;

	if (!ops->func)
		return -EINVAL;
	return o ? ops_register(o, ops->func) : -ENOSPC;
}

static int do_unregister(struct program_ops *ops)
{
	struct ops *o = ops_find(ops);
	int err = o ? ops_unregister(o) : -EBUSY;

	if (!err)
		ops_put(o);
	return err;
}

int inside_ops_register(struct ftrace_ops *ops)
{
	return locked(do_register, (struct program_ops *)ops);
}

int inside_ops_unregister(struct ftrace_ops *ops)
{
	return locked(do_unregister, (struct program_ops *)ops);
}

int inside_ops_set_filter(struct ftrace_ops *ops, const char *buf, size_t bytes, int reset,
			  int notrace)
{
	struct ops *o;
	int err;

	if (!ops)
		return -EINVAL;
	if (!area)
		return -ENODEV;
	tree_lock_take();
	o = ops_get(ops);
	err = o ? ops_set_filter(o, buf, buf ? bytes : 0, reset, notrace) : -ENOSPC;
	tree_lock_release();
	return err;
}

void *inside_return_address(void *slot)
{
	uint64_t at = (uint64_t)slot, addr = *(uint64_t *)slot;

	return (void *)(graph_is_stub(addr) ? graph_shadow(at)->return_address : addr);
}
