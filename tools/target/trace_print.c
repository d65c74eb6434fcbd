/* SPDX-License-Identifier: MIT */
/* See trace_print.h. Tests: tests/cli/test_report.py, test_control.py. */
#include "tools/target/trace_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/target/trace_stream.h"

int trace_print(struct reader *r, const bool *cpus, uint32_t set, uint32_t keep)
{
	const struct trace_shape shape = {.cpus = cpus, .set = set, .keep = keep};
	struct trace_stream *s;
	struct out o;
	int ret;

	fflush(stdout);
	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	out_beside(&o);
	s = trace_stream_new(r, &o, &shape, &ret);
	if (s) {
		ret = trace_stream_all(s);
		if (!ret && trace_stream_too_deep(s))
			note("%" PRIu64 " calls were nested deeper than is kept and are left out",
			     trace_stream_too_deep(s));
		trace_stream_free(s);
	}
	return out_end_stdout(&o, ret, "the report");
}
