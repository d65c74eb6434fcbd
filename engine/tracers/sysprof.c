/* SPDX-License-Identifier: MIT */
/*
 * The sysprof tracer: a stack of each thread for every millisecond of its CPU time
 * (sources/sample.h). Records have the form of the kernel's sysprof tracer (2.6.26): `0 0 TID`
 * begins a sample, `2 ADDRESS FRAME` is one function (innermost first), `3 TID NUMBER` ends the
 * sample. The buffer may become full within a sample, so a reader uses only samples that have both
 * begin and end. trace_stat/sysprof counts, whether tracing_on is set or not. In the top instance
 * alone. fork: the child has its own samples and counts.
 * Costs: bench "sysprof". Tests: tests/engine/tracers/sysprof.
 */
#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/trace_stat.h"
#include "engine/core/tracer.h"
#include "engine/ring/ring_write.h"
#include "engine/sources/sample.h"

#define MAX_FRAMES 96u

enum { BEGIN, KERNEL_FRAME, FRAME, END };

struct special_record {
	uint64_t head, what, a, b;
};

static struct {
	uint64_t samples, missed, cut, lost;
} counts;

static int put(uint64_t what, uint64_t a, uint64_t b)
{
	struct special_record *r;
	struct ring_slot slot;

	if (!ring_reserve(global_trace.ring, &slot, sizeof(*r)))
		return 0;
	r = (struct special_record *)slot.words;
	r->what = what;
	r->a = a;
	r->b = b;
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_SPECIAL, sizeof(*r)));
	return 1;
}

static void note(const struct sample *s)
{
	struct sample_frame frames[MAX_FRAMES];
	const uint64_t tid = (uint64_t)sys_own_tid();
	uint32_t n, i;
	int whole;

	fetch_add(&counts.samples, 1);
	if (s->missed)
		fetch_add(&counts.missed, s->missed);
	if (!ring_is_on(global_trace.ring))
		return;
	n = sample_stack(s->context, frames, MAX_FRAMES);
	if (n == MAX_FRAMES)
		fetch_add(&counts.cut, 1);
	whole = put(BEGIN, 0, tid);
	for (i = 0; i < n && whole; i++)
		whole = put(FRAME, frames[i].ip, frames[i].sp);
	if (!whole || !put(END, tid, n))
		fetch_add(&counts.lost, 1);
}

static struct sample_listener listener = {.call = note};

static int sysprof_init(struct trace_array *tr)
{
	int err = ftrace_format_text(FTRACE_SPECIAL);

	(void)tr;
	if (err)
		return err;
	counts.samples = counts.missed = counts.cut = counts.lost = 0;
	return source_listen(&samples, &listener.link);
}

static void sysprof_reset(struct trace_array *tr)
{
	(void)tr;
	source_ignore(&samples, &listener.link);
}

static const struct tracer sysprof = {
	.name = "sysprof",
	.init = sysprof_init,
	.reset = sysprof_reset,
};
TRACER_REGISTER(sysprof);

static int stat_show(struct seq_buf *s)
{
	const struct sample_how how = sample_how();

	seq_puts(s, how.perf_err ? "# timers, at most " : "# perf task-clock, ");
	seq_putu(s, how.hz);
	seq_puts(s, " Hz, signal ");
	seq_putu(s, SAMPLE_SIGNAL);
	if (how.perf_err) {
		seq_puts(s, "; perf refuses with errno ");
		seq_putu(s, (uint64_t)-how.perf_err);
	}
	seq_puts(s, "\n# samples    missed  too deep  not recorded\n");
	seq_putu_right(s, counts.samples, 9);
	seq_putu_right(s, counts.missed, 10);
	seq_putu_right(s, counts.cut, 10);
	seq_putu_right(s, counts.lost, 14);
	seq_putc(s, '\n');
	return 0;
}

static const struct trace_stat sysprof_stat = {"sysprof", stat_show};
TRACE_STAT_REGISTER(sysprof_stat);

static void fork_sysprof(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_LEAVE)
		counts.samples = counts.missed = counts.cut = counts.lost = 0;
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_sysprof, NULL);
