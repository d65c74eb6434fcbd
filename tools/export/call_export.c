/* SPDX-License-Identifier: MIT */
/* See call_export.h. Tests: tests/cli/test_export.py. */
#include "tools/export/call_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"
#include "tools/base/note.h"
#include "tools/reader/joined.h"
#include "tools/reader/tasks.h"
#include "tools/text/view_tree.h"

/* Open x->o at @path. */
static int open_out(struct call_export *x, const char *path)
{
	bool has_file = !x->opt->sink && strcmp(path, "-") != 0;
	int err = has_file ? dat_file_create(&x->file, path) : 0;

	if (err)
		return err;
	x->to_stdout = !x->opt->sink && !has_file;
	if (x->opt->sink)
		err = out_init_sink(&x->o, x->opt->sink, x->opt->sink_arg);
	else
		err = out_init(&x->o, has_file ? x->file.fd : STDOUT_FILENO);
	if (err) {
		if (has_file)
			dat_file_abort(&x->file);
		return fail(ENOMEM, "out of memory");
	}
	x->o.stop = x->v->r->stop;
	return 0;
}

static int begin(struct call_export *x, const char *path, const struct export_options *opt)
{
	struct view *v = opt->view;

	*x = (struct call_export){.v = v, .opt = opt, .path = path};
	v->progress = opt->progress;
	v->progress_arg = opt->progress_arg;
	for (unsigned int cpu = 0; v->r->stats && cpu < v->r->nr_cpus; cpu++)
		v->nr_expected += v->r->stats[cpu].entries;
	return opt->part_bytes ? 0 : open_out(x, path);
}

static int end(struct call_export *x, int err)
{
	int failed = out_end(&x->o);
	bool has_file = !x->opt->sink && !x->to_stdout;

	if (failed == -EINTR)
		err = fail(EINTR, "interrupted");
	else if (failed && has_file)
		err = dat_file_failed(&x->file, failed);
	else if (failed == -EPIPE && x->to_stdout)
		err = 0; /* its reader has enough */
	else if (failed && (!err || !x->opt->sink))
		err = fail_errno(-failed, "cannot write %s", x->to_stdout ? "to stdout" : x->path);
	if (has_file && !err)
		return dat_file_commit(&x->file);
	if (has_file)
		dat_file_abort(&x->file);
	return err;
}

/* Fail, because there is nothing to write: an empty file would mislead. */
static int nothing(const struct view *v)
{
	return fail(ENODATA, "no call in '%s' matches the flags", v->path);
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
		err = view_run_tree(x.v, &t);
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

static void enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct call_export *x = arg;
	uint32_t function = 0;
	int ret = call_filter_enter(x->v->filter, call, parent, &function);

	x->rec = rec;
	if (!x->err)
		x->err = stack_homes_enter(&x->homes, call);
	if (ret < 0)
		x->err = ret;
	call->data = (call->data & ~(uint64_t)UINT32_MAX) | function;
	if (ret > 0 && x->format->enter && !x->err)
		x->format->enter(x, call, call_filter_function(x->v->filter, function));
}

static void leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct call_export *x = arg;

	x->rec = rec;
	if (x->err || !call_filter_leave(x->v->filter, call))
		return;
	x->nr++;
	if (x->format->call)
		x->format->call(x, call, parent,
				call_filter_function(x->v->filter, (uint32_t)call->data));
	if (!x->err)
		x->err = x->o.err;
}

static int other(void *arg, const struct record *rec)
{
	struct call_export *x = arg;

	if (x->err || !call_filter_unmatched(x->v->filter, rec))
		return x->err;
	x->nr++;
	x->rec = rec;
	x->format->other(x, rec);
	if (!x->err)
		x->err = x->o.err;
	return x->err;
}

/* The file, or the next one: out.json is out.001.json, out.002.json. */
static int begin_part(struct call_export *x)
{
	const char *suffix;

	if (x->opt->part_bytes) {
		suffix = exporter_suffix(x->opt->to, x->path);
		if (asprintf(&x->part_path, "%.*s.%03u%s", (int)(suffix - x->path), x->path,
			     ++x->nr_parts, suffix) < 0) {
			x->part_path = NULL;
			return fail(ENOMEM, "out of memory");
		}
		x->err = open_out(x, x->part_path);
		if (x->err) {
			free(x->part_path);
			x->part_path = NULL;
			return x->err;
		}
	}
	x->own = calloc(1, x->format->own_bytes + 1);
	if (!x->own)
		return fail(ENOMEM, "out of memory");
	return x->format->begin ? x->format->begin(x) : 0;
}

