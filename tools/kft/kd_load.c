/* SPDX-License-Identifier: MIT */
/* See kd.h: reads a log or a recording. */
#include <errno.h>
#include <event-parse.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/base/note.h"
#include "tools/code/symbols.h"
#include "tools/import/import_text.h"
#include "tools/import/kft_log.h"
#include "tools/kft/kd.h"

#define HEAD_BYTES   8192u
#define FLAG_HANDLER 8u /* common_flags: TRACE_FLAG_HARDIRQ */
#define SWITCHED     1u /* in the lower half of a call's data; the rest is its number */
#define NUMBER(data) ((uint32_t)(data) >> 1)

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

/* KD_SWITCHED for functions that yield the CPU: their time is not their callers' own time. */
static uint8_t marks_of(const char *name)
{
	static const char *const names[] = {"schedule",
					    "__schedule",
					    "schedule_timeout",
					    "io_schedule",
					    "io_schedule_timeout",
					    "preempt_schedule",
					    "default_idle",
					    "cpu_idle",
					    "sched_yield",
					    "nanosleep",
					    "usleep",
					    "sleep",
					    "pause",
					    "poll",
					    "select"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return KD_SWITCHED;
	return 0;
}

/* A log. */

static int compare_threads(const void *a, const void *b)
{
	const struct kd_call *c = a, *d = b;

	if (c->pid != d->pid)
		return c->pid < d->pid ? -1 : 1;
	if (c->at != d->at)
		return c->at < d->at ? -1 : 1;
	return c->seq < d->seq ? -1 : c->seq > d->seq;
}

static int compare_order(const void *a, const void *b)
{
	const struct kd_call *c = a, *d = b;

	return c->seq < d->seq ? -1 : c->seq > d->seq;
}

static uint64_t end_of(const struct kd_call *c)
{
	return c->delta_us == KFT_OPEN ? UINT64_MAX : c->at + c->ns;
}

/* Find the depth and local time of each call, by thread, from the times of begin and end. */
static int nest(struct kd *kd, uint8_t marks)
{
	uint32_t *open = malloc((kd->nr_calls + 1) * sizeof(*open)), nr = 0;
	int err = open ? 0 : no_memory();

	if (kd->nr_calls && !err)
		qsort(kd->calls, kd->nr_calls, sizeof(*kd->calls), compare_threads);
	for (size_t i = 0; i < kd->nr_calls && !err; i++) {
		struct kd_call *c = &kd->calls[i];

		if (i && c->pid != c[-1].pid)
			nr = 0;
		while (nr && end_of(&kd->calls[open[nr - 1]]) <= c->at)
			nr--;
		c->depth = nr;
		c->marks = marks | marks_of(kd->functions[c->function].name);
		if (c->delta_us == KFT_WATCH)
			continue;
		if (nr) {
			struct kd_call *up = &kd->calls[open[nr - 1]];

			up->local -= c->ns < up->local ? c->ns : up->local;
		}
		open[nr++] = (uint32_t)i;
	}
	/* now that local times are known, go through the stacks again for the sums by callers */
	nr = 0;
	for (size_t i = 0; i < kd->nr_calls && !err; i++) {
		struct kd_call *c = &kd->calls[i];

		nr = i && c->pid != c[-1].pid ? 0 : c->depth;
		if (c->delta_us == KFT_WATCH)
			continue;
		err = kd_count(kd, c, nr ? (int64_t)kd->calls[open[nr - 1]].function : -1);
		open[nr] = (uint32_t)i;
	}
	free(open);
	if (kd->nr_calls)
		qsort(kd->calls, kd->nr_calls, sizeof(*kd->calls), compare_order);
	return err;
}

static int keep_entry(struct kd *kd, const struct kft_entry *e)
{
	struct kd_call c = {.at = e->at_us * 1000,
			    .ns = e->delta_us > 0 ? (uint64_t)e->delta_us * 1000 : 0,
			    .delta_us = e->delta_us,
			    .seq = kd->nr_calls,
			    .pid = e->pid < INT32_MAX ? (int32_t)e->pid : INT32_MAX,
			    .interrupt = e->pid == KFT_INTERRUPT,
			    .no_time = e->delta_us <= 0};
	int err = kd_function(kd, e->function, &c.function);

	c.local = c.ns;
	kd->nr_watches += e->delta_us == KFT_WATCH;
	return err ? err : kd_keep(kd, &c);
}

/* Replace names that are addresses by the names in the file @names. */
static int name_addresses(struct kd *kd, const char *names)
{
	uint64_t *seen = malloc((kd->nr + 1) * sizeof(*seen)), bias, addr;
	uint32_t *to = malloc((kd->nr + 1) * sizeof(*to));
	size_t nr_seen = 0, nr = kd->nr;
	struct symbols *s = NULL;
	int err = seen && to ? 0 : no_memory();

	for (size_t i = 0; i < nr && !err; i++)
		if (kft_log_address(kd->functions[i].name, &addr))
			seen[nr_seen++] = addr;
	if (!err)
		err = kd_names_open(names, seen, nr_seen, &bias, &s);
	for (uint32_t i = 0; i < nr && !err; i++) {
		const struct symbol *sym = NULL;

		to[i] = i;
		if (kft_log_address(kd->functions[i].name, &addr))
			sym = symbols_find(s, addr - bias);
		if (sym)
			err = kd_function(kd, sym->name, &to[i]);
	}
	for (size_t i = 0; i < kd->nr_calls && !err; i++)
		kd->calls[i].function = to[kd->calls[i].function];
	symbols_free(s);
	free(seen);
	free(to);
	return err;
}

static int read_log(struct kd *kd, struct import_text *in, const char *names)
{
	struct kft_log log = {0};
	struct kft_entry e;
	uint64_t last = 0;
	bool mixed = false;
	int got;

	kd->is_log = true;
	while ((got = kft_log_next(in, &log, &e)) > 0) {
		int err = keep_entry(kd, &e);

		if (err)
			return err;
		mixed |= e.at_us < last && log.nr_runs < 2;
		last = e.at_us;
	}
	if (got < 0)
		return got;
	if (in->err)
		return fail_errno(-in->err, "cannot read '%s'", in->path);
	if (!kd->nr_calls)
		return fail(ENODATA, "no call is in the log '%s'", in->path);
	if (log.nr_runs > 1)
		note("the log has %u runs: their calls are counted together", log.nr_runs);
	if (log.skipped)
		note("%llu lines behind the first call are no calls: skipped",
		     (unsigned long long)log.skipped);
	if (mixed)
		note("the log is not ordered by entry: some calls may be beneath the wrong one");
	got = names ? name_addresses(kd, names) : 0;
	return got ? got : nest(kd, kft_log_filtered(&log) ? KD_FILTERED : 0);
}

/* A recording. */

struct off { /* a thread that has left its CPU, until its innermost call is known */
	int32_t pid;
	bool is_off;
};

struct reading {
	struct kd *kd;
	struct view *v;
	uint32_t *numbers; /* by the filter's number: 1 + ours */
	size_t nr_numbers;
	struct off *offs;
	size_t nr_offs, room_offs;
	struct hash_index by_pid; /* of offs */
	bool keep;
	int err;
};

static struct off *off_of(struct reading *rd, int32_t pid)
{
	int64_t found = HASH_INDEX_FIND(&rd->by_pid, (uint32_t)pid, i, rd->offs[i].pid == pid);

	return found < 0 ? NULL : &rd->offs[found];
}

static int set_off(struct reading *rd, int32_t pid)
{
	struct off *off = off_of(rd, pid);

	if (!off) {
		if (ARRAY_ROOM(rd->offs, rd->nr_offs, rd->room_offs, 64) ||
		    hash_index_add(&rd->by_pid, (uint32_t)pid, (uint32_t)rd->nr_offs))
			return no_memory();
		off = &rd->offs[rd->nr_offs++];
		off->pid = pid;
	}
	off->is_off = true;
	return 0;
}

static int other(void *arg, const struct record *rec)
{
	struct reading *rd = arg;
	struct tep_event *ev;

	if (rec->kind != RECORD_EVENT || !rd->v->r->tep)
		return 0;
	ev = tep_find_event(rd->v->r->tep, rec->event);
	if (!ev || strcmp(ev->name, "sched_switch") != 0)
		return 0;
	rd->err = set_off(rd, rec->pid);
	return rd->err;
}

/* Did the thread leave its CPU since its last call began or ended? Forgets that. */
static bool was_off(struct reading *rd, int32_t pid)
{
	struct off *off = off_of(rd, pid);
	bool was = off && off->is_off;

	if (was)
		off->is_off = false;
	return was;
}

static int number_of(struct reading *rd, uint32_t function, uint32_t *number)
{
	const struct call_function *fn = call_filter_function(rd->v->filter, function);
	char address[24];
	int err;

	if (function >= rd->nr_numbers) {
		size_t nr = 2 * (function + 64u);
		uint32_t *more = reallocarray(rd->numbers, nr, sizeof(*more));

		if (!more)
			return no_memory();
		memset(more + rd->nr_numbers, 0, (nr - rd->nr_numbers) * sizeof(*more));
		rd->numbers = more;
		rd->nr_numbers = nr;
	}
	if (!rd->numbers[function]) {
		snprintf(address, sizeof(address), "0x%08llx", (unsigned long long)fn->ip);
		err = kd_function(rd->kd, fn->name ? fn->name : address, number);
		if (err)
			return err;
		rd->numbers[function] = *number + 1;
	}
	*number = rd->numbers[function] - 1;
	return 0;
}

static uint32_t function_of(const struct reading *rd, const struct call *call)
{
	return rd->keep ? rd->kd->calls[NUMBER(call->data)].function : NUMBER(call->data);
}

static void enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct reading *rd = arg;
	uint32_t function, number;

	if (rd->err)
		return;
	if (was_off(rd, call->pid) && parent)
		parent->data |= SWITCHED;
	if (call_filter_enter(rd->v->filter, call, parent, &function) < 0) {
		rd->err = no_memory();
		return;
	}
	rd->err = number_of(rd, function, &number);
	if (!rd->err && rd->keep) {
		struct kd_call c = {.at = call->start - rd->v->first_ts,
				    .seq = rd->kd->nr_calls,
				    .function = number,
				    .depth = call->depth,
				    .pid = call->pid,
				    .interrupt = rec && rec->flags & FLAG_HANDLER};

		if (call->start < rd->v->first_ts)
			c.at = 0;
		number = (uint32_t)rd->kd->nr_calls;
		rd->err = kd_keep(rd->kd, &c);
	}
	call->data |= (uint64_t)number << 1;
}

