/* SPDX-License-Identifier: MIT */
/*
 * Events with their fields: cc events.c $(pkg-config --cflags --libs vestige-trace) -o events
 *
 *	./events trace.dat 'sched:*'
 */
#include <inttypes.h>
#include <stdio.h>
#include <vestige-trace.h>

static void put_field(const struct vestige_trace_field *f)
{
	switch (f->type) {
	case VESTIGE_TRACE_UNSIGNED:
		printf(f->is_pointer ? " %s=0x%" PRIx64 : " %s=%" PRIu64, f->name, f->number);
		break;
	case VESTIGE_TRACE_SIGNED:
		printf(" %s=%" PRId64, f->name, (int64_t)f->number);
		break;
	case VESTIGE_TRACE_STRING:
		printf(" %s=%s", f->name, (const char *)f->data);
		break;
	default:
		printf(" %s=[%u bytes]", f->name, (unsigned int)f->bytes);
	}
}

int main(int argc, char **argv)
{
	struct vestige_trace *t = argc > 2 ? vestige_trace_open(argv[1]) : NULL;
	const struct vestige_trace_record *r;
	const struct vestige_trace_field *f;
	int ret;

	if (!t) {
		fprintf(stderr, "events: %s\n",
			argc > 2 ? vestige_trace_error() : "name a file and a glob");
		return 1;
	}
	vestige_trace_kinds(t, VESTIGE_TRACE_EVENT);
	vestige_trace_event_filter(t, argv[2]);
	while ((ret = vestige_trace_next(t, &r)) > 0) {
		printf("%" PRIu64 " %s:%s", r->time, r->system, r->name);
		for (unsigned int i = 0; (f = vestige_trace_field(t, i)); i++)
			put_field(f);
		putchar('\n');
	}
	if (ret)
		fprintf(stderr, "events: %s\n", vestige_trace_error());
	vestige_trace_close(t);
	return ret != 0;
}
