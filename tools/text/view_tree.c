/* SPDX-License-Identifier: MIT */
/*
 * See view_tree.h. A second thread reads the later half of the recording into a tree of its own
 * (pages_part(), call_tree_part.h), which is joined to the first one at the end. If it cannot be,
 * or there was an error or a loss in that half, the first thread reads it, too. Tests:
 * tests/cli/test_views.py.
 */
#include "tools/text/view_tree.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tools/analysis/call_tree_part.h"
#include "tools/analysis/runs.h"
#include "tools/area/pages.h"
#include "tools/base/signals.h"
#include "tools/base/two_cpus.h"

/* The later half. */
struct later {
	struct reader *r; /* NULL: there is none */
	struct runs *runs;
	struct call_tree_part *part;
	pthread_t thread;
	atomic_bool end; /* it is not wanted any more */
	bool whole;	 /* it has been read without errors and losses */
	uint64_t nr_records, last_ts;
};

static bool has_losses(const struct run *run)
{
	if (!run->recs)
		return run->head.lost;
	for (unsigned int i = 0; i < run->nr; i++)
		if (run->recs[i].lost)
			return true;
	return false;
}

static void *read_later(void *arg)
{
	struct later *l = arg;
	struct run run;
	int ret = 0;

	while (!atomic_load_explicit(&l->end, memory_order_relaxed) &&
	       (ret = runs_next(l->runs, &run)) > 0) {
		l->nr_records += run.nr;
		l->last_ts = run_ts(&run, run.nr - 1);
		if (has_losses(&run) || call_tree_part_run(l->part, &run))
			return NULL;
	}
	l->whole = !ret;
	return NULL;
}

static void drop(struct later *l, struct reader *r)
{
	call_tree_part_free(l->part);
	runs_free(l->runs);
	if (l->r) {
		pages_part_free(l->r);
		pages_part_drop(r);
	}
	l->r = NULL;
}

/*
 * Whether a half can be read alone: no callback, cut or choice of CPUs needs all records in order.
 */
static bool is_plain(const struct view *v)
{
	return !v->cpus && !v->other && !v->gap && !v->progress && !v->nr_of_cpu && !v->cuts &&
	       !v->part_full && !v->r->bases_known && !v->r->nr_ends;
}

static void begin(struct later *l, struct view *v, const struct call_tree *t)
{
	if (!is_plain(v) || !call_tree_can_part(t) || !has_two_cpus())
		return;
	l->r = pages_part(v->r);
	if (!l->r)
		return;
	l->runs = runs_new(l->r);
	l->part = call_tree_part_new(l->r, t);
	if (l->runs && l->part && !thread_without_signals(&l->thread, read_later, l))
		return;
	drop(l, v->r);
}

/* The first half is read. Return: 0, all is; 1, the view must read on; -ENOMEM with fail() set. */
static int finish(struct later *l, struct view *v, struct call_tree *t)
{
	int ret = 0;

	pthread_join(l->thread, NULL);
	if (l->whole)
		ret = call_tree_part_join(l->part, t, v->walk.calls);
	if (ret > 0) {
		v->nr_records += l->nr_records;
		v->last_ts = l->last_ts;
	}
	drop(l, v->r);
	runs_go_on(v->walk.runs, v->r);
	return ret < 0 ? ret : !ret;
}

static int read_on(struct view *v, struct call_tree *t)
{
	int ret;

	do {
		ret = view_step(v, &t->err);
	} while (ret > 0);
	return ret;
}

int view_run_tree(struct view *v, struct call_tree *t)
{
	struct later l = {0};
	int ret = view_begin(v, &call_tree_ops, t);

	if (!ret)
		begin(&l, v, t);
	if (!ret)
		ret = read_on(v, t);
	if (!ret && l.r)
		ret = finish(&l, v, t);
	if (ret > 0)
		ret = read_on(v, t);
	if (l.r) {
		atomic_store(&l.end, true);
		pthread_join(l.thread, NULL);
		drop(&l, v->r);
	}
	if (!ret)
		view_finish(v);
	view_end(v);
	return ret;
}
