/* SPDX-License-Identifier: MIT */
/*
 * libvestige-trace: see include/vestige-trace.h. A thin layer over text/view.h, which has the
 * readers, the filter and the conversion of records to calls. A view calls back for each call. So
 * the results of a step of the view are kept in a list of items, and vestige_trace_next() gives
 * them one by one. A step is one run of records of a CPU, so the list is short.
 * Tests: tests/cli/test_script.py.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/api/trace_impl.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/code/symbols.h"
#include "tools/reader/joined.h"
#include "tools/reader/printks.h"
#include "tools/reader/tasks.h"

#define FIRST_ITEMS 256u
#define ALL_KINDS   31u
/* bits of both enums are the same */
#define CALL_FLAGS                                                                                 \
	(VESTIGE_TRACE_TAIL | VESTIGE_TRACE_UNWOUND | VESTIGE_TRACE_NO_EXIT |                      \
	 VESTIGE_TRACE_UNFINISHED | VESTIGE_TRACE_BROKEN | VESTIGE_TRACE_CUT_BEGIN |               \
	 VESTIGE_TRACE_CUT_END)

_Static_assert((int)VESTIGE_TRACE_TAIL == CALL_TAIL && (int)VESTIGE_TRACE_UNWOUND == CALL_UNWOUND &&
		       (int)VESTIGE_TRACE_NO_EXIT == CALL_NO_EXIT &&
		       (int)VESTIGE_TRACE_UNFINISHED == CALL_UNFINISHED &&
		       (int)VESTIGE_TRACE_BROKEN == CALL_BROKEN &&
		       (int)VESTIGE_TRACE_CUT_BEGIN == CALL_CUT_BEGIN &&
		       (int)VESTIGE_TRACE_CUT_END == CALL_CUT_END,
	       "flags of calls are passed on as they are");

const char *vestige_trace_error(void)
{
	return fail_text();
}

const char *vestige_trace_version(void)
{
	return VESTIGE_VERSION;
}

/* From now on all functions fail with the text of fail(). Return: @err. */
static int trace_failed(struct vestige_trace *t, int err)
{
	t->failed = err;
	snprintf(t->why, sizeof(t->why), "%s", fail_text());
	return err;
}

/* A library prints no notes. */
static void no_note(const char *line)
{
	(void)line;
}

static struct vestige_trace *trace_new(void)
{
	struct vestige_trace *t = calloc(1, sizeof(*t));

	note_to(no_note);
	if (!t) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	view_init(&t->v);
	t->v.cuts = true;
	t->kinds = ALL_KINDS & ~VESTIGE_TRACE_ENTER;
	t->timeout_ms = -1;
	return t;
}

/* The failure of a function that returns a pointer: errno and NULL. */
static void *null_with(int err)
{
	errno = -err;
	return NULL;
}

static struct vestige_trace *opened(struct vestige_trace *t, int err)
{
	if (!err)
		return t;
	vestige_trace_close(t);
	return null_with(err);
}

struct vestige_trace *vestige_trace_open(const char *path)
{
	struct vestige_trace *t = path ? trace_new() : NULL;

	if (!path)
		return null_with(fail(EINVAL, "no file is named"));
	if (!t)
		return null_with(-ENOMEM);
	t->v.path = strdup(path);
	if (!t->v.path)
		return opened(t, fail(ENOMEM, "out of memory"));
	return opened(t, view_open(&t->v));
}

struct vestige_trace *vestige_trace_open_live(int pid)
{
	struct vestige_trace *t = trace_new();

	return t ? opened(t, trace_live_open(t, pid)) : null_with(-ENOMEM);
}