static void leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct reading *rd = arg;
	struct kd_call c = {.ns = call->end - call->start, .function = 0};

	(void)rec;
	if (rd->err)
		return;
	if (was_off(rd, call->pid) || call->suspended)
		call->data |= SWITCHED;
	c.function = function_of(rd, call);
	c.local = c.ns > call->children ? c.ns - call->children : 0;
	c.local -= call->suspended < c.local ? call->suspended : c.local;
	c.marks = marks_of(rd->kd->functions[c.function].name);
	if (call->data & SWITCHED)
		c.marks |= KD_SWITCHED;
	if (call->flags & (CALL_BROKEN | CALL_RETURN_ONLY | CALL_NO_EXIT))
		c.marks |= KD_FILTERED;
	rd->err = kd_count(rd->kd, &c, parent ? (int64_t)function_of(rd, parent) : -1);
	if (rd->keep) {
		struct kd_call *kept = &rd->kd->calls[NUMBER(call->data)];

		kept->ns = c.ns;
		kept->local = c.local;
		kept->marks = c.marks;
	}
}

static int read_recording(struct kd *kd, struct view *v, bool keep)
{
	static const struct calls_ops ops = {.enter = enter, .leave = leave};
	struct reading rd = {.kd = kd, .v = v, .keep = keep};
	int err = view_open_calls(v);

	v->other = other;
	v->other_arg = &rd;
	if (!err)
		err = view_run(v, &ops, &rd, &rd.err);
	if (!err)
		view_notes(v, kd->nr_counted);
	free(rd.numbers);
	free(rd.offs);
	return err;
}

int kd_load(struct kd *kd, struct view *v, const char *names, bool keep)
{
	struct import_text *in = calloc(1, sizeof(*in));
	bool is_log = false;
	ssize_t n = -1;
	int err = 0;

	if (!in)
		return no_memory();
	if (!v->path)
		v->path = "trace.dat";
	in->path = v->path;
	in->fd = open(v->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (in->fd >= 0)
		n = pread(in->fd, in->text, HEAD_BYTES, 0);
	if (n > 0)
		is_log = kft_log_is(in->text, (size_t)n);
	if (is_log)
		err = read_log(kd, in, names);
	else if (names)
		err = fail(EINVAL, "'%s' is no log of KFT: it has its own names", v->path);
	if (in->fd >= 0)
		close(in->fd);
	free(in);
	return err || is_log ? err : read_recording(kd, v, keep);
}
