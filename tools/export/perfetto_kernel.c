/* SPDX-License-Identifier: MIT */
/*
 * See perfetto_kernel.h. Field numbers are from Perfetto's ftrace_event.proto, sched.proto and
 * power.proto. Tests: tests/cli/test_export_perfetto.py, with protoc.
 */
#include "tools/export/perfetto_kernel.h"

#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/text/event_field.h"

#define NR_FIELDS  7u
#define TEXT_BYTES 256u

enum { FTRACE_TIMESTAMP = 1, FTRACE_PID };

/* number: of the event in FtraceEvent. Its fields have the numbers 1, 2, 3 ... in Perfetto. */
static const struct kernel_event {
	const char *system, *name;
	unsigned int number;
	const char *fields[NR_FIELDS];
} events[] = {
	{"sched",
	 "sched_switch",
	 4,
	 {"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid",
	  "next_prio"}},
	{"sched", "sched_wakeup", 17, {"comm", "pid", "prio", "success", "target_cpu"}},
	{"sched", "sched_waking", 20, {"comm", "pid", "prio", "success", "target_cpu"}},
	{"sched", "sched_wakeup_new", 114, {"comm", "pid", "prio", "success", "target_cpu"}},
	{"power", "cpu_frequency", 11, {"state", "cpu_id"}},
	{"power", "cpu_idle", 13, {"state", "cpu_id"}},
};

static const struct kernel_event *find(const struct tep_event *ev)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (!strcmp(ev->name, events[i].name) && !strcmp(ev->system, events[i].system))
			return &events[i];
	return NULL;
}

/* Write a field. Return: its value; 0: it is a text, or it is not in the record. */
static int64_t put_field(const struct tep_event *ev, const struct tep_format_field *f,
			 unsigned int number, const struct record *rec, struct protobuf *out)
{
	const char *data;
	size_t bytes = event_field_data(ev, f, rec, &data);
	char text[TEXT_BYTES];
	uint64_t v;

	if (!bytes)
		return 0;
	if (f->flags & TEP_FIELD_IS_STRING) {
		bytes = strnlen(data, bytes < TEXT_BYTES - 1 ? bytes : TEXT_BYTES - 1);
		memcpy(text, data, bytes);
		text[bytes] = '\0';
		protobuf_text(out, number, text);
		return 0;
	}
	if (!event_field_number_bytes((int)bytes))
		return 0;
	v = tep_read_number(ev->tep, data, (int)bytes);
	if (f->flags & TEP_FIELD_IS_SIGNED && bytes < 8)
		v = (uint64_t)((int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
	protobuf_number(out, number, v);
	return (int64_t)v;
}

bool perfetto_kernel_put(const struct reader *r, const struct record *rec, struct protobuf *event,
			 struct protobuf *part, struct perfetto_sched *sched)
{
	struct tep_event *ev =
		rec->kind == RECORD_EVENT && r->tep ? tep_find_event(r->tep, rec->event) : NULL;
	const struct kernel_event *known = ev ? find(ev) : NULL;

	*sched = (struct perfetto_sched){0};
	if (!known)
		return false;
	protobuf_clear(part);
	for (unsigned int i = 0; i < NR_FIELDS && known->fields[i]; i++) {
		struct tep_format_field *f = tep_find_field(ev, known->fields[i]);
		int64_t v = f ? put_field(ev, f, i + 1, rec, part) : 0;

		if (!strcmp(known->fields[i], "next_pid"))
			sched->running = (int32_t)v;
		else if (!strcmp(known->fields[i], "pid"))
			sched->woken = (int32_t)v;
	}
	protobuf_number(event, FTRACE_TIMESTAMP, rec->ts);
	protobuf_number(event, FTRACE_PID, (uint32_t)rec->pid);
	protobuf_message(event, known->number, part);
	protobuf_clear(part);
	return true;
}
