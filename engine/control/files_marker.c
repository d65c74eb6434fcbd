/* SPDX-License-Identifier: MIT */
/*
 * trace_marker: a text written to it is in the trace as `tracing_mark_write: TEXT`, one record for
 * each write, as vestige_mark() makes it inside the program. A text that is too long for a page
 * continues in the next record. trace_marker_raw: a record of the event ftrace:raw_data, never
 * divided. If another process writes the mark, the record names that process's thread; the raw
 * record has no room for that, so it is a proxy record of the thread. errno as the kernel's (6.12).
 * Any thread; nothing for fork. Tests:
 * tests/tracefs/test_files.py.
 */
#include <errno.h>

#include "abi/agent.h"
#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/options.h"
#include "engine/core/trace_array.h"
#include "engine/events/ftrace_event.h"
#include "engine/ring/proxy.h"
#include "engine/ring/ring_write.h"
#include "engine/ring/task.h"

/* The ip of a mark: the id of the thread that wrote it; 0: the recording thread. */
static uint64_t writer_word(struct ring *ring, const struct agent_writer *w)
{
	if (!w || w->tid <= 0 || w->tid >= (int32_t)RECORD_MAX_TID)
		return 0;
	ring_task_elsewhere(ring, w->tid, w->tgid, w->comm);
	return (uint64_t)w->tid;
}

static struct ring_as as_writer(const struct agent_writer *w)
{
	struct ring_as as = {
		.tid = w->tid, .tgid = w->tgid, .cpu = arch_cpu(), .stamp = ring_clock()};

	str_copy(as.comm, sizeof(as.comm), w->comm);
	return as;
}

/*
 * Print for another thread, so that filters and triggers see it as the writer. Under the tree lock;
 * the agent blocks all signals.
 */
static int print_as(struct trace_array *tr, const struct agent_writer *w, const void *writer,
		    const char *text, uint32_t n)
{
	const struct ring_as as = as_writer(w);
	int ret;

	ring_as = &as;
	ret = ftrace_print(tr, writer, text, n);
	ring_as = NULL;
	return ret;
}

/* Carry out one write, into one instance. */
static int mark(struct trace_array *tr, const char *text, size_t n, const struct agent_writer *w)
{
	const void *writer;

	if (!option_is_on(tr, AREA_OPTION_MARKERS))
		return -EINVAL;
	if (!ring_is_on(tr->ring))
		return -EBADF;
	writer = (const void *)(uintptr_t)writer_word(tr->ring, w);
	while (n) {
		uint32_t part = (uint32_t)(n < FTRACE_PRINT_MAX ? n : FTRACE_PRINT_MAX);
		int ret = writer ? print_as(tr, w, writer, text, part)
				 : ftrace_print(tr, writer, text, part);

		if (ret < 0)
			return ret;
		text += part;
		n -= part;
	}
	return 0;
}

static int trace_marker_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint32_t i;

	(void)truncate;
	for (i = 1; trace_array_is_top(at->tr) && i < RING_MAX; i++) {
		struct trace_array *tr = trace_array_at(i);

		if (tr && option_is_on(tr, AREA_OPTION_COPY_TRACE_MARKER))
			mark(tr, text, n, at->writer);
	}
	return mark(at->tr, text, n, at->writer);
}

/* Reserve a proxy record of the writer. */
static int reserve_as(struct ring *ring, struct ring_slot *slot, uint32_t bytes,
		      const struct agent_writer *w)
{
	struct ring_as as;
	int ret;

	if (!w || w->tid <= 0)
		return ring_reserve(ring, slot, bytes);
	as = as_writer(w);
	ring_as = &as;
	ret = ring_reserve_as_other(ring, slot, bytes);
	ring_as = NULL;
	return ret;
}

static int trace_marker_raw_store(const struct tree_at *at, const char *text, size_t n,
				  int truncate)
{
	struct ring *ring = at->tr->ring;
	/* the size is a multiple of 4, as the kernel's */
	uint32_t of_event = 8 + (((uint32_t)n + 3) & ~3u), bytes = (of_event + 7) & ~7u;
	struct ring_slot slot;
	int err;

	(void)truncate;
	if (!option_is_on(at->tr, AREA_OPTION_MARKERS))
		return -EINVAL;
	if (!ring_is_on(ring))
		return -EBADF;
	if (n < sizeof(uint32_t) || n > RING_MAX_RECORD - 8)
		return -EINVAL;
	err = ftrace_format_text(FTRACE_RAW_DATA);
	if (err)
		return err;
	if (!reserve_as(ring, &slot, bytes, at->writer))
		return -EBADF;
	/* the number and the data are copied as they came; the page is already zero */
	memcpy(slot.words + 1, text, n);
	ring_commit(&slot, RECORD_EVENT,
		    RECORD_EVENT_ID(FTRACE_RAW_DATA, bytes) |
			    (of_event < bytes ? RECORD_EVENT_HALF : 0));
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"trace_marker", 0222, .nul = TREE_NUL_STAYS, .store = trace_marker_store,
	 .help = "a text that is written here is in the trace"},
	{"trace_marker_raw", 0222, .nul = TREE_NUL_STAYS, .store = trace_marker_raw_store,
	 .help = "the same of bytes: four of a number, and data"},
};
/* clang-format on */
TREE_FILES(rows);
