/* SPDX-License-Identifier: MIT */
/*
 * Live traces of libvestige-trace: turns of area/follow.h, consuming, as trace_pipe does. The
 * traced program wakes no reader, so its area is polled. Tests: tests/cli/test_script.py.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/runs.h"
#include "tools/api/trace_impl.h"
#include "tools/area/follow.h"
#include "tools/base/fail.h"
#include "tools/base/time_ns.h"
#include "tools/code/symbols.h"
#include "tools/target/image.h"
#include "tools/text/value_text.h"

#define FIRST_WAIT_MS 1
#define LAST_WAIT_MS  20

int trace_live_open(struct vestige_trace *t, int pid)
{
	struct image image, *kept;
	struct followed what;
	int err;

	if (pid < 0)
		return fail(EINVAL, "no process has the number %d", pid);
	err = image_open(&image, pid);
	if (err)
		return err;
	kept = malloc(sizeof(*kept));
	if (!kept) {
		image_close(&image);
		return fail(ENOMEM, "out of memory");
	}
	*kept = image;
	t->image = kept;
	t->v.path = strdup(kept->path);
	if (!t->v.path)
		return fail(ENOMEM, "out of memory");
	what = image_followed(kept);
	err = follow_open(&what, true, &t->follow);
	if (!err)
		err = view_use(&t->v, follow_reader(t->follow));
	if (err)
		return err;
	t->v.nr_of_cpu = calloc(t->v.r->nr_cpus + 1, sizeof(*t->v.nr_of_cpu));
	return t->v.nr_of_cpu ? 0 : fail(ENOMEM, "out of memory");
}

void trace_live_close(struct vestige_trace *t)
{
	if (t->follow) {
		t->v.r = NULL; /* the follower owns it */
		follow_close(t->follow);
	}
	if (t->image)
		image_close(t->image);
	free(t->image);
	free(t->v.nr_of_cpu);
	t->follow = NULL;
	t->image = NULL;
	t->v.nr_of_cpu = NULL;
}

/* The reader was replaced: make again all that borrowed from the old one. Open calls are kept. */
static int renew(struct vestige_trace *t)
{
	struct reader *r = follow_reader(t->follow);
	char why[512];

	snprintf(why, sizeof(why), "%s", fail_text());
	trace_text_forget(t);
	memset(t->wanted, 0, sizeof(t->wanted));
	call_filter_free(t->v.filter);
	value_text_free(t->v.values);
	t->v.filter = NULL;
	t->v.values = NULL;
	t->v.r = r;
	/* no calls before the first step */
	if (t->v.walk.calls)
		calls_use(t->v.walk.calls, r);
	if (!r)
		return fail(EIO, "the tables of the process cannot be read any more: %s", why);
	runs_go_on(t->v.walk.runs, r);
	return view_use(&t->v, r);
}

/* Consume the records that the caller got. */
static void take(struct vestige_trace *t)
{
	for (unsigned int cpu = 0; cpu < t->v.r->nr_cpus; cpu++) {
		if (t->v.nr_of_cpu[cpu])
			follow_take(t->follow, cpu, t->v.nr_of_cpu[cpu]);
		t->v.nr_of_cpu[cpu] = 0;
	}
}

/* Wait before the next look. Return: 0; -errno with fail() set: ETIMEDOUT; EINTR: a signal came. */
static int wait_a_little(const struct vestige_trace *t, uint64_t begin_ns, int *wait_ms)
{
	int ms = *wait_ms;

	if (t->timeout_ms >= 0) {
		uint64_t spent_ms = (time_ns(CLOCK_MONOTONIC) - begin_ns) / 1000000;

		if (spent_ms >= (uint64_t)t->timeout_ms)
			return fail(ETIMEDOUT, "no record came within %d ms", t->timeout_ms);
		if ((uint64_t)t->timeout_ms - spent_ms < (uint64_t)ms)
			ms = (int)((uint64_t)t->timeout_ms - spent_ms);
	}
	if (poll(NULL, 0, ms) < 0 && errno == EINTR)
		return fail(EINTR, "interrupted");
	*wait_ms = *wait_ms * 2 < LAST_WAIT_MS ? *wait_ms * 2 : LAST_WAIT_MS;
	return 0;
}

/* Has the follower replaced its reader? */
static bool is_renewed(const struct vestige_trace *t, bool renewed)
{
	return renewed || follow_reader(t->follow) != t->v.r;
}

int trace_live_turn(struct vestige_trace *t)
{
	uint64_t begin_ns = time_ns(CLOCK_MONOTONIC);
	/* the last turn gave no record, although there may have been pages */
	bool idle = t->v.nr_records == t->nr_before;
	int wait_ms = FIRST_WAIT_MS;

	take(t);
	t->nr_before = t->v.nr_records;
	if (idle && t->was_over)
		return 0;
	for (;;) {
		/* asked before the turn, so that this turn has all records up to the end */
		bool over = !follow_lives(t->follow), renewed = false;
		int ret = idle && !over ? wait_a_little(t, begin_ns, &wait_ms) : 0;

		t->was_over = over;
		if (!ret && (over || follow_any(t->follow, NULL)))
			ret = follow_look(t->follow, NULL, 0, &renewed);
		if (ret < 0 && follow_reader(t->follow) == t->v.r && !renewed)
			return ret;
		if (is_renewed(t, renewed)) {
			int err = renew(t);

			if (err)
				return err;
		}
		if (ret > 0)
			runs_go_on(t->v.walk.runs, t->v.r);
		if (ret)
			return ret;
		if (over)
			return 0;
		idle = true;
	}
}
