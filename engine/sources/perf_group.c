/* SPDX-License-Identifier: MIT */
/*
 * See perf_group.h. sched_perf.c calls the user's operations, which here find the group around the
 * user. fork: the child's agent opens its own. Tests: tests/unit/test_power.c,
 * tests/engine/tracers/power, hw-branch.
 */
#include "engine/sources/perf_group.h"

#include <stddef.h>

#include "engine/process/area.h"
#include "engine/process/perf.h"
#include "engine/ring/proxy.h"

static struct perf_group *group_of(const struct perf_user *user)
{
	return (struct perf_group *)((uintptr_t)user - offsetof(struct perf_group, user));
}

static void close_all(const struct perf_user *user)
{
	uint32_t i;

	sched_perf_drain();
	for (i = 0; i < user->nr; i++)
		perf_close(user->first + i);
	ring_proxy_flush();
}

/* The agent. */
static int apply_now(struct perf_group *g)
{
	int err = 0;

	if (g->is_wanted == g->is_open)
		return 0;
	if (g->is_wanted)
		err = g->open();
	else
		close_all(&g->user);
	if (!err)
		g->is_open = g->is_wanted;
	return err;
}

static void apply(const struct perf_user *user)
{
	struct perf_group *g = group_of(user);
	int err = apply_now(g);

	if (!err)
		return;
	g->is_wanted = 0;
	area_status(g->refused, NULL, err);
}

static int wanted(const struct perf_user *user)
{
	return group_of(user)->is_wanted;
}

static int is_open(const struct perf_user *user)
{
	return group_of(user)->is_open;
}

static void forget(const struct perf_user *user)
{
	group_of(user)->is_open = 0;
}

void perf_group_add(struct perf_group *g)
{
	g->user.apply = apply;
	g->user.wanted = wanted;
	g->user.is_open = is_open;
	g->user.forget = forget;
	sched_perf_add(&g->user);
}

int perf_group_want(struct perf_group *g, int on)
{
	int ask = sched_perf_ask(), err;

	if (on && ask < 0)
		return ask;
	g->is_wanted = on;
	err = ask > 0 ? apply_now(g) : 0;
	if (err)
		g->is_wanted = 0;
	return err;
}
