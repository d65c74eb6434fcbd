/* SPDX-License-Identifier: MIT */
/*
 * uftrace's folder, as `uftrace record` writes it: `info` is its head, TID.dat has a thread's
 * records, and see uftrace_names.h. A record is two words of 8 bytes: the time in nanoseconds; and,
 * from the lowest bit on, type (2 bits), whether data follow (1), a mark (3), depth (10) and
 * address (48).
 *
 * Arguments and fields of events follow their record without a length. They are skipped: the
 * next record is where the mark, the time, the depth and the address fit. perf-cpuN.dat has the
 * kernel's records of switches and names, as perf_event_open(2) describes them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/import/import.h"
#include "tools/import/import_bytes.h"
#include "tools/import/uftrace_names.h"

#define MAGIC	     "Ftrace!"
#define HEAD_BYTES   40u
#define VERSION	     4u
#define REL_ADDR     (1u << 5) /* of the features */
#define RECORD_BYTES 16u
#define RECORD_MARK  5u
#define MAX_GAP_NS   (UINT64_C(1) << 47) /* between records of a thread: 39 hours */
#define PERF_BYTES   24u		 /* of the shortest record of a perf file that is used */

enum { UFTRACE_ENTRY, UFTRACE_EXIT, UFTRACE_LOST, UFTRACE_EVENT };

enum { PERF_COMM = 3, PERF_SWITCH = 14, SWITCH_OUT = 0x2000, SWITCH_PREEMPT = 0x4000 };

struct uftrace_record {
	uint64_t ts, addr;
	unsigned int type, depth;
	bool more;
};

struct frame {
	uint64_t addr;
	unsigned int depth;
};

struct uftrace {
	struct import *im;
	struct uftrace_names *names;
	struct import_bytes bytes;
	int folder;
	uint64_t nr_args, nr_lost;
	/* of the thread that is read */
	int64_t pid;
	int32_t thread;
	uint64_t last_ts;
	struct frame *frames; /* the calls that are open */
	size_t nr, room;
};

/* Parse a record. Return: false: it does not have the form of one. */
static bool parse(const unsigned char *p, struct uftrace_record *rec)
{
	uint64_t word = import_le(p + 8, 8);

	*rec = (struct uftrace_record){
		.ts = import_le(p, 8),
		.addr = word >> 16,
		.type = word & 3,
		.depth = word >> 6 & 1023,
		.more = word >> 2 & 1,
	};
	return (word >> 3 & 7) == RECORD_MARK && rec->ts <= INT64_MAX;
}

/* Can a record of that time come behind the last one? */
static bool is_time(const struct uftrace *u, uint64_t ts)
{
	return ts >= u->last_ts && ts - u->last_ts <= MAX_GAP_NS;
}

/* Behind data: does a record follow the last one there? */
static bool fits(struct uftrace *u, const struct uftrace_record *rec)
{
	const struct frame *top = u->nr ? &u->frames[u->nr - 1] : NULL;

	if (!is_time(u, rec->ts))
		return false;
	if (rec->type == UFTRACE_ENTRY)
		return rec->depth <= (top ? top->depth + 1 : 1023) &&
		       uftrace_names_known(u->names, u->pid, rec->ts, rec->addr);
	if (rec->type == UFTRACE_EXIT && top)
		return rec->addr == top->addr && rec->depth == top->depth;
	if (rec->type == UFTRACE_EXIT)
		return uftrace_names_known(u->names, u->pid, rec->ts, rec->addr);
	return rec->depth == 0 || (top && rec->depth <= top->depth + 1);
}

static int leave(struct uftrace *u, uint64_t ts)
{
	u->nr--;
	return import_leave(u->im, 0, u->thread, ts);
}

/* A call ends with the first record that is not beneath it, even if its own end is missing. */
static int take_call(struct uftrace *u, const struct uftrace_record *rec)
{
	const char *name, *object;
	uint64_t ip;
	int err = 0;

	while (!err && u->nr && u->frames[u->nr - 1].depth > rec->depth)
		err = leave(u, rec->ts);
	if (!err && u->nr && u->frames[u->nr - 1].depth == rec->depth)
		err = leave(u, rec->ts);
	if (err || rec->type == UFTRACE_EXIT)
		return err;
	err = uftrace_names_find(u->names, u->pid, rec->ts, rec->addr, &name, &object);
	if (!err)
		err = import_function(u->im, name, object, &ip);
	if (err)
		return err;
	if (ARRAY_ROOM(u->frames, u->nr, u->room, 64))
		return fail(ENOMEM, "out of memory");
	u->frames[u->nr++] = (struct frame){rec->addr, rec->depth};
	return import_enter(u->im, 0, u->thread, rec->ts, ip);
}

