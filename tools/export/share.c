/* SPDX-License-Identifier: MIT */
/*
 * See share.h. Only data that this source copies explicitly gets into the file. The head of the new
 * reader is zero at first and gets the few facts that a trace of calls needs: no path, no name of a
 * thread or machine, no format of an event. Functions keep their names and the names of their
 * objects, without folders. Tests: tests/cli/test_share.py.
 */
#include "tools/export/share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/code/symbols.h"
#include "tools/export/dat_write.h"
#include "tools/reader/formats.h"
#include "tools/reader/printks.h"
#include "tools/reader/tasks.h"

#define BATCH	   256u
#define ZSTD_LEVEL 3
#define NAME	   "thread"

struct shared {
	struct reader reader; /* must be first */
	struct reader *in;
	const struct view *v;
	uint64_t *lost; /* by CPU: records lost before the next record that is kept */
};

static struct shared *of(struct reader *r)
{
	return (struct shared *)r;
}

static bool is_call(const struct record *rec)
{
	return rec->kind != RECORD_EVENT && rec->kind != RECORD_PRINT;
}

static bool is_wanted_thread(const struct view *v, int32_t tid)
{
	bool found = !v->wish.nr_tids;

	for (unsigned int i = 0; i < v->wish.nr_tids && !found; i++)
		found = v->wish.tids[i] == tid;
	return found;
}

static bool is_wanted(const struct view *v, const struct record *rec)
{
	return is_wanted_thread(v, rec->pid) && is_call(rec) && rec->ts >= v->wish.from &&
	       (!v->wish.to || rec->ts <= v->wish.to);
}

static int shared_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	struct shared *s = of(r);
	int n = 0, kept = 0;

	while (!kept && (n = reader_read(s->in, cpu, out, max)) > 0) {
		for (int i = 0; i < n; i++) {
			struct record rec = out[i];

			s->lost[cpu] = record_lost_sum(s->lost[cpu], rec.lost);
			if (!is_wanted(s->v, &rec))
				continue;
			rec.lost = s->lost[cpu];
			s->lost[cpu] = 0;
			if (rec.graph & (RECORD_GRAPH_ARGS | RECORD_GRAPH_RETVAL))
				rec.retval = 0;
			rec.graph &= (uint8_t) ~(RECORD_GRAPH_ARGS | RECORD_GRAPH_RETVAL);
			out[kept++] = rec;
		}
	}
	return kept ? kept : n;
}

static int shared_rewind(struct reader *r)
{
	memset(of(r)->lost, 0, (r->nr_cpus + 1u) * sizeof(*of(r)->lost));
	return of(r)->in->ops->rewind(of(r)->in);
}

static void shared_find_depths(struct reader *r)
{
	of(r)->in->ops->find_depths(of(r)->in);
}

static uint64_t shared_process_key(struct reader *r, uint32_t process, bool *ended)
{
	struct reader *in = of(r)->in;

	*ended = false;
	return in->ops->process_key ? in->ops->process_key(in, process, ended) : 0;
}

/* write_shared() frees the new reader's memory; share() closes the other reader. */
static void shared_close(struct reader *r)
{
	(void)r;
}

static const struct reader_ops ops_plain = {.read = shared_read,
					    .close = shared_close,
					    .rewind = shared_rewind,
					    .process_key = shared_process_key};
static const struct reader_ops ops_depths = {.read = shared_read,
					     .close = shared_close,
					     .rewind = shared_rewind,
					     .find_depths = shared_find_depths,
					     .process_key = shared_process_key};

/* The set of threads that have records. */
struct threads {
	int32_t *at;
	size_t nr, room;
	struct hash_index index; /* by thread */
};

static void threads_clear(struct threads *t)
{
	free(t->at);
	hash_index_clear(&t->index);
	*t = (struct threads){0};
}

static bool has_thread(const struct threads *t, int32_t pid)
{
	return HASH_INDEX_FIND(&t->index, (uint32_t)pid, i, t->at[i] == pid) >= 0;
}

static int see_thread(struct threads *t, int32_t pid)
{
	if (has_thread(t, pid))
		return 0;
	if (ARRAY_ROOM(t->at, t->nr, t->room, 64) ||
	    hash_index_add(&t->index, (uint32_t)pid, (uint32_t)t->nr))
		return fail(ENOMEM, "out of memory");
	t->at[t->nr++] = pid;
	return 0;
}

