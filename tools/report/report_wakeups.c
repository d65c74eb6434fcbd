/* SPDX-License-Identifier: MIT */
/* `report -w`: the time from sched_wakeup to the sched_switch to the task. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/array.h"
#include "tools/report/report_impl.h"

struct woken {
	int32_t pid;
	bool waits;
	uint64_t ts;
};

struct report_wakeups {
	int switch_id, wakeup_id, wakeup_new_id;
	struct dat_field next_pid, pid, new_pid, success, new_success;
	struct woken *at; /* by pid */
	size_t nr, room;
	uint64_t count, total, max, max_ts, min, min_ts;
};

static struct dat_field field_of(struct tep_event *ev, const char *name)
{
	struct tep_format_field *f = ev ? tep_find_field(ev, name) : NULL;

	if (!f || f->offset < 0 || f->offset > UINT16_MAX || f->size <= 0 || f->size > 8)
		return (struct dat_field){0, 0};
	return (struct dat_field){.offset = (uint16_t)f->offset, .bytes = (uint16_t)f->size};
}

struct report_wakeups *report_wakeups_new(struct report_file *f)
{
	struct report_wakeups *w = calloc(1, sizeof(*w));
	struct tep_handle *tep = line_tep(f->line);
	struct tep_event *ev;

	if (!w)
		return NULL;
	w->switch_id = w->wakeup_id = w->wakeup_new_id = -1;
	ev = tep_find_event_by_name(tep, "sched", "sched_switch");
	w->next_pid = field_of(ev, "next_pid");
	if (w->next_pid.bytes)
		w->switch_id = ev->id;
	ev = tep_find_event_by_name(tep, "sched", "sched_wakeup");
	w->pid = field_of(ev, "pid");
	w->success = field_of(ev, "success");
	if (w->pid.bytes)
		w->wakeup_id = ev->id;
	ev = tep_find_event_by_name(tep, "sched", "sched_wakeup_new");
	w->new_pid = field_of(ev, "pid");
	w->new_success = field_of(ev, "success");
	if (w->new_pid.bytes)
		w->wakeup_new_id = ev->id;
	return w;
}

void report_wakeups_free(struct report_wakeups *w)
{
	if (w)
		free(w->at);
	free(w);
}

/* The task's row; NULL: memory is short. */
static struct woken *row(struct report_wakeups *w, int32_t pid)
{
	size_t lo = LOWER_BOUND(i, 0, w->nr, w->at[i].pid < pid);

	if (lo < w->nr && w->at[lo].pid == pid)
		return &w->at[lo];
	if (ARRAY_ROOM(w->at, w->nr, w->room, 64))
		return NULL;
	memmove(&w->at[lo + 1], &w->at[lo], (w->nr - lo) * sizeof(*w->at));
	w->nr++;
	w->at[lo] = (struct woken){.pid = pid};
	return &w->at[lo];
}

static uint64_t get(const struct report_file *f, const struct record *rec, struct dat_field at)
{
	if (!at.bytes || (uint32_t)at.offset + at.bytes > rec->data_bytes)
		return 0;
	return line_number(f->line, (const char *)rec->data + at.offset, at.bytes);
}

static void woke(struct report_wakeups *w, const struct report_file *f, const struct record *rec,
		 uint64_t ts, bool new)
{
	struct dat_field success = new ? w->new_success : w->success;
	struct woken *at;

	if (success.bytes && !get(f, rec, success))
		return;
	at = row(w, (int32_t)get(f, rec, new ? w->new_pid : w->pid));
	if (!at || at->waits)
		return;
	at->waits = true;
	at->ts = ts;
}

void report_wakeups_record(struct report_wakeups *w, struct out *o, struct report_file *f,
			   const struct record *rec, uint64_t ts)
{
	struct woken *at;
	uint64_t took;

	if (rec->event == w->wakeup_id || rec->event == w->wakeup_new_id) {
		woke(w, f, rec, ts, rec->event == w->wakeup_new_id);
		return;
	}
	if (rec->event != w->switch_id)
		return;
	at = row(w, (int32_t)get(f, rec, w->next_pid));
	if (!at || !at->waits)
		return;
	at->waits = false;
	took = ts - at->ts;
	w->count++;
	w->total += took;
	if (took > w->max) {
		w->max = took;
		w->max_ts = ts;
	}
	if (!w->min_ts || took < w->min) {
		w->min = took;
		w->min_ts = ts;
	}
	out_printf(o, " Latency: %.3f usecs", (double)took / 1000);
}

static void put_one(struct out *o, const char *what, uint64_t ns, uint64_t ts)
{
	out_printf(o, "%s Latency: %.3f usecs at timestamp: %" PRIu64 ".%06" PRIu64 "\n", what,
		   (double)ns / 1000, (ts + 500) / 1000 / 1000000, (ts + 500) / 1000 % 1000000);
}

void report_wakeups_end(const struct report_wakeups *w, struct out *o)
{
	if (!w->count)
		return;
	out_printf(o, "\nAverage wakeup latency: %.3f usecs\n",
		   (double)(w->total / w->count) / 1000);
	put_one(o, "Maximum", w->max, w->max_ts);
	put_one(o, "Minimum", w->min, w->min_ts);
	out_text(o, "\n");
}