void vestige_trace_close(struct vestige_trace *t)
{
	if (!t)
		return;
	trace_text_forget(t);
	view_end(&t->v);
	trace_live_close(t);
	view_close(&t->v);
	for (unsigned int i = 0; i < t->v.wish.nr_under; i++)
		free((char *)(uintptr_t)t->v.wish.under[i]);
	for (unsigned int i = 0; i < t->v.wish.nr_not_under; i++)
		free((char *)(uintptr_t)t->v.wish.not_under[i]);
	for (unsigned int i = 0; i < t->nr_events; i++)
		free((char *)(uintptr_t)t->events[i]);
	open_calls_clear(&t->open);
	free((char *)(uintptr_t)t->v.path);
	free(t->items);
	free(t->text);
	free(t);
}

const struct vestige_trace_info *vestige_trace_info(struct vestige_trace *t)
{
	const struct reader *r = t->v.r;

	if (r) {
		t->info = (struct vestige_trace_info){
			.clock = r->clock,
			.tracer = r->tracer,
			.command = r->cmdline,
			.host = r->uname,
			.nr_cpus = reader_join_cpus(r),
			.time_is_ns = r->ts_is_ns,
			.realtime_offset_ns = r->realtime_offset_ns,
		};
	}
	t->info.lost = t->v.lost;
	return &t->info;
}

/* Filters cannot change after the first record. */
static int may_filter(const struct vestige_trace *t)
{
	return t->begun ? fail(EBUSY, "records were read: set filters before the first one") : 0;
}

static int add_glob(const struct vestige_trace *t, const char **globs, unsigned int *nr,
		    const char *glob)
{
	int err = may_filter(t);

	if (err)
		return err;
	if (!glob || !*glob)
		return fail(EINVAL, "the name of a filter is empty");
	if (*nr == CALL_FILTER_MAX)
		return fail(E2BIG, "more than %u filters of one sort", CALL_FILTER_MAX);
	globs[*nr] = strdup(glob);
	if (!globs[*nr])
		return fail(ENOMEM, "out of memory");
	++*nr;
	return 0;
}

int vestige_trace_function_filter(struct vestige_trace *t, const char *glob)
{
	return add_glob(t, t->v.wish.under, &t->v.wish.nr_under, glob);
}

int vestige_trace_function_notrace(struct vestige_trace *t, const char *glob)
{
	return add_glob(t, t->v.wish.not_under, &t->v.wish.nr_not_under, glob);
}

int vestige_trace_event_filter(struct vestige_trace *t, const char *glob)
{
	return add_glob(t, t->events, &t->nr_events, glob);
}

int vestige_trace_kinds(struct vestige_trace *t, uint32_t kinds)
{
	int err = may_filter(t);

	if (err)
		return err;
	if (!kinds || kinds & ~ALL_KINDS)
		return fail(EINVAL, "kinds of records: %#" PRIx32 " is not a sum of 1, 2, 4, 8, 16",
			    kinds);
	t->kinds = kinds;
	return 0;
}

int vestige_trace_tid(struct vestige_trace *t, int32_t tid)
{
	struct call_wish *w = &t->v.wish;
	int err = may_filter(t);

	if (err)
		return err;
	if (tid < 0)
		return fail(EINVAL, "no thread has the number %" PRId32, tid);
	if (w->nr_tids == CALL_FILTER_MAX)
		return fail(E2BIG, "more than %u filters of one sort", CALL_FILTER_MAX);
	w->tids[w->nr_tids++] = tid;
	return 0;
}

int vestige_trace_range(struct vestige_trace *t, uint64_t from, uint64_t to)
{
	int err = may_filter(t);

	if (err)
		return err;
	if (to && to <= from)
		return fail(EINVAL, "a range of time ends after its begin");
	t->v.wish.from = from;
	t->v.wish.to = to;
	t->v.range_from_start = t->v.range_to_start = false;
	return 0;
}

int vestige_trace_range_from_start(struct vestige_trace *t, uint64_t from, uint64_t to)
{
	int err = vestige_trace_range(t, from, to);

	if (err)
		return err;
	t->v.range_from_start = true;
	t->v.range_to_start = to != 0;
	return 0;
}

