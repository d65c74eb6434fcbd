/* SPDX-License-Identifier: MIT */
/*
 * See threads.h. An array sorted by id, which is nearly the order of creation. A filter has a few
 * ranges of ids, with the widest gaps between them, and all ids above the newest one at its time.
 * So a new thread passes from its first moment on. So do threads of other processes, which the
 * reader of the records drops by means of the array. When ids begin anew (pid_max), the first
 * records of a new thread are missed, until the agent has seen its start and makes new filters. An
 * ended thread is kept for KEEP_NS, as the kernel's last records of it come later; a process is
 * kept until it is freed. fork: the child knows none. Tests: tests/engine/events/switches.
 */
#include "engine/sources/threads.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/sort.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/thread_list.h"

#define MAX_RANGES 8u
#define KEEP_NS	   10000000000u
#define IN_MAKING  64u /* threads that have an id and are not reported yet */

struct known {
	int tid;
	uint32_t what;
	uint64_t ended_ns; /* 0: the thread exists */
};

static struct known *known;
static uint32_t nr_known, room_known;
static int agent_tid, want_children;

struct range {
	int first, last;
};
static struct range
	/* of the last filter, and room for one that is about to be merged */
	ranges[MAX_RANGES + 1];
static uint32_t nr_ranges, newest_then;
static int missed;

/* The index of the first thread whose id is not below @tid. */
static uint32_t place_of(int tid)
{
	return LOWER_BOUND(i, 0, nr_known, known[i].tid < tid);
}

static struct known *find(int tid)
{
	uint32_t i = place_of(tid);

	return i < nr_known && known[i].tid == tid ? &known[i] : NULL;
}

static void prune(uint64_t now_ns)
{
	uint32_t i, n = 0;

	for (i = 0; i < nr_known; i++)
		if (!known[i].ended_ns || now_ns - known[i].ended_ns < KEEP_NS ||
		    (want_children && known[i].what == SCHED_CHILD))
			known[n++] = known[i];
	nr_known = n;
}

static int make_room(uint64_t now_ns)
{
	struct known *more;

	if (nr_known < room_known)
		return 0;
	prune(now_ns);
	if (nr_known < room_known / 4 * 3)
		return 0;
	/* a nearly full array counts as full: the few free rows would soon be used up again */
	more = heap_grow(known, room_known, &room_known, sizeof(*more));
	if (!more)
		return -ENOMEM;
	known = more;
	return 0;
}

static int add(int tid, uint32_t what, uint64_t now_ns)
{
	struct known *k = find(tid);
	uint32_t i;

	if (tid == agent_tid)
		return 0;
	if (!k) {
		if (make_room(now_ns))
			return -ENOMEM;
		i = place_of(tid);
		k = &known[i];
		memmove(k + 1, k, (nr_known - i) * sizeof(*k));
		nr_known++;
	}
	*k = (struct known){.tid = tid, .what = what};
	return 0;
}

static int passes(int tid)
{
	uint32_t i;

	for (i = 0; i < nr_ranges; i++)
		if (tid >= ranges[i].first && tid <= ranges[i].last)
			return 1;
	return tid > (int)newest_then;
}

void sched_threads_see(const struct perf_record *rec)
{
	int own = area->pid, tid = rec->task.tid;
	struct known *k = find(tid);

	if (rec->type == PERF_RECORD_EXIT) {
		if (k)
			k->ended_ns = rec->ns;
	} else if (rec->task.pid == own || (want_children && rec->task.ppid == own)) {
		add(tid, rec->task.pid == own ? SCHED_THREAD : SCHED_CHILD, rec->ns);
		missed |= !passes(tid);
	} else if (k) {
		sched_threads_freed(tid); /* the id belongs to another process now */
	}
}

void sched_threads_children(int want)
{
	want_children = want;
}

uint32_t sched_threads_find(int tid)
{
	const struct known *k = find(tid);

	return k ? k->what : 0;
}

void sched_threads_freed(int tid)
{
	struct known *k = find(tid);

	if (!k)
		return;
	memmove(k, k + 1, (size_t)(known + nr_known - (k + 1)) * sizeof(*k));
	nr_known--;
}

static int add_thread(int tid, void *data)
{
	(void)data;
	return add(tid, SCHED_THREAD, 0);
}

int sched_threads_start(int agent)
{
	agent_tid = agent;
	nr_known = 0;
	return thread_list_each(add_thread, NULL);
}

void sched_threads_stop(void)
{
	heap_free(known);
	sched_threads_fork();
}

void sched_threads_fork(void)
{
	known = NULL;
	nr_known = room_known = 0;
}

/* From the last word of /proc/loadavg. */
uint32_t sched_threads_newest(void)
{
	int fd = sys_open("/proc/loadavg", O_RDONLY | O_CLOEXEC, 0);
	char text[128];
	uint64_t newest = 0;
	long n, at;

	if (fd < 0)
		return 0;
	n = sys_read(fd, text, sizeof(text));
	sys_close(fd);
	for (at = n; at > 0 && text[at - 1] != ' '; at--)
		;
	if (at > 0)
		str_to_u64(text + at, (size_t)(n - at), &newest);
	return newest > IN_MAKING ? (uint32_t)newest - IN_MAKING : 0;
}

/* Add a range; if there are too many, close the narrowest gap. */
static void add_range(int tid)
{
	uint32_t i, at = 0;

	ranges[nr_ranges++] = (struct range){tid, tid};
	if (nr_ranges <= MAX_RANGES)
		return;
	for (i = 1; i + 1 < nr_ranges; i++)
		if (ranges[i + 1].first - ranges[i].last < ranges[at + 1].first - ranges[at].last)
			at = i;
	ranges[at].last = ranges[at + 1].last;
	nr_ranges--;
	for (i = at + 1; i < nr_ranges; i++)
		ranges[i] = ranges[i + 1];
}

static void find_ranges(void)
{
	uint32_t i;

	nr_ranges = 0;
	for (i = 0; i < nr_known; i++) {
		if (nr_ranges && known[i].tid == ranges[nr_ranges - 1].last + 1)
			ranges[nr_ranges - 1].last++;
		else
			add_range(known[i].tid);
	}
}

static void put_test(struct seq_buf *s, const char *field, const char *op, uint32_t id)
{
	seq_puts(s, field);
	seq_puts(s, op);
	seq_putu(s, id);
}

void sched_threads_filter(char *text, const char *const *fields, uint32_t newest)
{
	struct seq_buf s;
	uint32_t i;

	newest_then = newest;
	missed = 0;
	find_ranges();
	seq_init(&s, text, SCHED_FILTER_BYTES - 1);
	for (; *fields; fields++) {
		for (i = 0; i < nr_ranges; i++) {
			put_test(&s, *fields, ">=", (uint32_t)ranges[i].first);
			seq_puts(&s, "&&");
			put_test(&s, *fields, "<=", (uint32_t)ranges[i].last);
			seq_puts(&s, "||");
		}
		put_test(&s, *fields, ">", newest);
		if (fields[1])
			seq_puts(&s, "||");
	}
	text[s.len] = 0;
}

int sched_threads_missed(void)
{
	return missed;
}