static int take_event(struct uftrace *u, int32_t thread, uint64_t ts, const char *name)
{
	uint64_t ip;
	int err = import_function(u->im, name, NULL, &ip);

	return err ? err : import_text(u->im, 0, thread, ts, ip, "");
}

static int take_record(struct uftrace *u, const struct uftrace_record *rec)
{
	if (rec->type == UFTRACE_LOST) {
		u->nr_lost += rec->addr;
		return 0;
	}
	if (rec->type == UFTRACE_EVENT)
		return take_event(u, u->thread, rec->ts, uftrace_names_event(u->names, rec->addr));
	return take_call(u, rec);
}

/*
 * Data can look like a record by chance. Is there another record, or the end, behind this one at
 * u->bytes.pos? Data of its own can be anything.
 */
static bool goes_on(struct uftrace *u, const struct uftrace_record *rec)
{
	struct uftrace_record next;

	if (rec->more || import_bytes_have(&u->bytes, 2 * RECORD_BYTES) < 2 * RECORD_BYTES)
		return true;
	return parse(u->bytes.buf + u->bytes.pos + RECORD_BYTES, &next) && is_time(u, next.ts);
}

/* Skip data up to the next record. Return: false: none comes. */
static bool skip_data(struct uftrace *u)
{
	struct uftrace_record rec;

	while (import_bytes_have(&u->bytes, 8) == 8) {
		u->bytes.pos += 8;
		if (import_bytes_have(&u->bytes, RECORD_BYTES) < RECORD_BYTES)
			return false;
		if (parse(u->bytes.buf + u->bytes.pos, &rec) && fits(u, &rec) && goes_on(u, &rec))
			return true;
	}
	return false;
}

/* Return: 1; 0 there is no such file; -errno with fail() set. */
static int begin_bytes(struct uftrace *u, const char *name)
{
	int fd = uftrace_names_file(u->folder, name);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	u->bytes.fd = fd;
	u->bytes.at = 0;
	u->bytes.pos = u->bytes.nr = 0;
	u->bytes.err = 0;
	return 1;
}

static int end_bytes(struct uftrace *u, const char *name, int err)
{
	close(u->bytes.fd);
	if (!err && u->bytes.err)
		err = fail_errno(-u->bytes.err, "cannot read its %s", name);
	return err;
}

static int read_thread(struct uftrace *u, const struct uftrace_task *task)
{
	struct uftrace_record rec;
	char name[32];
	size_t got;
	int err;

	snprintf(name, sizeof(name), "%lld.dat", (long long)task->tid);
	err = begin_bytes(u, name);
	if (err <= 0)
		return err;
	u->pid = task->pid;
	u->nr = 0;
	u->last_ts = 0;
	err = import_thread(u->im, task->pid, task->tid, &u->thread);
	if (!err)
		err = import_task(u->im, u->thread, (int32_t)task->pid,
				  uftrace_names_comm(u->names, task->pid));
	while (!err && (got = import_bytes_have(&u->bytes, RECORD_BYTES)) == RECORD_BYTES) {
		if (!parse(u->bytes.buf + u->bytes.pos, &rec)) {
			err = fail(EINVAL, "its %s: byte %llu: a record is missing", name,
				   (unsigned long long)u->bytes.at - (u->bytes.nr - u->bytes.pos));
			break;
		}
		u->bytes.pos += rec.more ? RECORD_BYTES - 8 : RECORD_BYTES;
		if (rec.ts < u->last_ts)
			rec.ts = u->last_ts;
		u->last_ts = rec.ts;
		err = take_record(u, &rec);
		u->nr_args += rec.more && rec.type != UFTRACE_EVENT;
		if (!err && rec.more && !skip_data(u))
			break;
	}
	if (!err && !u->bytes.err && got && got < RECORD_BYTES)
		note("%s: the last record is cut", name);
	return end_bytes(u, name, err);
}