static bool has_name(const struct tasks *tasks, int32_t pid)
{
	const char *comm = tasks_comm(tasks, pid);

	return *comm && *comm != '<' && strcmp(comm, NAME) != 0;
}

/* Does the record begin a call, or is it a function's? Only these are counted as calls. */
static bool is_begin(const struct record *rec)
{
	return rec->kind == RECORD_FUNCTION || rec->kind == RECORD_ENTRY ||
	       rec->kind == RECORD_TAIL || rec->graph & RECORD_GRAPH_ALONE;
}

static void count_record(struct share_counts *n, const struct record *rec)
{
	if (!n->first || rec->ts < n->first)
		n->first = rec->ts;
	if (rec->ts > n->last)
		n->last = rec->ts;
	n->lost = record_lost_sum(n->lost, rec->lost);
	if (rec->kind == RECORD_EVENT)
		n->events++;
	else if (rec->kind == RECORD_PRINT)
		n->prints++;
	else if (is_begin(rec))
		n->calls++;
	if (is_call(rec) && rec->graph & (RECORD_GRAPH_ARGS | RECORD_GRAPH_RETVAL))
		n->values++;
}

/* Read all of @r and count. @seen: gets its threads; the caller frees it. */
static int count(struct reader *r, struct share_counts *n, struct threads *seen)
{
	struct record batch[BATCH];
	int got = 0, err = 0;

	*n = (struct share_counts){.uname = r->uname[0],
				   .objects = symbols_nr_objects(r->symbols),
				   .formats = (r->formats ? r->formats->nr : 0)};
	for (unsigned int cpu = 0; !err && cpu < r->nr_cpus; cpu++) {
		int32_t last = -1;

		while (!err && (got = reader_read(r, cpu, batch, BATCH)) > 0) {
			for (int i = 0; i < got && !err; i++) {
				count_record(n, &batch[i]);
				if (batch[i].pid != last)
					err = see_thread(seen, batch[i].pid);
				last = batch[i].pid;
			}
		}
		if (got < 0)
			err = got;
	}
	for (unsigned int b = 0; !err && b < r->nr_further; b++)
		for (unsigned int cpu = 0; !err && cpu < r->further[b]->nr_cpus; cpu++) {
			while ((got = reader_read(r->further[b], cpu, batch, BATCH)) > 0)
				n->further += (unsigned int)got;
			err = got < 0 ? got : 0;
		}
	n->threads = seen->nr;
	for (size_t i = 0; i < tasks_count(r->tasks); i++)
		n->names += has_name(r->tasks, tasks_at(r->tasks, i)->pid);
	return err;
}

static int copy_symbols(struct symbols *from, struct symbols *to)
{
	int err = 0;

	for (size_t i = 0; i < symbols_count(from) && !err; i++) {
		const struct symbol *s = symbols_at(from, i);

		if (s->addr != SYMBOLS_MARK_ADDR)
			err = symbols_add(to, s->addr, s->type, s->raw, s->module);
	}
	return err ? fail(ENOMEM, "out of memory") : 0;
}

static int copy_threads(const struct tasks *from, const struct threads *seen, const struct view *v,
			struct tasks *to)
{
	int err = 0;

	for (size_t i = 0; i < seen->nr && !err; i++) {
		int32_t pid = seen->at[i], tgid = tasks_tgid(from, pid);

		if (!pid || !is_wanted_thread(v, pid))
			continue;
		err = tasks_set(to, pid, tgid, NAME);
		if (!err && tgid && tasks_traced(from, pid))
			err = tasks_trace(to, pid, tgid);
	}
	return err ? fail(ENOMEM, "out of memory") : 0;
}

/*
 * Copy the ends (struct record_end) of stacks, and of threads with records. Return: 0 or -ENOMEM
 * with fail() set.
 */
static int copy_ends(const struct reader *in, const struct threads *seen, struct reader *r)
{
	r->ends = malloc((in->nr_ends + 1) * sizeof(*r->ends));
	if (!r->ends)
		return fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < in->nr_ends; i++)
		if (in->ends[i].stack || has_thread(seen, in->ends[i].pid))
			r->ends[r->nr_ends++] = in->ends[i];
	return 0;
}

