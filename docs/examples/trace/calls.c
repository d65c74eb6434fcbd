/* SPDX-License-Identifier: MIT */
/*
 * Each call of a recording in a line:
 *
 *	cc calls.c $(pkg-config --cflags --libs vestige-trace) -o calls
 *	./calls trace.dat
 */
#include <inttypes.h>
#include <stdio.h>
#include <vestige-trace.h>

int main(int argc, char **argv)
{
	struct vestige_trace *t = argc > 1 ? vestige_trace_open(argv[1]) : NULL;
	const struct vestige_trace_record *r;
	int ret;

	if (!t) {
		fprintf(stderr, "calls: %s\n", argc > 1 ? vestige_trace_error() : "name a file");
		return 1;
	}
	vestige_trace_kinds(t, VESTIGE_TRACE_CALL);
	while ((ret = vestige_trace_next(t, &r)) > 0)
		printf("%" PRIu64 " %" PRIu64 " %s-%d %s\n", r->time, r->duration, r->thread,
		       (int)r->tid, r->name);
	if (ret)
		fprintf(stderr, "calls: %s\n", vestige_trace_error());
	vestige_trace_close(t);
	return ret != 0;
}
