/* SPDX-License-Identifier: MIT */
/*
 * See run_delay.h. The kernel counts a run when the thread gets a CPU, so if there is a single run
 * between two reads, it is the run of the switch's record. A switch within MARGIN_NS of a read may
 * be counted in it or not, so its wait does not count as exact. Costs: one read of a file of /proc
 * for each thread that got a CPU, once in each turn of the agent. fork: the child reads again.
 * Tests: tests/engine/tracers/wakeup.
 */
#include "engine/sources/run_delay.h"

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/thread_list.h"
#include "engine/ring/ring.h"
#include "engine/sources/sched_perf.h"

#define MARGIN_NS 50000u

/* Read the next number of a text of numbers and blanks. */
static uint64_t next_number(const char **text)
{
	uint64_t v;

	while (**text == ' ')
		(*text)++;
	*text += text_decimal(*text, SIZE_MAX, &v);
	return v;
}

/* Return: 0; -errno: the process has no such thread, or the file does not exist. */
static int read_delay(int tid, uint64_t *waited_ns, uint64_t *nr_runs)
{
	char text[96];
	const char *at = text;
	long n = thread_list_read(tid, "schedstat", text, sizeof(text));

	if (n < 0)
		return (int)n;
	next_number(&at); /* the time that it ran */
	*waited_ns = next_number(&at);
	*nr_runs = next_number(&at);
	return 0;
}

/* Whether the thread sleeps now. */
static int sleeps(int tid)
{
	char text[256], state;

	if (thread_list_read(tid, "stat", text, sizeof(text)) <= 0)
		return 0;
	state = *thread_list_stat(text, STAT_STATE);
	return state == 'S' || state == 'D';
}

void run_delay_begin(struct run_delay *d, int tid)
{
	uint64_t waited_ns = 0, nr_runs = 0;

	*d = (struct run_delay){0};
	if (read_delay(tid, &waited_ns, &nr_runs))
		return;
	d->waited_ns = waited_ns;
	d->nr_runs = nr_runs;
	d->slept = (uint8_t)sleeps(tid);
	d->read_ns = ring_clock_mono();
}

void run_delay_left(struct run_delay *d, int64_t state)
{
	d->slept = (state & 0xff) != 0;
}

enum run_delay_sort run_delay_came(struct run_delay *d, int tid, uint64_t ns, uint64_t *waited_ns)
{
	struct run_delay was = *d;
	uint64_t runs;

	d->slept = 0;
	/* the last read counted this run */
	if (was.read_ns && ns < was.read_ns)
		return RUN_DELAY_UNKNOWN;
	if (read_delay(tid, &d->waited_ns, &d->nr_runs))
		return RUN_DELAY_UNKNOWN;
	d->read_ns = ring_clock_mono();
	/* the id belongs to a new thread now */
	if (d->nr_runs < was.nr_runs)
		was = (struct run_delay){0};
	runs = d->nr_runs - was.nr_runs;
	*waited_ns = d->waited_ns - was.waited_ns;
	/* a new thread was woken when it was made */
	if (was.read_ns && (!was.slept || !runs))
		return RUN_DELAY_UNKNOWN;
	return runs == 1 && ns > was.read_ns + MARGIN_NS ? RUN_DELAY_EXACT : RUN_DELAY_AT_MOST;
}

const char *run_delay_refused(void)
{
	const char *why = sched_perf_no_switches();
	uint64_t waited_ns, nr_runs = 0;

	if (why)
		return why;
	/* the calling thread must have run at least once */
	if (read_delay(sys_gettid(), &waited_ns, &nr_runs) || !nr_runs)
		return "the kernel has no run_delay in /proc/self/task/TID/schedstat "
		       "(CONFIG_SCHED_INFO)";
	return NULL;
}