int vestige_trace_cpus(struct vestige_trace *t, const char *list)
{
	int err = may_filter(t);

	if (err)
		return err;
	if (t->follow)
		return fail(EINVAL, "a live trace is of all CPUs");
	return view_choose_cpus(&t->v, list);
}

int vestige_trace_max_depth(struct vestige_trace *t, uint32_t levels)
{
	int err = may_filter(t);

	if (!err)
		t->v.wish.max_depth = levels;
	return err;
}

int vestige_trace_min_duration(struct vestige_trace *t, uint64_t duration)
{
	int err = may_filter(t);

	if (!err)
		t->v.wish.min_ns = duration;
	return err;
}

int vestige_trace_timeout(struct vestige_trace *t, int ms)
{
	if (ms < -1)
		return fail(EINVAL, "a timeout is -1 or a number of milliseconds");
	t->timeout_ms = ms;
	return 0;
}

static struct trace_item *add_item(struct vestige_trace *t, uint32_t kind)
{
	struct trace_item *item;

	if (ARRAY_ROOM(t->items, t->nr_items, t->room_items, FIRST_ITEMS)) {
		if (!t->err)
			t->err = fail(ENOMEM, "out of memory");
		return NULL;
	}
	item = &t->items[t->nr_items++];
	*item = (struct trace_item){.kind = kind};
	return item;
}

static void put_call(struct vestige_trace *t, uint32_t kind, bool shown, const struct call *call,
		     const struct call *parent, const struct record *rec)
{
	struct trace_item *item = add_item(t, kind);

	if (!item)
		return;
	item->hidden = !shown || !(t->kinds & kind);
	item->call = *call;
	item->caller = parent ? parent->ip : 0;
	item->has_rec = rec != NULL;
	if (rec)
		item->rec = *rec;
}

static void enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct vestige_trace *t = arg;
	uint32_t function;
	int ret = call_filter_enter(t->v.filter, call, parent, &function);

	if (ret < 0 && !t->err)
		t->err = fail(ENOMEM, "out of memory");
	put_call(t, VESTIGE_TRACE_ENTER, ret > 0, call, parent, rec);
}

static void leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct vestige_trace *t = arg;

	put_call(t, VESTIGE_TRACE_CALL, call_filter_leave(t->v.filter, call), call, parent, rec);
}

static bool is_wanted_event(struct vestige_trace *t, uint16_t id)
{
	const struct tep_event *ev;
	char name[512];

	if (!t->nr_events || t->wanted[id])
		return t->wanted[id] != 1;
	ev = t->v.r->tep ? tep_find_event(t->v.r->tep, id) : NULL;
	t->wanted[id] = 1;
	if (!ev)
		return false;
	snprintf(name, sizeof(name), "%s:%s", ev->system, ev->name);
	for (unsigned int i = 0; i < t->nr_events; i++)
		if (!fnmatch(t->events[i], name, 0))
			t->wanted[id] = 2;
	return t->wanted[id] == 2;
}

static bool matches_one(struct vestige_trace *t, const char *const *globs, unsigned int nr,
			uint64_t ip)
{
	for (unsigned int i = 0; i < nr; i++)
		if (call_name_matches(t->v.r, ip, globs[i]))
			return true;
	return false;
}

static bool is_wanted_function(struct vestige_trace *t, uint64_t ip)
{
	const struct call_wish *w = &t->v.wish;

	return (!w->nr_under || matches_one(t, w->under, w->nr_under, ip)) &&
	       !matches_one(t, w->not_under, w->nr_not_under, ip);
}

static bool is_wanted(struct vestige_trace *t, const struct record *rec, uint32_t kind)
{
	const struct call_wish *w = &t->v.wish;
	bool of_thread = !w->nr_tids;

	for (unsigned int i = 0; i < w->nr_tids; i++)
		of_thread |= w->tids[i] == rec->pid;
	if (!(t->kinds & kind) || !of_thread || rec->ts < w->from || (w->to && rec->ts >= w->to))
		return false;
	if (kind == VESTIGE_TRACE_EVENT)
		return is_wanted_event(t, rec->event);
	return kind != VESTIGE_TRACE_FUNCTION || is_wanted_function(t, rec->ip);
}