/* Switches and names. The last 16 bytes of a record are pid, tid and time. */
static int take_perf(struct uftrace *u, const unsigned char *p, size_t bytes)
{
	unsigned int type = (unsigned int)import_le(p, 4), misc = (unsigned int)import_le(p + 4, 2);
	int64_t pid = (int32_t)import_le(p + bytes - 16, 4);
	int64_t tid = (int32_t)import_le(p + bytes - 12, 4);
	uint64_t ts = import_le(p + bytes - 8, 8);
	char comm[17] = "";
	int32_t thread;
	int err;

	if ((type != PERF_COMM && type != PERF_SWITCH) || pid <= 0 || tid <= 0 || ts > INT64_MAX)
		return 0;
	err = import_thread(u->im, pid, tid, &thread);
	if (err)
		return err;
	if (type == PERF_SWITCH)
		return take_event(u, thread, ts,
				  !(misc & SWITCH_OUT)	  ? "linux:sched-in"
				  : misc & SWITCH_PREEMPT ? "linux:sched-out (pre-empted)"
							  : "linux:sched-out");
	if (bytes < 40)
		return 0;
	memcpy(comm, p + 16, bytes - 32 < 16 ? bytes - 32 : 16);
	return import_task(u->im, thread, (int32_t)pid, comm);
}

static int read_perf(struct uftrace *u, const char *name)
{
	int err = 0;

	while (!err && import_bytes_have(&u->bytes, 8) == 8) {
		size_t bytes = import_le(u->bytes.buf + u->bytes.pos + 6, 2);

		if (bytes < 8) {
			err = fail(EINVAL, "its %s has a record of %zu bytes", name, bytes);
			break;
		}
		if (import_bytes_have(&u->bytes, bytes) < bytes)
			break;
		if (bytes >= PERF_BYTES)
			err = take_perf(u, u->bytes.buf + u->bytes.pos, bytes);
		u->bytes.pos += bytes;
	}
	return end_bytes(u, name, err);
}

static int read_all(struct uftrace *u)
{
	const struct uftrace_task *tasks;
	size_t nr = uftrace_names_tasks(u->names, &tasks);
	char name[32];
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++)
		if (!tasks[i].repeated)
			err = read_thread(u, &tasks[i]);
	for (unsigned int cpu = 0; !err && cpu < IMPORT_MAX_CPUS; cpu++) {
		snprintf(name, sizeof(name), "perf-cpu%u.dat", cpu);
		err = begin_bytes(u, name);
		if (!err)
			break;
		if (err > 0)
			err = read_perf(u, name);
	}
	if (!err && u->nr_args)
		note("arguments and return values of %llu records of uftrace are left out",
		     (unsigned long long)u->nr_args);
	if (!err && u->nr_lost)
		note("uftrace has lost %llu records", (unsigned long long)u->nr_lost);
	return err;
}

static int check_head(const unsigned char *head, size_t bytes)
{
	unsigned int version;

	if (bytes < HEAD_BYTES)
		return fail(EINVAL, "its info ends within its head");
	if (head[14] != 1)
		return fail(EINVAL, "it is of a machine of the other byte order");
	version = (unsigned int)import_le(head + 8, 4);
	if (version != VERSION)
		return fail(EINVAL, "it is of version %u, known is version %u", version, VERSION);
	return 0;
}

static int uftrace_read(struct import_text *in, struct import *im)
{
	unsigned char head[HEAD_BYTES] = {0};
	struct uftrace *u = calloc(1, sizeof(*u));
	int err = u ? begin_bytes((u->folder = in->fd, u->im = im, u), "info") : 0;

	if (!u)
		return fail(ENOMEM, "out of memory");
	if (err > 0) {
		size_t got = import_bytes_take(&u->bytes, head, sizeof(head));

		err = end_bytes(u, "info", check_head(head, got));
	} else if (!err) {
		err = fail(ENOENT, "it has no info");
	}
	if (!err)
		err = uftrace_names_open(in->fd, import_le(head + 16, 8) & REL_ADDR, &u->names);
	if (!err)
		err = read_all(u);
	uftrace_names_free(u->names);
	free(u->frames);
	free(u);
	return err;
}

static bool uftrace_is(const char *head, size_t bytes)
{
	return bytes >= sizeof(MAGIC) && !memcmp(head, MAGIC, sizeof(MAGIC));
}

const struct importer uftrace_importer = {"uftrace's folder", uftrace_is, uftrace_read, "info"};
