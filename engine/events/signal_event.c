/* SPDX-License-Identifier: MIT */
/*
 * See signal_event.h. Both events are the kernel's own records where its tracepoints may be opened
 * (sched_perf.c). Elsewhere signal_generate is told by the calls that send one (signal_calls.c), and
 * signal_deliver by the handlers that are called (signal_handlers.c). fork: the same in the child.
 * Tests: tests/engine/events/signals.
 */
#include "engine/events/signal_event.h"

#include "engine/events/sched_perf.h"
#include "engine/events/signal_record.h"

static const struct vestige_event_field generate_fields[] = {
	OWN_FIELD(struct signal_generate_record, sig, "int", 1),
	OWN_FIELD_AS(struct signal_generate_record, error, "errno", "int", 1),
	OWN_FIELD(struct signal_generate_record, code, "int", 1),
	OWN_FIELD(struct signal_generate_record, comm, "char[16]", 0),
	OWN_FIELD(struct signal_generate_record, pid, "pid_t", 1),
	OWN_FIELD(struct signal_generate_record, group, "int", 1),
	OWN_FIELD(struct signal_generate_record, result, "int", 1),
	OWN_FIELDS_END,
};
static const struct vestige_event_field deliver_fields[] = {
	OWN_FIELD(struct signal_deliver_record, sig, "int", 1),
	OWN_FIELD_AS(struct signal_deliver_record, error, "errno", "int", 1),
	OWN_FIELD(struct signal_deliver_record, code, "int", 1),
	OWN_FIELD_AS(struct signal_deliver_record, handler, "sa_handler", "unsigned long", 0),
	OWN_FIELD_AS(struct signal_deliver_record, flags, "sa_flags", "unsigned long", 0),
	OWN_FIELDS_END,
};

struct own_event signal_generate_event = {
	.system = "signal",
	.name = "signal_generate",
	.fields = generate_fields,
	.print_fmt = "\"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d\", REC->sig, "
		     "REC->errno, REC->code, REC->comm, REC->pid, REC->group, REC->result",
	.enable = sched_perf_enable,
};
struct own_event signal_deliver_event = {
	.system = "signal",
	.name = "signal_deliver",
	.fields = deliver_fields,
	.print_fmt = "\"sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx\", REC->sig, "
		     "REC->errno, REC->code, REC->sa_handler, REC->sa_flags",
	.enable = sched_perf_enable,
};
