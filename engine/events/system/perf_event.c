/* SPDX-License-Identifier: MIT */
/*
 * See perf_event.h: formats as Linux 6.12 has them. sources/sched_perf.c makes the records. fork:
 * the child has the same events on. Tests: tests/engine/events/sched, switches, wakings.
 */
#include "engine/events/system/perf_event.h"

#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/events/system/signal_event.h"
#include "engine/sources/sched_perf.h"

#define NR_ROWS (SCHED_FREE + 1)

#define STATES                                                                                     \
	"(((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "        \
	"0x00000020 | 0x00000040) + 1) << 1)"
#define SWITCH_PRINT                                                                               \
	"\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d "    \
	"next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & "       \
	"(" STATES " - 1)) ? __print_flags(REC->prev_state & (" STATES " - 1), \"|\", "            \
	"{ 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, "                    \
	"{ 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, "                    \
	"{ 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & " STATES         \
	" ? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio"
#define WAKEUP_PRINT                                                                               \
	"\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "             \
	"REC->target_cpu"

#define RUNTIME_PRINT                                                                              \
	"\"comm=%s pid=%d runtime=%Lu [ns]\", REC->comm, REC->pid, (unsigned long "                \
	"long)REC->runtime"
#define FREE_PRINT "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio"

static struct builtin_event rows[NR_ROWS] = {
	[SCHED_SWITCH] = {"sched", "sched_switch", sched_switch_fields, SWITCH_PRINT,
			  perf_event_enable},
	[SCHED_WAKING] = {"sched", "sched_waking", sched_wakeup_fields, WAKEUP_PRINT,
			  perf_event_enable},
	[SCHED_WAKEUP] = {"sched", "sched_wakeup", sched_wakeup_fields, WAKEUP_PRINT,
			  perf_event_enable},
	[SCHED_WAKEUP_NEW] = {"sched", "sched_wakeup_new", sched_wakeup_fields, WAKEUP_PRINT,
			      perf_event_enable},
	[SCHED_RUNTIME] = {"sched", "sched_stat_runtime", sched_runtime_fields, RUNTIME_PRINT,
			   perf_event_enable},
	[SCHED_FREE] = {"sched", "sched_process_free", sched_free_fields, FREE_PRINT,
			perf_event_enable},
};

static struct builtin_event *const by_kind[NR_SCHED_KINDS] = {
	[SCHED_SWITCH] = &rows[SCHED_SWITCH],	   [SCHED_WAKING] = &rows[SCHED_WAKING],
	[SCHED_WAKEUP] = &rows[SCHED_WAKEUP],	   [SCHED_WAKEUP_NEW] = &rows[SCHED_WAKEUP_NEW],
	[SCHED_RUNTIME] = &rows[SCHED_RUNTIME],	   [SCHED_FREE] = &rows[SCHED_FREE],
	[SCHED_GENERATE] = &signal_generate_event, [SCHED_DELIVER] = &signal_deliver_event,
};

static void note(const struct sched_call *c)
{
	builtin_event_write(by_kind[c->kind], c->record, c->bytes);
}

static void note_lost(struct sched_loss *loss)
{
	const struct event_file *f;
	uint32_t i;

	for (i = 0; i < NR_SCHED_KINDS; i++)
		for (f = by_kind[i]->event ? by_kind[i]->event->files : NULL; f; f = f->next)
			if (event_file_is_on(f) && f->tr->ring)
				sched_count_loss(loss, f->tr->ring);
}

static struct sched_listener listeners[NR_SCHED_KINDS];

int perf_event_enable(struct builtin_event *e, int on)
{
	uint32_t kind = 0;

	while (by_kind[kind] != e)
		kind++;
	return source_switch(&sched_sources[kind], &listeners[kind].link, on);
}

static void start(const struct lifecycle_start *how)
{
	static struct sched_lost_listener lost = {.call = note_lost};
	uint32_t i;

	(void)how;
	for (i = 0; i < NR_SCHED_KINDS; i++)
		listeners[i].call = note;
	source_listen(&sched_lost, &lost.link);
	builtin_events_add(rows, NR_ROWS);
	builtin_events_add(&signal_generate_event, 1);
	builtin_events_add(&signal_deliver_event, 1);
	sched_perf_instead(SCHED_GENERATE, signal_calls_see);
	sched_perf_instead(SCHED_DELIVER, signal_handlers_see);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
