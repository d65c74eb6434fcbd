/* SPDX-License-Identifier: MIT */
/*
 * See leak_text.h. The records are in that order already; a stack is the record behind its sum.
 * Each process of a recording has a section of the text. Tests: tests/engine/tracers/kmemtrace.
 */
#include "tools/text/leak_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/analysis/merge.h"
#include "tools/base/fail.h"
#include "tools/text/event_text.h"

static const struct tep_event *ftrace_event(struct reader *r, const struct record *rec)
{
	const struct tep_event *ev = NULL;

	if (rec->kind == RECORD_EVENT && r->tep)
		ev = tep_find_event(r->tep, rec->event);
	return ev && !strcmp(ev->system, "ftrace") ? ev : NULL;
}

static uint64_t word(const struct record *rec, uint32_t at)
{
	uint64_t v = 0;

	if (at + sizeof(v) <= rec->data_bytes)
		memcpy(&v, (const char *)rec->data + at, sizeof(v));
	return v;
}

static int print_all(struct reader *r, struct out *o, struct event_text *text, uint64_t sum[2])
{
	struct merge *m = merge_new(r);
	const struct record *rec;
	int32_t pid = 0; /* whose stack comes next */
	int ret;

	if (!m)
		return fail(ENOMEM, "out of memory");
	while ((ret = merge_next(m, &rec)) > 0) {
		const struct tep_event *ev = ftrace_event(r, rec);

		if (!ev)
			continue;
		if (!strcmp(ev->name, "kmem_leak")) {
			sum[0] += word(rec, 8);
			sum[1] += word(rec, 16);
			pid = rec->pid;
		} else if (pid != rec->pid || strcmp(ev->name, "kernel_stack") != 0) {
			continue;
		} else {
			pid = 0;
		}
		event_text_record(text, o, rec);
	}
	merge_free(m);
	return ret;
}

int leak_text_print(struct reader *r, struct out *o)
{
	struct event_text *text = event_text_new(r);
	uint64_t sum[2] = {0};
	int ret;

	if (!text)
		return fail(ENOMEM, "out of memory");
	ret = print_all(r, o, text, sum);
	if (!ret)
		out_printf(o, "# not released: %" PRIu64 " bytes in %" PRIu64 " blocks\n", sum[0],
			   sum[1]);
	event_text_free(text);
	return ret;
}