static int other(void *arg, const struct record *rec)
{
	struct vestige_trace *t = arg;
	uint32_t kind = rec->kind == RECORD_EVENT   ? VESTIGE_TRACE_EVENT
			: rec->kind == RECORD_PRINT ? VESTIGE_TRACE_PRINT
						    : VESTIGE_TRACE_FUNCTION;
	struct trace_item *item;

	/* trace_printk()'s records are marks */
	if (kind == VESTIGE_TRACE_EVENT && t->v.r->printks &&
	    (rec->event == PRINTK_BPRINT_ID || rec->event == PRINTK_BPUTS_ID))
		kind = VESTIGE_TRACE_PRINT;
	if (!is_wanted(t, rec, kind))
		return 0;
	item = add_item(t, kind);
	if (!item)
		return t->err;
	item->has_rec = true;
	item->rec = *rec;
	return 0;
}

static int begin(struct vestige_trace *t)
{
	static const struct calls_ops ops = {.enter = enter, .leave = leave};

	t->begun = true;
	t->v.other = other;
	t->v.other_arg = t;
	return view_begin(&t->v, &ops, t);
}

/* Read on until there is an item. Return: 1; 0 at the end; -errno with fail() set. */
static int fill(struct vestige_trace *t)
{
	t->nr_items = t->next_item = 0;
	t->item = NULL;
	while (!t->nr_items) {
		int ret = view_step(&t->v, &t->err);

		if (!ret && !t->finished && t->follow)
			ret = trace_live_turn(t);
		if (ret < 0)
			return ret;
		if (ret)
			continue;
		if (t->finished)
			return 0;
		t->finished = true;
		view_finish(&t->v);
	}
	return t->err ? t->err : 1;
}

static void name_function(struct vestige_trace *t, uint64_t ip)
{
	struct vestige_trace_record *r = &t->record;

	r->address = ip;
	r->name = vestige_trace_function(t, ip, &r->object);
	if (!r->name) {
		snprintf(t->name, sizeof(t->name), "0x%" PRIx64, ip);
		r->name = t->name;
	}
}

static void make_call(struct vestige_trace *t, const struct trace_item *item)
{
	const struct call *c = &item->call;
	struct vestige_trace_record *r = &t->record;
	uint64_t not_self = c->children + c->suspended;

	r->time = c->start;
	r->flags = c->flags & CALL_FLAGS;
	r->tid = c->pid;
	r->depth = c->depth;
	r->caller = item->caller;
	r->cpu = item->has_rec ? item->rec.cpu : UINT32_MAX;
	name_function(t, c->ip);
	if (item->kind == VESTIGE_TRACE_ENTER)
		return;
	r->duration = c->end - c->start;
	r->self = r->duration > not_self ? r->duration - not_self : 0;
	if (item->has_rec && item->rec.graph & RECORD_GRAPH_RETVAL) {
		r->flags |= VESTIGE_TRACE_RESULT;
		r->result = item->rec.retval;
	}
}

static void make_other(struct vestige_trace *t, const struct trace_item *item)
{
	struct vestige_trace_record *r = &t->record;
	const struct tep_event *ev;

	r->time = item->rec.ts;
	r->tid = item->rec.pid;
	r->cpu = item->rec.cpu;
	if (item->kind == VESTIGE_TRACE_PRINT) {
		r->name = "print";
		if (t->v.r->prints_are_events)
			name_function(t, item->rec.ip);
		r->address = 0;
	} else if (item->kind == VESTIGE_TRACE_FUNCTION) {
		name_function(t, item->rec.ip);
		r->caller = item->rec.parent_ip;
	} else {
		ev = t->v.r->tep ? tep_find_event(t->v.r->tep, item->rec.event) : NULL;
		r->name = ev ? ev->name : "unknown";
		r->system = ev ? ev->system : "unknown";
	}
}

