/* SPDX-License-Identifier: MIT */
/* See perf_sample.h. Any context; no state. Tests: tests/unit/test_perf_sample.c. */
#include "engine/process/perf_sample.h"

#include "engine/base/mem.h"

#define HEAD_BYTES 8u /* struct perf_event_header */

/* The common fields in perf's order (perf_event_open(2)). */
struct who {
	int32_t pid, tid;
	uint64_t ns;
};

struct where {
	uint32_t cpu, reserved;
	uint64_t period;
};

struct rest {
	const uint8_t *at;
	uint32_t bytes;
};

/* Take the next @n bytes. Return: 1; 0: there are fewer. */
static int take(struct rest *r, void *to, uint32_t n)
{
	if (n > r->bytes)
		return 0;
	memcpy(to, r->at, n);
	r->at += n;
	r->bytes -= n;
	return 1;
}

static int take_raw(struct rest *r, struct perf_record *rec)
{
	uint32_t n;

	if (!take(r, &n, sizeof(n)) || n > r->bytes)
		return 0;
	rec->raw = r->at;
	rec->raw_bytes = n;
	r->at += n;
	r->bytes -= n;
	return 1;
}

static int take_branches(struct rest *r, struct perf_record *rec)
{
	uint64_t n;

	if (!take(r, &n, sizeof(n)) || n > r->bytes / sizeof(struct perf_branch_entry))
		return 0;
	rec->branches = r->at;
	rec->nr_branches = (uint32_t)n;
	return 1;
}

int perf_sample_id(const uint8_t *p, uint32_t bytes, uint64_t *id)
{
	struct rest r = {p + HEAD_BYTES, bytes - HEAD_BYTES};

	return bytes >= HEAD_BYTES && take(&r, id, sizeof(*id));
}

int perf_sample_take(struct perf_record *rec, uint64_t sample_type, const uint8_t *p,
		     uint32_t bytes)
{
	struct rest r = {p + HEAD_BYTES, bytes - HEAD_BYTES};
	struct perf_record got = *rec;
	struct where where;
	struct who who;

	if (bytes < HEAD_BYTES || !take(&r, &got.id, sizeof(got.id)) ||
	    (sample_type & PERF_SAMPLE_IP && !take(&r, &got.ip, sizeof(got.ip))) ||
	    !take(&r, &who, sizeof(who)) ||
	    (sample_type & PERF_SAMPLE_ADDR && !take(&r, &got.addr, sizeof(got.addr))) ||
	    !take(&r, &where, sizeof(where)) ||
	    (sample_type & PERF_SAMPLE_RAW && !take_raw(&r, &got)) ||
	    (sample_type & PERF_SAMPLE_BRANCH_STACK && !take_branches(&r, &got)))
		return 0;
	got.pid = who.pid;
	got.tid = who.tid;
	got.ns = who.ns;
	*rec = got;
	return 1;
}

void perf_sample_branch(const struct perf_record *rec, uint32_t i, uint64_t *from, uint64_t *to)
{
	struct perf_branch_entry e;

	memcpy(&e, rec->branches + i * sizeof(e), sizeof(e));
	*from = e.from;
	*to = e.to;
}
