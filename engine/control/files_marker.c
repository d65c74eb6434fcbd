/* SPDX-License-Identifier: MIT */
/*
 * trace_marker: what is written to it stands in the trace as `tracing_mark_write: TEXT`, one record a
 * write, as by vestige_mark() inside the program. A text that is longer than a page takes goes on in
 * the next record. trace_marker_raw: a record of the event ftrace:raw_data, not divided. A mark that somebody
 * else writes names that thread; the raw record, which has no room for it, the agent's. errno as the
 * kernel's (6.12). Any thread; nothing for fork. Tests: tests/tracefs/test_files.py.
 */
#include <errno.h>

#include "abi/agent.h"
#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/core/describe.h"
#include "engine/core/options.h"
#include "engine/core/trace_array.h"
#include "engine/ring/ring_write.h"
#include "engine/ring/task.h"

#define HEAD_BYTES 16u /* head word, ip */
#define MAX_TEXT   3968u

/* What a mark has for its ip: who wrote it, 0 this thread. */
static uint64_t writer_word(const struct ring *ring, const struct agent_writer *w)
{
	if (!w || w->tid <= 0 || w->tid >= (int32_t)RECORD_MAX_TID)
		return 0;
	ring_task_elsewhere(ring, w->tid, w->tgid, w->comm);
	return (uint64_t)w->tid;
}

/* One write into an instance. */
static int mark(const struct trace_array *tr, const char *text, size_t n,
		const struct agent_writer *w)
{
	struct ring *ring = tr->ring;
	uint64_t writer;

	if (!option_is_on(tr, AREA_OPTION_MARKERS))
		return -EINVAL;
	if (!ring_is_on(ring))
		return -EBADF;
	writer = writer_word(ring, w);
	while (n) {
		uint32_t part = (uint32_t)(n < MAX_TEXT ? n : MAX_TEXT);
		uint32_t size = HEAD_BYTES + ((part + 1 + 7) & ~7u);
		struct ring_slot slot;

		if (!ring_reserve(ring, &slot, size))
			return -EBADF;
		slot.words[1] = writer;
		/* the page was cleared: NULs are there */
		memcpy(slot.words + 2, text, part);
		ring_commit(&slot, RECORD_PRINT, size);
		text += part;
		n -= part;
	}
	return 0;
}

int trace_marker_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint32_t i;

	(void)truncate;
	for (i = 1; trace_array_is_top(at->tr) && i < RING_MAX; i++) {
		const struct trace_array *tr = trace_array_at(i);

		if (tr && option_is_on(tr, AREA_OPTION_COPY_TRACE_MARKER))
			mark(tr, text, n, at->writer);
	}
	return mark(at->tr, text, n, at->writer);
}

#define RAW_DATA_ID 18u /* as in the kernel */

static const char raw_data_format[] =
	"name: raw_data\n"
	"ID: 18\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:unsigned int id;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:12;\tsize:0;\tsigned:0;\n"
	"\n"
	"print fmt: \"id:%04x %08x\", REC->id, (int)REC->buf[0]\n";

int trace_marker_raw_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	static int described;
	struct ring *ring = at->tr->ring;
	uint32_t bytes = 8 + (((uint32_t)n + 7) & ~7u);
	struct ring_slot slot;

	(void)truncate;
	if (!option_is_on(at->tr, AREA_OPTION_MARKERS))
		return -EINVAL;
	if (!ring_is_on(ring))
		return -EBADF;
	if (n < sizeof(uint32_t) || n > RING_MAX_RECORD - 8)
		return -EINVAL;
	if (!described) {
		int err = describe_event("ftrace", "raw_data", raw_data_format, RAW_DATA_ID);

		if (err)
			return err;
		described = 1;
	}
	if (!ring_reserve(ring, &slot, bytes))
		return -EBADF;
	/* the number and the data lie there as they came; the page was cleared */
	memcpy(slot.words + 1, text, n);
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(RAW_DATA_ID, bytes));
	return 0;
}
