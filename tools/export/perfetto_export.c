/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's trace (perfetto.dev/docs/reference/trace-packet-proto; field numbers are below). A
 * track for each thread and each other stack, a slice for each call, an instant for each other
 * record. Names are interned. A packet is far below 1 MiB.
 *
 * Switches, wake-ups, CPU frequencies and idle states are also written as the kernel's events, from
 * which Perfetto makes states of threads and counters of CPUs. A wake-up is a flow: from the waker
 * to the next run of the woken thread. atrace's marks are slices and counters. Tests:
 * tests/cli/test_export.py, tests/cli/test_export_perfetto.py, with protoc.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"
#include "tools/base/hash_index.h"
#include "tools/export/call_export.h"
#include "tools/export/perfetto_kernel.h"
#include "tools/export/protobuf.h"
#include "tools/text/atrace_mark.h"
#include "tools/text/other_text.h"
#include "tools/reader/perfetto_fields.h"
#include "tools/reader/tasks.h"

enum descriptor {
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME,
	DESCRIPTOR_PROCESS,
	DESCRIPTOR_THREAD,
	DESCRIPTOR_PARENT,
	DESCRIPTOR_COUNTER = 8
};
enum process { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum thread { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };
enum interned { INTERNED_NAMES = 2 };
enum name { NAME_IID = 1, NAME_TEXT };
enum bundle { BUNDLE_CPU = 1, BUNDLE_EVENT };

/* A thread that was woken. */
struct waking {
	int32_t tid;
	uint64_t flow; /* from the wake-up; 0: the thread has run since */
};

struct perfetto {
	struct other_text *text;
	struct protobuf packet, part, inner, all;
	bool *named; /* by number of function: its name is interned */
	uint32_t nr_named;
	uint64_t *tracks; /* uuids of tracks whose descriptors are written */
	size_t nr_tracks, room_tracks;
	struct hash_index by_uuid; /* of tracks */
	struct waking *wakings;	   /* by tid */
	size_t nr_wakings, room_wakings;
	struct hash_index by_tid; /* of wakings */
	uint64_t nr_flows;
};

static void put_packet(struct call_export *x)
{
	struct perfetto *own = x->own;

	protobuf_number(&own->packet, PACKET_SEQUENCE, 1);
	protobuf_clear(&own->all);
	protobuf_message(&own->all, TRACE_PACKET, &own->packet);
	protobuf_clear(&own->packet);
	if (own->all.err)
		x->err = fail(ENOMEM, "out of memory");
	else
		out_write(&x->o, (const char *)own->all.bytes, own->all.nr);
}

/* Add a track. Return: true: it was added; false: it was there already, or x->err is set. */
static bool is_new_track(struct call_export *x, uint64_t uuid)
{
	struct perfetto *own = x->own;

	if (HASH_INDEX_FIND(&own->by_uuid, uuid, i, own->tracks[i] == uuid) >= 0)
		return false;
	if (ARRAY_ROOM(own->tracks, own->nr_tracks, own->room_tracks, 256) ||
	    hash_index_add(&own->by_uuid, uuid, (uint32_t)own->nr_tracks)) {
		x->err = fail(ENOMEM, "out of memory");
		return false;
	}
	own->tracks[own->nr_tracks++] = uuid;
	return true;
}

static void put_descriptor(struct call_export *x)
{
	struct perfetto *own = x->own;

	protobuf_message(&own->packet, PACKET_DESCRIPTOR, &own->part);
	protobuf_clear(&own->part);
	put_packet(x);
}

static uint64_t thread_uuid(struct call_export *x, int32_t tid)
{
	const struct tasks *tasks = x->v->r->tasks;
	struct perfetto *own = x->own;
	int32_t pid = tasks_tgid(tasks, tid);
	uint64_t uuid = (uint64_t)(uint32_t)tid << 32 | 1;

	if (!is_new_track(x, uuid))
		return uuid;
	protobuf_number(&own->part, DESCRIPTOR_UUID, uuid);
	protobuf_clear(&own->inner);
	protobuf_number(&own->inner, THREAD_PID, (uint64_t)(pid ? pid : tid));
	protobuf_number(&own->inner, THREAD_TID, (uint64_t)tid);
	protobuf_text(&own->inner, THREAD_NAME, tasks_comm(tasks, tid));
	protobuf_message(&own->part, DESCRIPTOR_THREAD, &own->inner);
	put_descriptor(x);
	return uuid;
}

static uint64_t track_of(struct call_export *x, const struct call *call)
{
	struct perfetto *own = x->own;
	uint64_t thread = thread_uuid(x, call->pid), uuid;
	char name[32];

	if (call_export_track(x, call) <= INT32_MAX)
		return thread;
	uuid = (uint64_t)(call->process + 1) << 40 | (uint64_t)call->stack << 1 | UINT64_C(1) << 63;
	if (!is_new_track(x, uuid))
		return uuid;
	snprintf(name, sizeof(name), "stack %u", call->stack);
	protobuf_number(&own->part, DESCRIPTOR_UUID, uuid);
	protobuf_text(&own->part, DESCRIPTOR_NAME, name);
	protobuf_number(&own->part, DESCRIPTOR_PARENT, thread);
	put_descriptor(x);
	return uuid;
}

static int perfetto_begin(struct call_export *x)
{
	struct perfetto *own = x->own;

	if (x->v->wish.min_ns)
		return fail(EINVAL, "this format has each call's beginning before its length is "
				    "known: --time-filter goes with chrome, csv and jsonl");
	own->text = other_text_new(x->v->r);
	if (!own->text)
		return -ENOMEM;
	protobuf_number(&own->packet, PACKET_FLAGS, FLAG_CLEARED);
	put_packet(x);
	return x->err;
}

/* The first packet with a function's number also has its name. */
static void intern(struct call_export *x, uint32_t function, const struct call_function *fn)
{
	struct perfetto *own = x->own;
	char buf[CALL_NAME_BYTES];

	while (own->nr_named <= function) {
		uint32_t room = own->nr_named ? 2 * own->nr_named : 1024;
		bool *more = realloc(own->named, room);

		if (!more) {
			x->err = fail(ENOMEM, "out of memory");
			return;
		}
		memset(more + own->nr_named, 0, room - own->nr_named);
		own->named = more;
		own->nr_named = room;
	}
	if (own->named[function])
		return;
	own->named[function] = true;
	protobuf_clear(&own->inner);
	protobuf_number(&own->inner, NAME_IID, function + UINT64_C(1));
	protobuf_text(&own->inner, NAME_TEXT, call_export_name(fn, buf));
	protobuf_message(&own->part, INTERNED_NAMES, &own->inner);
	protobuf_message(&own->packet, PACKET_INTERNED, &own->part);
	protobuf_clear(&own->part);
}

/* Write a packet with the event in own->part. */
static void put_event(struct call_export *x, uint64_t ts)
{
	struct perfetto *own = x->own;

	protobuf_message(&own->packet, PACKET_TRACK_EVENT, &own->part);
	protobuf_clear(&own->part);
	protobuf_number(&own->packet, PACKET_TIMESTAMP, ts);
	protobuf_number(&own->packet, PACKET_FLAGS, FLAG_NEEDS_STATE);
	put_packet(x);
}

static void perfetto_enter(struct call_export *x, const struct call *call,
			   const struct call_function *fn)
{
	struct perfetto *own = x->own;
	uint32_t function = (uint32_t)call->data;
	uint64_t track = track_of(x, call);

	intern(x, function, fn);
	protobuf_number(&own->part, EVENT_TYPE, TYPE_BEGIN);
	protobuf_number(&own->part, EVENT_TRACK, track);
	protobuf_number(&own->part, EVENT_NAME_IID, function + UINT64_C(1));
	put_event(x, call->start);
}

static void perfetto_call(struct call_export *x, const struct call *call, const struct call *parent,
			  const struct call_function *fn)
{
	struct perfetto *own = x->own;
	uint64_t track = track_of(x, call);

	(void)parent;
	(void)fn;
	protobuf_number(&own->part, EVENT_TYPE, TYPE_END);
	protobuf_number(&own->part, EVENT_TRACK, track);
	put_event(x, call->end);
}

/* The thread's row in wakings; NULL: there is none, or x->err is set. @make: add it if needed. */
static struct waking *find_waking(struct call_export *x, int32_t tid, bool make)
{
	struct perfetto *own = x->own;
	uint64_t hash = hash_u64((uint32_t)tid);
	int64_t found = HASH_INDEX_FIND(&own->by_tid, hash, i, own->wakings[i].tid == tid);