/* Make the record of an item. Return: 1: give it to the caller; 0: do not; -ENOMEM. */
static int take_item(struct vestige_trace *t, struct trace_item *item)
{
	int err = 0;

	/* the last record is the end of a call: until now the call stayed on its stack */
	if (t->item && t->item->kind == VESTIGE_TRACE_CALL)
		err = open_calls_leave(&t->open, &t->item->call);
	t->item = NULL;
	if (!err && item->kind == VESTIGE_TRACE_ENTER)
		err = open_calls_enter(&t->open, &item->call);
	if (!err && item->kind == VESTIGE_TRACE_CALL && item->hidden)
		err = open_calls_leave(&t->open, &item->call);
	if (err || item->hidden)
		return err;
	t->item = item;
	t->record = (struct vestige_trace_record){.kind = item->kind};
	if (item->kind & (VESTIGE_TRACE_ENTER | VESTIGE_TRACE_CALL))
		make_call(t, item);
	else
		make_other(t, item);
	t->record.pid = tasks_tgid(t->v.r->tasks, t->record.tid);
	t->record.thread = tasks_comm(t->v.r->tasks, t->record.tid);
	return 1;
}

int vestige_trace_next(struct vestige_trace *t, const struct vestige_trace_record **out)
{
	int ret = 0;

	*out = NULL;
	if (t->failed)
		return fail(-t->failed, "%s", t->why);
	if (!t->begun)
		ret = begin(t);
	while (!ret) {
		if (t->next_item == t->nr_items) {
			/*
			 * the last item of a step: its call leaves the stack before the next step
			 */
			if (t->item && t->item->kind == VESTIGE_TRACE_CALL)
				ret = open_calls_leave(&t->open, &t->item->call);
			if (!ret)
				ret = fill(t);
			if (ret == -ETIMEDOUT || ret == -EINTR || !ret)
				return ret;
		}
		if (ret >= 0)
			ret = take_item(t, &t->items[t->next_item++]);
	}
	if (ret < 0)
		return trace_failed(t, ret);
	*out = &t->record;
	return 1;
}

unsigned int vestige_trace_stack(struct vestige_trace *t, uint64_t *addresses, unsigned int max)
{
	const struct trace_item *item = t->item;
	const uint64_t *ips;
	uint32_t nr;

	if (!item)
		return 0;
	if (item->kind & (VESTIGE_TRACE_ENTER | VESTIGE_TRACE_CALL))
		ips = open_calls_of(&t->open, item->call.process, item->call.pid, &nr);
	else /* events of a further buffer get the open calls of the first buffer */
		ips = open_calls_of(&t->open, record_buffer(&item->rec) ? 0 : item->rec.process,
				    item->rec.pid, &nr);
	for (uint32_t i = 0; i < nr && i < max; i++)
		addresses[i] = ips[nr - 1 - i];
	return nr;
}

const char *vestige_trace_buffer(struct vestige_trace *t)
{
	const struct trace_item *item = t->item;
	bool is_call;

	if (!item)
		return "";
	is_call = item->kind & (VESTIGE_TRACE_ENTER | VESTIGE_TRACE_CALL);
	if (!is_call)
		return reader_buffer_name(t->v.r, record_buffer(&item->rec));
	return reader_buffer_name(t->v.r, item->call.process > RECORD_FURTHER_PROCESS
						  ? item->call.process - RECORD_FURTHER_PROCESS
						  : 0);
}

const char *vestige_trace_function(struct vestige_trace *t, uint64_t address, const char **object)
{
	const struct call_function *fn;
	uint32_t number;

	if (object)
		*object = NULL;
	if (!t->v.filter || call_filter_number(t->v.filter, address, &number))
		return NULL;
	fn = call_filter_function(t->v.filter, number);
	if (object)
		*object = fn->module;
	return fn->name;
}