static int write_shared(const char *output, struct reader *in, const struct view *v,
			const struct threads *seen)
{
	struct shared s = {.in = in, .v = v};
	const struct dat_options how = {.version = 7, .zstd_level = ZSTD_LEVEL};
	struct reader *r = &s.reader;
	int err;

	r->ops = in->ops->find_depths ? &ops_depths : &ops_plain;
	r->nr_cpus = in->nr_cpus;
	r->nr_cpus_online = in->nr_cpus_online;
	r->ts_is_ns = in->ts_is_ns;
	r->graph = in->graph;
	r->leaves_unknown = in->leaves_unknown;
	snprintf(r->clock, sizeof(r->clock), "%s", in->clock);
	snprintf(r->tracer, sizeof(r->tracer), "%s", in->tracer);
	s.lost = calloc(in->nr_cpus + 1u, sizeof(*s.lost));
	r->symbols = symbols_new();
	r->tasks = tasks_new();
	if (!s.lost || !r->symbols || !r->tasks)
		err = fail(ENOMEM, "out of memory");
	else
		err = copy_symbols(in->symbols, r->symbols);
	if (!err)
		err = copy_threads(in->tasks, seen, v, r->tasks);
	if (!err)
		err = copy_ends(in, seen, r);
	if (!err)
		err = dat_write(output, r, &how);
	free(r->ends);
	tasks_free(r->tasks);
	symbols_free(r->symbols);
	free(s.lost);
	return err;
}

/* Whether any record would be written. Return: 1; 0; -errno with fail() set. */
static int any_wanted(struct reader *in, const struct view *v)
{
	struct record batch[BATCH];
	int n = 0;

	for (unsigned int cpu = 0; n >= 0 && cpu < in->nr_cpus; cpu++)
		while ((n = reader_read(in, cpu, batch, BATCH)) > 0)
			for (int i = 0; i < n; i++)
				if (is_wanted(v, &batch[i]) && batch[i].kind != RECORD_STACK)
					return 1;
	return n;
}

int share(const char *input, const char *output, struct view *v, struct share_counts *before,
	  struct share_counts *after)
{
	struct threads seen = {0};
	struct reader *in = NULL;
	struct stat from, to;
	int err;

	if (!stat(input, &from) && !stat(output, &to) && from.st_dev == to.st_dev &&
	    from.st_ino == to.st_ino)
		return fail(EINVAL,
			    "%s is the recording itself, which would lose what is left out: name "
			    "another file",
			    output);
	err = reader_open(input, &in);
	if (!err)
		err = count(in, before, &seen);
	if (!err && v->range_from_start)
		v->wish.from += before->first;
	if (!err && v->range_to_start)
		v->wish.to += before->first;
	/* open the file again for each reading: not all readers can be rewound */
	reader_close(in);
	in = NULL;
	if (!err)
		err = reader_open(input, &in);
	if (!err) {
		err = any_wanted(in, v);
		err = err > 0 ? 0
		      : err   ? err
			      : fail(ENODATA, "no call in '%s' is left: nothing is written", input);
		reader_close(in);
		in = NULL;
	}
	if (!err)
		err = reader_open(input, &in);
	if (!err)
		err = write_shared(output, in, v, &seen);
	reader_close(in);
	threads_clear(&seen);
	if (err)
		return err;
	err = reader_open(output, &in);
	if (!err) {
		err = count(in, after, &seen);
		reader_close(in);
	}
	threads_clear(&seen);
	return err;
}

static void put(struct out *o, const char *what, uint64_t before, uint64_t after)
{
	out_printf(o, "%-34s %12" PRIu64 " %12" PRIu64 "\n", what, before, after);
}

void share_print(struct out *o, const struct share_counts *before, const struct share_counts *after)
{
	out_printf(o, "%-34s %12s %12s\n", "", "BEFORE", "AFTER");
	put(o, "calls and functions", before->calls, after->calls);
	put(o, "records with arguments or a result", before->values, after->values);
	put(o, "events", before->events, after->events);
	put(o, "marks and texts", before->prints, after->prints);
	put(o, "records of other buffers", before->further, after->further);
	put(o, "threads", before->threads, after->threads);
	put(o, "names of threads", before->names, after->names);
	put(o, "paths of objects", before->objects, after->objects);
	put(o, "formats of events", before->formats, after->formats);
	put(o, "name of the machine", before->uname, after->uname);
}
