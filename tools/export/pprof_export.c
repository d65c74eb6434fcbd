/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile (profile.proto of github.com/google/pprof; field numbers are below), compressed
 * with gzip, for `go tool pprof` and many services. Each path of callers to a function has a sample
 * with the number of calls, the self time in nanoseconds, and the thread's name as a label.
 * Tests: tests/cli/test_export.py.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tools/base/fail.h"
#include "tools/export/call_export.h"
#include "tools/export/call_path.h"
#include "tools/export/protobuf.h"
#include "tools/reader/tasks.h"

enum profile {
	SAMPLE_TYPE = 1,
	SAMPLE,
	MAPPING,
	LOCATION,
	FUNCTION,
	STRING_TABLE,
	DURATION = 10,
	DEFAULT_SAMPLE_TYPE = 14
};
enum value_type { VALUE_TYPE = 1, VALUE_UNIT };
enum sample { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum label { LABEL_KEY = 1, LABEL_STR };
enum location { LOCATION_ID = 1, LOCATION_ADDRESS = 3, LOCATION_LINE };
enum line { LINE_FUNCTION = 1 };
enum function { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

/* The first strings of the table. Then two for each function, then one for each thread. */
static const char *const strings[] = {"", "calls", "count", "time", "nanoseconds", "thread"};
enum { STR_NONE, STR_CALLS, STR_COUNT, STR_TIME, STR_NS, STR_THREAD, STR_FIRST };

#define GZIP_WINDOW (15 + 16) /* zlib.h: with a header of gzip */
#define FLUSH_BYTES (1u << 20)

struct pprof {
	struct call_export *x;
	const struct call_tree *t;
	struct protobuf all, part, inner;
	struct call_path path;
	z_stream z;
};

/* Compress the complete parts into the file. */
static void pack(struct pprof *p, int flush)
{
	if (p->all.err) {
		p->x->err = fail(ENOMEM, "out of memory");
		return;
	}
	out_deflate(&p->x->o, &p->z, p->all.bytes, p->all.nr, flush);
	protobuf_clear(&p->all);
}

/* Add the complete p->part as @field. */
static void put_part(struct pprof *p, enum profile field)
{
	protobuf_message(&p->all, field, &p->part);
	protobuf_clear(&p->part);
	if (p->all.nr >= FLUSH_BYTES)
		pack(p, Z_NO_FLUSH);
}

static void put_type(struct pprof *p, uint64_t type, uint64_t unit)
{
	protobuf_number(&p->part, VALUE_TYPE, type);
	protobuf_number(&p->part, VALUE_UNIT, unit);
	put_part(p, SAMPLE_TYPE);
}

static void put_sample(struct pprof *p, uint32_t i, uint32_t thread)
{
	const struct call_node *n = &p->t->nodes[i];

	p->x->err = call_path_of(&p->path, p->t, i);
	protobuf_clear(&p->inner);
	for (size_t k = 0; k < p->path.nr; k++)
		protobuf_packed(&p->inner, p->path.functions[k] + UINT64_C(1));
	protobuf_message(&p->part, SAMPLE_LOCATION, &p->inner);
	protobuf_clear(&p->inner);
	protobuf_packed(&p->inner, n->calls);
	protobuf_packed(&p->inner, n->self);
	protobuf_message(&p->part, SAMPLE_VALUE, &p->inner);
	protobuf_clear(&p->inner);
	protobuf_number(&p->inner, LABEL_KEY, STR_THREAD);
	protobuf_number(&p->inner, LABEL_STR,
			STR_FIRST + UINT64_C(2) * call_filter_nr(p->t->filter) + thread);
	protobuf_message(&p->part, SAMPLE_LABEL, &p->inner);
	put_part(p, SAMPLE);
}

static void put_functions(struct pprof *p)
{
	for (uint32_t i = 0; i < call_filter_nr(p->t->filter) && !p->x->o.err; i++) {
		const struct call_function *fn = call_filter_function(p->t->filter, i);

		protobuf_number(&p->part, LOCATION_ID, i + UINT64_C(1));
		protobuf_number(&p->part, LOCATION_ADDRESS, fn->ip);
		protobuf_clear(&p->inner);
		protobuf_number(&p->inner, LINE_FUNCTION, i + UINT64_C(1));
		protobuf_message(&p->part, LOCATION_LINE, &p->inner);
		put_part(p, LOCATION);
		protobuf_number(&p->part, FUNCTION_ID, i + UINT64_C(1));
		protobuf_number(&p->part, FUNCTION_NAME, STR_FIRST + UINT64_C(2) * i);
		protobuf_number(&p->part, FUNCTION_SYSTEM_NAME, STR_FIRST + UINT64_C(2) * i);
		protobuf_number(&p->part, FUNCTION_FILE, STR_FIRST + UINT64_C(2) * i + 1);
		put_part(p, FUNCTION);
	}
}

static void put_strings(struct pprof *p)
{
	char buf[CALL_NAME_BYTES];

	for (size_t i = 0; i < STR_FIRST; i++)
		protobuf_text(&p->all, STRING_TABLE, strings[i]);
	for (uint32_t i = 0; i < call_filter_nr(p->t->filter); i++) {
		const struct call_function *fn = call_filter_function(p->t->filter, i);

		protobuf_text(&p->all, STRING_TABLE, call_export_name(fn, buf));
		protobuf_text(&p->all, STRING_TABLE, call_export_object(p->x->v, fn));
	}
	for (uint32_t i = p->t->nodes[0].first_child; i; i = p->t->nodes[i].next)
		protobuf_text(&p->all, STRING_TABLE,
			      tasks_comm(p->x->v->r->tasks, (int32_t)p->t->nodes[i].function));
}

static void put_pprof(struct call_export *x, const struct call_tree *t)
{
	struct pprof p = {.x = x, .t = t};
	uint32_t thread = UINT32_MAX;
	unsigned int depth = 0;

	if (deflateInit2(&p.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		x->err = fail(ENOMEM, "out of memory");
		return;
	}
	put_type(&p, STR_CALLS, STR_COUNT);
	put_type(&p, STR_TIME, STR_NS);
	for (uint32_t i = call_tree_next(t, 0, &depth); i && !x->err && !x->o.err;
	     i = call_tree_next(t, i, &depth)) {
		if (t->nodes[i].thread)
			thread++;
		else
			put_sample(&p, i, thread);
	}
	put_functions(&p);
	put_strings(&p);
	protobuf_number(&p.all, DURATION, x->v->last_ts - x->v->first_ts);
	protobuf_number(&p.all, DEFAULT_SAMPLE_TYPE, STR_TIME);
	pack(&p, Z_FINISH);
	deflateEnd(&p.z);
	protobuf_free(&p.all);
	protobuf_free(&p.part);
	protobuf_free(&p.inner);
	call_path_free(&p.path);
}

int pprof_export(const char *path, struct reader *r, const struct export_options *opt)
{
	(void)r;
	return call_export_tree(path, opt, put_pprof);
}