	if (found >= 0 || !make)
		return found < 0 ? NULL : &own->wakings[found];
	if (ARRAY_ROOM(own->wakings, own->nr_wakings, own->room_wakings, 64) ||
	    hash_index_add(&own->by_tid, hash, (uint32_t)own->nr_wakings)) {
		x->err = fail(ENOMEM, "out of memory");
		return NULL;
	}
	own->wakings[own->nr_wakings] = (struct waking){.tid = tid};
	return &own->wakings[own->nr_wakings++];
}

/* The thread runs: end the flow of its wake-up, if there is one. */
static void put_running(struct call_export *x, int32_t tid, uint64_t ts)
{
	struct perfetto *own = x->own;
	struct waking *w = find_waking(x, tid, false);
	uint64_t track;

	if (!w || !w->flow)
		return;
	track = thread_uuid(x, tid);
	protobuf_number(&own->part, EVENT_TYPE, TYPE_INSTANT);
	protobuf_number(&own->part, EVENT_TRACK, track);
	protobuf_text(&own->part, EVENT_CATEGORY, PERFETTO_FLOW_CATEGORY);
	protobuf_text(&own->part, EVENT_NAME, "runs");
	protobuf_fixed64(&own->part, EVENT_FLOWS_END, w->flow);
	put_event(x, ts);
	w->flow = 0;
}

/* Write the record as the kernel's event, if it is one. Return: the flow that begins; 0: none. */
static uint64_t put_kernel(struct call_export *x, const struct record *rec)
{
	struct perfetto *own = x->own;
	struct perfetto_sched sched;
	struct waking *w;

	protobuf_clear(&own->inner);
	if (!perfetto_kernel_put(x->v->r, rec, &own->inner, &own->part, &sched))
		return 0;
	protobuf_number(&own->part, BUNDLE_CPU, rec->cpu);
	protobuf_message(&own->part, BUNDLE_EVENT, &own->inner);
	protobuf_message(&own->packet, PACKET_FTRACE, &own->part);
	protobuf_clear(&own->part);
	put_packet(x);
	if (sched.running > 0)
		put_running(x, sched.running, rec->ts);
	w = sched.woken > 0 ? find_waking(x, sched.woken, true) : NULL;
	if (!w || w->flow) /* a sched_wakeup after its sched_waking, which began the flow */
		return 0;
	return w->flow = ++own->nr_flows;
}

static void describe(struct call_export *x, uint64_t uuid, const char *name, size_t bytes,
		     uint64_t parent, bool counter)
{
	struct perfetto *own = x->own;
	char of[128];

	snprintf(of, sizeof(of), "%.*s", (int)(bytes < sizeof(of) ? bytes : sizeof(of)), name);
	protobuf_number(&own->part, DESCRIPTOR_UUID, uuid);
	protobuf_text(&own->part, DESCRIPTOR_NAME, of);
	if (parent)
		protobuf_number(&own->part, DESCRIPTOR_PARENT, parent);
	protobuf_clear(&own->inner);
	if (counter)
		protobuf_message(&own->part, DESCRIPTOR_COUNTER, &own->inner);
	put_descriptor(x);
}

/*
 * The track of a mark. A counter and an asynchronous section have a track each. A section is on its
 * thread's track. If the recording has calls, a thread's sections have a separate track beneath it,
 * since they need not nest with the calls.
 */
static uint64_t mark_track(struct call_export *x, const struct record *rec,
			   const struct atrace_mark *mark)
{
	uint64_t thread = thread_uuid(x, rec->pid), uuid;
	size_t bytes = mark->whole ? strlen(mark->whole) : 0;

	if (mark->kind == 'B' || mark->kind == 'E') {
		uuid = thread | 2;
		if (!x->v->r->graph)
			return thread;
		if (is_new_track(x, uuid))
			describe(x, uuid, "sections", strlen("sections"), thread, false);
		return uuid;
	}
	if (mark->kind == 'C')
		bytes -= strlen(mark->number) + 1;
	/* different from a thread's, which is odd, and a stack's, which has the highest bit */
	uuid = hash_bytes(HASH_BYTES_SEED ^ (mark->kind == 'C'), mark->whole, bytes) & INT64_MAX &
	       ~UINT64_C(1);
	if (is_new_track(x, uuid))
		describe(x, uuid, mark->name, mark->name_bytes, 0, mark->kind == 'C');
	return uuid;
}

static void put_mark(struct call_export *x, const struct record *rec,
		     const struct atrace_mark *mark)
{
	struct perfetto *own = x->own;
	uint64_t track = mark_track(x, rec, mark);
	bool begins = mark->kind == 'B' || mark->kind == 'S';
	char *name;

	protobuf_number(&own->part, EVENT_TYPE,
			mark->kind == 'C' ? TYPE_COUNTER
			: begins	  ? TYPE_BEGIN
					  : TYPE_END);
	protobuf_number(&own->part, EVENT_TRACK, track);
	if (mark->kind == 'C')
		protobuf_number(&own->part, EVENT_COUNTER,
				(uint64_t)strtoll(mark->number, NULL, 10));
	if (begins) {
		name = strndup(mark->name, mark->name_bytes);
		if (!name)
			x->err = fail(ENOMEM, "out of memory");
		protobuf_text(&own->part, EVENT_NAME, name ? name : "");
		free(name);
	}
	put_event(x, rec->ts);
}

static void perfetto_other(struct call_export *x, const struct record *rec)
{
	struct perfetto *own = x->own;
	uint64_t track = thread_uuid(x, rec->pid);
	const char *name, *text, *buffer = call_export_record_buffer(x, rec);
	uint64_t flow = put_kernel(x, rec);
	struct atrace_mark mark;

	if (x->err)
		return;
	x->err = other_text_take(own->text, rec, &name, &text);
	if (!x->err && atrace_mark_of(rec, text, &mark)) {
		put_mark(x, rec, &mark);
		if (mark.kind != 'C') /* importers skip counters: write an instant as well */
			return;
	}
	protobuf_number(&own->part, EVENT_TYPE, TYPE_INSTANT);
	protobuf_number(&own->part, EVENT_TRACK, track);
	protobuf_text(&own->part, EVENT_NAME, name);
	protobuf_clear(&own->inner);
	protobuf_text(&own->inner, ANNOTATION_NAME, "text");
	protobuf_text(&own->inner, ANNOTATION_TEXT, text);
	protobuf_message(&own->part, EVENT_ANNOTATION, &own->inner);
	if (*buffer) {
		protobuf_clear(&own->inner);
		protobuf_text(&own->inner, ANNOTATION_NAME, "buffer");
		protobuf_text(&own->inner, ANNOTATION_TEXT, buffer);
		protobuf_message(&own->part, EVENT_ANNOTATION, &own->inner);
	}
	if (flow)
		protobuf_fixed64(&own->part, EVENT_FLOWS, flow);
	put_event(x, rec->ts);
}

static void perfetto_free(struct call_export *x)
{
	struct perfetto *own = x->own;

	other_text_free(own->text);
	protobuf_free(&own->packet);
	protobuf_free(&own->part);
	protobuf_free(&own->inner);
	protobuf_free(&own->all);
	free(own->named);
	free(own->tracks);
	hash_index_clear(&own->by_uuid);
	free(own->wakings);
	hash_index_clear(&own->by_tid);
}

int perfetto_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct perfetto),
						  .begin = perfetto_begin,
						  .enter = perfetto_enter,
						  .call = perfetto_call,
						  .other = perfetto_other,
						  .free = perfetto_free};

	(void)r;
	return call_export_each(path, opt, &format);
}
