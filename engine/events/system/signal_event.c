/* SPDX-License-Identifier: MIT */
/*
 * See signal_event.h. Both events are the kernel's own records where its tracepoints may be opened
 * (sources/sched_perf.c). Elsewhere signal_generate comes from the calls that send signals, and
 * signal_deliver from the calls of handlers (sources/signal.h). fork: the same in the child. Tests:
 * tests/engine/events/signals.
 */
#include "engine/events/system/signal_event.h"

#include "engine/events/system/perf_event.h"
#include "engine/sources/perf_kinds.h"
#include "engine/sources/signal_record.h"
#include "engine/sources/signal.h"

struct builtin_event signal_generate_event = {
	.system = "signal",
	.name = "signal_generate",
	.fields = signal_generate_fields,
	.print_fmt = "\"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d\", REC->sig, "
		     "REC->errno, REC->code, REC->comm, REC->pid, REC->group, REC->result",
	.enable = perf_event_enable,
};
struct builtin_event signal_deliver_event = {
	.system = "signal",
	.name = "signal_deliver",
	.fields = signal_deliver_fields,
	.print_fmt = "\"sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx\", REC->sig, "
		     "REC->errno, REC->code, REC->sa_handler, REC->sa_flags",
	.enable = perf_event_enable,
};

static void note_send(int sig, int code, int pid, int group)
{
	struct signal_generate_record rec = {.sig = sig, .code = code, .pid = pid, .group = group};

	sched_task_comm(pid, rec.comm);
	builtin_event_write(&signal_generate_event, &rec, sizeof(rec));
}

static void note_handler(int sig, const siginfo_t *info, uint64_t handler, uint64_t flags)
{
	struct signal_deliver_record rec = {.sig = sig,
					    .error = info->si_errno,
					    .code = info->si_code,
					    .handler = handler,
					    .flags = flags};

	builtin_event_write(&signal_deliver_event, &rec, sizeof(rec));
}

int signal_calls_see(int on)
{
	static struct signal_send_listener listener = {.call = note_send};

	return source_switch(&signal_sends, &listener.link, on);
}

int signal_handlers_see(int on)
{
	static struct signal_handler_listener listener = {.call = note_handler};

	return source_switch(&signal_handlers, &listener.link, on);
}
