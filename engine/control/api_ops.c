/* SPDX-License-Identifier: MIT */
/*
 * Callbacks of the program: for each struct ftrace_ops of vestige.h there is a struct call_ops with
 * filters here. Any thread, not in signal handlers. fork: the child has the same callbacks. Tests:
 * tests/engine/fire/ops.
 */
#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/control/api.h"
#include "engine/control/tree.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/hook/graph/graph.h"

/* The fields of vestige.h's struct ftrace_ops that are read here. */
struct program_ops {
	ops_func *func;
};

static struct callback {
	struct call_ops ops; /* its arg: the program's structure; NULL: the row is free */
	struct function_set filter, notrace;
} callbacks[64] BIG_ZEROS;

static struct callback *find(void *program)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(callbacks); i++)
		if (callbacks[i].ops.arg == program)
			return &callbacks[i];
	return NULL;
}

/* The program's row, or a new one; NULL: all are taken. */
static struct callback *get(void *program)
{
	struct callback *c = find(program);

	if (c)
		return c;
	c = find(NULL);
	if (c)
		c->ops = (struct call_ops){
			.kind = OPS_CALLBACK,
			.how = OPS_C | OPS_SAVE_ALL,
			.filter = &c->filter,
			.notrace = &c->notrace,
			.arg = program,
		};
	return c;
}

static int locked(int (*action)(struct program_ops *ops), struct program_ops *ops)
{
	int err;

	if (!ops)
		return -EINVAL;
	err = tree_enter();
	if (err)
		return err;
	err = action(ops);
	tree_lock_release();
	return err;
}

static int do_register(struct program_ops *ops)
{
	struct callback *c = ops->func ? get(ops) : NULL;

	if (!ops->func)
		return -EINVAL;
	if (!c)
		return -ENOSPC;
	if (c->ops.is_on || c->ops.is_leaving)
		return -EBUSY;
	c->ops.func = ops->func;
	return ftrace_register(&c->ops);
}

/* Unregister; the filter is emptied, too. */
static int do_unregister(struct program_ops *ops)
{
	struct callback *c = find(ops);
	int err = c ? ftrace_unregister(&c->ops) : -EBUSY;

	if (err)
		return err;
	function_set_clear(&c->filter);
	function_set_clear(&c->notrace);
	c->ops.arg = NULL;
	return 0;
}

int inside_ops_register(struct ftrace_ops *ops)
{
	return locked(do_register, (struct program_ops *)ops);
}

#define PATIENCE 10 /* seconds in which a callback should end */

int inside_ops_unregister(struct ftrace_ops *ops)
{
	int err = locked(do_unregister, (struct program_ops *)ops), i;

	if (err != -ETIMEDOUT)
		return err;
	/* it is off: other threads may take the tree lock until its last callbacks have returned */
	for (i = 1; i < PATIENCE && synchronize_srcu(SRCU_OPS) == -ETIMEDOUT; i++)
		;
	return locked(do_unregister, (struct program_ops *)ops);
}

static int set_filter(struct callback *c, const char *text, size_t n, int reset, int notrace)
{
	struct function_set *set = notrace ? &c->notrace : &c->filter;
	int err, changed;

	if (ops_is_inside())
		return -EDEADLK;
	err = function_set_apply_words(set, text, n, reset);
	changed = c->ops.is_on ? ftrace_register(&c->ops) : 0;
	return err ? err : changed;
}

int inside_ops_set_filter(struct ftrace_ops *ops, const char *buf, size_t bytes, int reset,
			  int notrace)
{
	struct callback *c;
	int err;

	if (!ops)
		return -EINVAL;
	err = tree_enter();
	if (err)
		return err;
	c = get(ops);
	err = c ? set_filter(c, buf, buf ? bytes : 0, reset, notrace) : -ENOSPC;
	tree_lock_release();
	return err;
}

void *inside_return_address(void *slot)
{
	uint64_t at = (uint64_t)slot, addr = *(uint64_t *)slot;

	return (void *)(graph_is_stub(addr) ? graph_shadow(at)->return_address : addr);
}