/* End the current file. @err: the result so far, returned if it is not 0. */
static int end_part(struct call_export *x, int err)
{
	if (x->opt->part_bytes && !x->part_path) /* it was not begun */
		return err;
	if (!err && x->format->end)
		x->format->end(x);
	if (x->own && x->format->free)
		x->format->free(x);
	free(x->own);
	x->own = NULL;
	err = end(x, err ? err : x->err);
	free(x->part_path);
	x->part_path = NULL;
	return err;
}

static bool part_full(void *arg)
{
	struct call_export *x = arg;
	off_t written = x->err ? -1 : lseek(x->o.fd, 0, SEEK_CUR);

	return written >= 0 && (uint64_t)written + x->o.used >= x->opt->part_bytes;
}

static void part_next(void *arg)
{
	struct call_export *x = arg;

	x->err = end_part(x, x->err);
	if (!x->err)
		x->err = begin_part(x);
}

int call_export_each(const char *path, const struct export_options *opt,
		     const struct call_format *format)
{
	const struct calls_ops ops = {.enter = enter, .leave = leave};
	struct call_export x;
	int err = begin(&x, path, opt);

	if (err)
		return err;
	x.format = format;
	err = begin_part(&x);
	if (format->other)
		x.v->other = other;
	x.v->other_arg = x.v->part_arg = &x;
	if (opt->part_bytes) {
		x.v->part_full = part_full;
		x.v->part_next = part_next;
	}
	if (!err)
		err = view_run(x.v, &ops, &x, &x.err);
	if (!err && !x.nr)
		err = nothing(x.v);
	err = end_part(&x, err);
	stack_homes_clear(&x.homes);
	hash_index_clear(&x.by_stack);
	hash_index_clear(&x.by_number);
	free(x.stacks);
	if (!err)
		view_notes(x.v, x.nr);
	return err;
}

const char *call_export_buffer(const struct call_export *x, const struct call *call)
{
	return reader_buffer_name(x->v->r, call->process > RECORD_FURTHER_PROCESS
						   ? call->process - RECORD_FURTHER_PROCESS
						   : 0);
}

const char *call_export_record_buffer(const struct call_export *x, const struct record *rec)
{
	return reader_buffer_name(x->v->r, record_buffer(rec));
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

/* Give a stack a number: its own, unless a stack of another process has it. */
static int number_stack(struct call_export *x, uint64_t hash, const struct call *call)
{
	const struct export_stack *all = x->stacks;
	uint32_t number = call->stack, nr = (uint32_t)x->nr_stacks;

	if (HASH_INDEX_FIND(&x->by_number, number, i, all[i].number == number) >= 0)
		number = x->last_number + 1;
	if (ARRAY_ROOM(x->stacks, x->nr_stacks, x->room_stacks, 16) ||
	    hash_index_add(&x->by_stack, hash, nr) || hash_index_add(&x->by_number, number, nr))
		return fail(ENOMEM, "out of memory");
	x->stacks[x->nr_stacks++] = (struct export_stack){call->process, call->stack, number};
	x->last_number = number > x->last_number ? number : x->last_number;
	return 0;
}

uint64_t call_export_track(struct call_export *x, const struct call *call)
{
	const uint64_t first = UINT64_C(1) << 31;
	const struct export_stack *all = x->stacks;
	uint64_t hash = hash_pair(call->process, call->stack);
	int64_t found;

	if (stack_homes_is_own(&x->homes, call))
		return (uint64_t)call->pid;
	found = HASH_INDEX_FIND(&x->by_stack, hash, i,
				all[i].process == call->process && all[i].stack == call->stack);
	if (found < 0) {
		int err = number_stack(x, hash, call);

		if (err) {
			x->err = err;
			return first + call->stack;
		}
		found = (int64_t)x->nr_stacks - 1;
	}
	return first + x->stacks[found].number;
}
