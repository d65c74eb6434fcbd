/* SPDX-License-Identifier: MIT */
/*
 * set_ftrace_pid and set_ftrace_notrace_pid: the threads whose calls an instance's tracer records.
 * The ring reads the lists when a thread has no page, and an excluded thread never gets one for
 * calls (ring.h), so the path of a call tests nothing. Writes under the tree lock; threads begin
 * and end at any time. fork: the child has its parent's lists, with its own id in them if
 * function-fork says so. Costs: bench "instances". Tests: tests/engine/fire/instances.
 */
#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/core/options.h"
#include "engine/core/trace_array.h"

/* Check all ids of the text, or add them. */
static int each_pid(struct pid_list *add, const char *text, size_t n, uint32_t *count)
{
	struct word rest = {text, n}, word;
	uint64_t pid;
	int err;

	*count = 0;
	while ((word = word_take(&rest)).n) {
		if (str_to_u64(word.at, word.n, &pid) || pid >= PID_LIST_MAX)
			return -EINVAL;
		err = add ? pid_list_set(add, (uint32_t)pid) : 0;
		if (err)
			return err;
		(*count)++;
	}
	return 0;
}

const struct pid_list *trace_array_pids(const struct trace_array *tr, int notrace)
{
	return load_relaxed(notrace ? &tr->ring->no_pids : &tr->ring->pids);
}

int trace_array_set_pids(struct trace_array *tr, int notrace, const char *text, size_t n, int reset)
{
	struct pid_list *l = notrace ? &tr->no_pids : &tr->pids;
	const struct pid_list **used = notrace ? &tr->ring->no_pids : &tr->ring->pids;
	uint32_t count;
	int err;

	if (reset && *used) {
		store_release(used, NULL);
		pid_list_clear(l);
		ring_invalidate();
	}
	err = each_pid(NULL, text, n, &count);
	if (err || !count)
		return err;
	err = each_pid(l, text, n, &count);
	if (err)
		return err;
	store_release(used, l);
	ring_invalidate();
	return 0;
}

int trace_array_set_event_pids(struct trace_array *tr, int notrace, const char *text, size_t n,
			       int reset)
{
	struct pid_list *l = notrace ? &tr->event_no_pids : &tr->event_pids;
	uint32_t bit = notrace ? 2 : 1, count;
	int err;

	if (reset && tr->event_pids_set & bit) {
		store_release(&tr->event_pids_set, tr->event_pids_set & ~bit);
		pid_list_clear(l);
	}
	err = each_pid(NULL, text, n, &count);
	if (!err && count)
		err = each_pid(l, text, n, &count);
	if (!err && count)
		store_release(&tr->event_pids_set, tr->event_pids_set | bit);
	return err;
}

int trace_array_wants_events_of(const struct trace_array *tr, int tid)
{
	uint32_t set = load_acquire(&tr->event_pids_set);

	if (set & 2 && pid_list_has(&tr->event_no_pids, (uint32_t)tid))
		return 0;
	return !(set & 1) || pid_list_has(&tr->event_pids, (uint32_t)tid);
}

static int follows_forks(const struct trace_array *tr)
{
	const struct ring *r = tr ? load_relaxed(&tr->ring) : NULL;

	return r && (r->pids || r->no_pids) && option_is_on(tr, AREA_OPTION_FUNCTION_FORK);
}

static int events_follow_forks(const struct trace_array *tr)
{
	return tr && tr->event_pids_set && option_is_on(tr, AREA_OPTION_EVENT_FORK);
}

static void inherit(struct pid_list *l, int parent, int tid)
{
	if (pid_list_has(l, (uint32_t)parent))
		pid_list_set(l, (uint32_t)tid);
}

void trace_arrays_thread_start(int parent, int tid)
{
	struct srcu_thread *inside = ring_enter();
	uint32_t i;

	for (i = 0; inside && i < RING_MAX; i++) {
		struct trace_array *tr = trace_array_at(i);

		if (events_follow_forks(tr)) {
			inherit(&tr->event_pids, parent, tid);
			inherit(&tr->event_no_pids, parent, tid);
		}
		if (!follows_forks(tr))
			continue;
		inherit(&tr->pids, parent, tid);
		inherit(&tr->no_pids, parent, tid);
	}
	if (inside)
		ring_leave(inside);
}

void trace_arrays_thread_end(int tid)
{
	struct srcu_thread *inside = ring_enter();
	uint32_t i;

	for (i = 0; inside && i < RING_MAX; i++) {
		struct trace_array *tr = trace_array_at(i);

		if (events_follow_forks(tr)) {
			pid_list_unset(&tr->event_pids, (uint32_t)tid);
			pid_list_unset(&tr->event_no_pids, (uint32_t)tid);
		}
		if (!follows_forks(tr))
			continue;
		pid_list_unset(&tr->pids, (uint32_t)tid);
		pid_list_unset(&tr->no_pids, (uint32_t)tid);
	}
	if (inside)
		ring_leave(inside);
}
