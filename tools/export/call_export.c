/* SPDX-License-Identifier: MIT */
/* See call_export.h. Tests: tests/cli/test_export.py. */
#include "tools/export/call_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/reader/tasks.h"

static int begin(struct call_export *x, const char *path, const struct export_options *opt)
{
	struct view *v = opt->view;
	int fd = STDOUT_FILENO, err = 0;

	*x = (struct call_export){.v = v, .to_stdout = !strcmp(path, "-")};
	if (!x->to_stdout) {
		err = dat_file_create(&x->file, path);
		fd = x->file.fd;
	}
	if (err)
		return err;
	v->progress = opt->progress;
	v->progress_arg = opt->progress_arg;
	for (unsigned int cpu = 0; v->r->stats && cpu < v->r->nr_cpus; cpu++)
		v->nr_expected += v->r->stats[cpu].entries;
	if (!out_init(&x->o, fd))
		return 0;
	if (!x->to_stdout)
		dat_file_abort(&x->file);
	return fail(ENOMEM, "out of memory");
}

static int end(struct call_export *x, int err)
{
	int failed = out_end(&x->o);

	if (x->to_stdout) {
		if (failed == -EPIPE)
			return 0;
		if (failed)
			return fail_errno(-failed, "cannot write to stdout");
	} else if (failed) {
		err = dat_file_failed(&x->file, failed);
	}
	if (x->to_stdout)
		return err;
	if (!err)
		return dat_file_commit(&x->file);
	dat_file_abort(&x->file);
	return err;
}

/* What was asked for cannot be given when nothing of it is there: an empty file misleads. */
static int nothing(const struct view *v)
{
	return fail(ENODATA, "'%s' has no call that was asked for", v->path);
}

int call_export_tree(const char *path, const struct export_options *opt,
		     void (*put)(struct call_export *x, const struct call_tree *t))
{
	struct call_export x;
	struct call_tree t = {0};
	int err = view_must_have_calls(opt->view);

	if (!err)
		err = begin(&x, path, opt);
	if (err)
		return err;
	err = call_tree_init(&t, x.v->filter, true, false);
	if (!err)
		err = view_run(x.v, &call_tree_ops, &t, &t.err);
	if (!err && !t.nr_calls)
		err = nothing(x.v);
	if (!err)
		err = call_tree_sort(&t);
	if (!err) {
		put(&x, &t);
		err = x.err;
	}
	err = end(&x, err);
	if (!err)
		view_notes(x.v, t.nr_calls);
	if (!err && t.left_out)
		note("%" PRIu64 " calls were left out: the tree has more than %u branches",
		     t.left_out, CALL_TREE_MAX);
	call_tree_clear(&t);
	return err;
}

struct each {
	struct call_export *x;
	const struct call_format *format;
};

static void enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct each *e = arg;
	uint32_t function = 0;
	int ret = call_filter_enter(e->x->v->filter, call, parent, &function);

	e->x->rec = rec;
	if (ret < 0)
		e->x->err = ret;
	call->data = (call->data & ~(uint64_t)UINT32_MAX) | function;
	if (ret > 0 && e->format->enter && !e->x->err)
		e->format->enter(e->x, call, call_filter_function(e->x->v->filter, function));
}

static void leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct each *e = arg;
	struct call_export *x = e->x;

	x->rec = rec;
	if (x->err || !call_filter_leave(x->v->filter, call))
		return;
	x->nr++;
	if (e->format->call)
		e->format->call(x, call, parent,
				call_filter_function(x->v->filter, (uint32_t)call->data));
	x->err = x->o.err;
}

static int other(void *arg, const struct record *rec)
{
	struct each *e = arg;
	struct call_export *x = e->x;

	if (!call_filter_unmatched(x->v->filter, rec))
		return 0;
	x->nr++;
	x->rec = rec;
	e->format->other(x, rec);
	x->err = x->o.err;
	return x->err;
}

int call_export_each(const char *path, const struct export_options *opt,
		     const struct call_format *format)
{
	const struct calls_ops ops = {.enter = enter, .leave = leave};
	struct call_export x;
	struct each e = {.x = &x, .format = format};
	int err = begin(&x, path, opt);

	if (err)
		return err;
	x.own = calloc(1, format->own_bytes + 1);
	if (!x.own)
		err = fail(ENOMEM, "out of memory");
	if (!err && format->begin)
		err = format->begin(&x);
	if (format->other)
		x.v->other = other;
	x.v->other_arg = &e;
	if (!err)
		err = view_run(x.v, &ops, &e, &x.err);
	if (!err && !x.nr)
		err = nothing(x.v);
	if (!err && format->end)
		format->end(&x);
	if (x.own && format->free)
		format->free(&x);
	free(x.own);
	err = end(&x, err ? err : x.err);
	if (!err)
		view_notes(x.v, x.nr);
	return err;
}

const char *call_export_name(const struct call_function *fn, char buf[CALL_NAME_BYTES])
{
	if (fn->name)
		return fn->name;
	snprintf(buf, CALL_NAME_BYTES, "0x%" PRIx64, fn->ip);
	return buf;
}

/* The name of the first process that was traced: a trace.dat does not say how it was started. */
static const char *program_name(const struct tasks *tasks)
{
	for (size_t i = 0; i < tasks_count(tasks); i++)
		if (tasks_at(tasks, i)->traced &&
		    tasks_at(tasks, i)->pid == tasks_at(tasks, i)->tgid)
			return tasks_at(tasks, i)->comm;
	return "program";
}

const char *call_export_object(const struct view *v, const struct call_function *fn)
{
	return fn->module ? fn->module : program_name(v->r->tasks);
}

uint64_t call_export_track(const struct call *call)
{
	return call->stack ? (UINT64_C(1) << 31) + call->stack : (uint64_t)call->pid;
}
