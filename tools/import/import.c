/* SPDX-License-Identifier: MIT */
/* See import.h. Tests: tests/cli/test_import.py, tests/fuzz/import.c. */
#include "tools/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/code/symbols.h"
#include "tools/import/import_events.h"
#include "tools/reader/reader.h"
#include "tools/reader/tasks.h"

#define FIRST_IP    UINT64_C(0x1000)
#define IP_STEP	    UINT64_C(0x10)
#define BLOCK_BYTES (1u << 20)
#define FIRST_ALIAS (1 << 22) /* threads' numbers of ours begin above those of any system */
#define MAX_DEPTH   4096u
#define HEAD_BYTES  8192u

struct block {
	struct block *next;
	size_t used;
	char bytes[BLOCK_BYTES];
};

/* An entry by key: a function by the hash of its name, a thread by its numbers. */
struct entry {
	uint64_t key, value;
	const char *name, *object; /* of a function */
	int64_t pid, tid;
};

struct table {
	struct entry *at;
	size_t nr, room;
	struct hash_index index; /* by key */
};

struct span {
	uint64_t ts, end, ip;
	size_t seq;
	int32_t thread;
};

struct import {
	struct reader head; /* first */
	struct record *recs;
	size_t nr, room;
	struct span *spans;
	size_t nr_spans, room_spans;
	struct block *blocks;
	struct table functions, threads, taken;
	struct import_events events;
	int32_t nr_aliases;
	size_t *begin, *at; /* by CPU: of recs; nr_cpus + 1 */
	struct reader_cpu_stats *stats;
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

/* Keep a text, with @before bytes in front of it. Return: the text; NULL: no memory. */
static char *keep_behind(struct import *im, const char *text, size_t bytes, size_t before)
{
	struct block *b = im->blocks;
	char *to;

	if (!b || sizeof(b->bytes) - b->used < before + bytes + 1) {
		b = malloc(sizeof(*b));
		if (!b)
			return NULL;
		b->next = im->blocks;
		b->used = 0;
		im->blocks = b;
	}
	to = b->bytes + b->used + before;
	memcpy(to, text, bytes);
	to[bytes] = '\0';
	b->used += before + bytes + 1;
	return to;
}

static char *keep(struct import *im, const char *text, size_t bytes)
{
	return keep_behind(im, text, bytes, 0);
}

static bool is_same(const struct entry *e, const struct entry *want)
{
	if (e->key != want->key || e->pid != want->pid || e->tid != want->tid)
		return false;
	return !want->name || (!strcmp(e->name, want->name) && !strcmp(e->object, want->object));
}

/* The entry of what @want says. NULL: there is none. */
static const struct entry *find(const struct table *t, const struct entry *want)
{
	int64_t found = HASH_INDEX_FIND(&t->index, want->key, i, is_same(&t->at[i], want));

	return found < 0 ? NULL : &t->at[found];
}

/* @want becomes an entry. Return: it; NULL: no memory. */
static const struct entry *add_entry(struct table *t, const struct entry *want)
{
	if (ARRAY_ROOM(t->at, t->nr, t->room, 128) ||
	    hash_index_add(&t->index, want->key, (uint32_t)t->nr))
		return NULL;
	t->at[t->nr] = *want;
	return &t->at[t->nr++];
}

static void table_clear(struct table *t)
{
	free(t->at);
	hash_index_clear(&t->index);
}

int import_function(struct import *im, const char *name, const char *object, uint64_t *ip)
{
	struct entry want = {
		.name = name, .object = object ? object : "", .value = im->functions.nr};
	const struct entry *e;

	want.key = hash_bytes(hash_bytes(HASH_BYTES_SEED, name, strlen(name) + 1), want.object,
			      strlen(want.object));
	e = find(&im->functions, &want);
	if (!e) {
		want.name = keep(im, name, strnlen(name, IMPORT_LINE_BYTES));
		want.object = keep(im, want.object, strnlen(want.object, IMPORT_LINE_BYTES));
		if (!want.name || !want.object ||
		    symbols_add(im->head.symbols, FIRST_IP + IP_STEP * want.value, 't', name,
				*want.object ? want.object : NULL))
			return no_memory();
		e = add_entry(&im->functions, &want);
		if (!e)
			return no_memory();
	}
	*ip = FIRST_IP + IP_STEP * e->value;
	return 0;
}

int import_thread(struct import *im, int64_t pid, int64_t tid, int32_t *thread)
{
	struct entry want = {.pid = pid, .tid = tid}, number = {.key = (uint64_t)tid};
	const struct entry *e;

	want.key = hash_u64((uint64_t)pid) ^ (uint64_t)tid;
	e = find(&im->threads, &want);
	if (!e) {
		if (tid < 0 || tid >= FIRST_ALIAS || find(&im->taken, &number)) {
			if (im->nr_aliases == INT32_MAX - FIRST_ALIAS)
				return fail(E2BIG, "too many threads");
			want.value = (uint64_t)(FIRST_ALIAS + im->nr_aliases++);
		} else {
			want.value = (uint64_t)tid;
			if (!add_entry(&im->taken, &number))
				return no_memory();
		}
		e = add_entry(&im->threads, &want);
		if (!e)
			return no_memory();
	}
	*thread = (int32_t)e->value;
	return 0;
}

int import_task(struct import *im, int32_t thread, int32_t pid, const char *comm)
{
	return tasks_set(im->head.tasks, thread, pid, comm) ? no_memory() : 0;
}

void import_realtime(struct import *im, uint64_t offset_ns)
{
	im->head.realtime_offset_ns = offset_ns;
}

static int add(struct import *im, const struct record *rec)
{
	if (rec->cpu >= IMPORT_MAX_CPUS)
		return fail(EINVAL, "a CPU of number %u", rec->cpu);
	if (im->nr == IMPORT_MAX_RECORDS)
		return fail(EFBIG, "more than %zu records", im->nr);
	if (ARRAY_ROOM(im->recs, im->nr, im->room, 4096))
		return no_memory();
	im->recs[im->nr] = *rec;
	im->recs[im->nr].lost = im->nr; /* their order, until they are sorted */
	im->nr++;
	return 0;
}

int import_enter(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip)
{
	return add(im, &(struct record){.ts = ts,
					.ip = ip,
					.pid = thread,
					.cpu = (uint16_t)cpu,
					.kind = RECORD_ENTRY,
					.graph = RECORD_GRAPH_DEPTH});
}

int import_leave(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts)
{
	return add(im, &(struct record){.ts = ts,
					.pid = thread,
					.cpu = (uint16_t)cpu,
					.kind = RECORD_EXIT,
					.graph = RECORD_GRAPH_DEPTH});
}

int import_call(struct import *im, int32_t thread, uint64_t ts, uint64_t ns, uint64_t ip)
{
	if (im->nr_spans == IMPORT_MAX_RECORDS)
		return fail(EFBIG, "more than %zu calls", im->nr_spans);
	if (ARRAY_ROOM(im->spans, im->nr_spans, im->room_spans, 4096))
		return no_memory();
	im->spans[im->nr_spans] = (struct span){.ts = ts,
						.end = ns < INT64_MAX - ts ? ts + ns : INT64_MAX,
						.ip = ip,
						.seq = im->nr_spans,
						.thread = thread};
	im->nr_spans++;
	return 0;
}

int import_hit(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip,
	       uint64_t parent_ip)
{
	return add(im, &(struct record){.ts = ts,
					.ip = ip,
					.parent_ip = parent_ip,
					.pid = thread,
					.cpu = (uint16_t)cpu,
					.kind = RECORD_FUNCTION});
}

int import_text(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip,
		const char *text)
{
	size_t bytes = strnlen(text, IMPORT_LINE_BYTES);
	const char *kept = keep_behind(im, text, bytes, IMPORT_EVENT_HEAD);

	if (!kept)
		return no_memory();
	return add(im, &(struct record){.ts = ts,
					.ip = ip,
					.pid = thread,
					.cpu = (uint16_t)cpu,
					.kind = RECORD_PRINT,
					.data_bytes = (uint32_t)bytes,
					.data = kept});
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *s = a, *t = b;

	if (s->thread != t->thread)
		return s->thread < t->thread ? -1 : 1;
	if (s->ts != t->ts)
		return s->ts < t->ts ? -1 : 1;
	if (s->end != t->end)
		return s->end > t->end ? -1 : 1;
	return s->seq < t->seq ? -1 : s->seq > t->seq;
}

/* Spans become begins and ends, thread by thread: a stack of those that are open. */
static int open_spans(struct import *im)
{
	uint64_t *ends;
	size_t nr = 0;
	int err;

	if (!im->nr_spans)
		return 0;
	ends = malloc(MAX_DEPTH * sizeof(*ends));
	err = ends ? 0 : no_memory();
	qsort(im->spans, im->nr_spans, sizeof(*im->spans), compare_spans);
	for (size_t i = 0; !err && i <= im->nr_spans; i++) {
		struct span *s = &im->spans[i];
		bool is_last = i == im->nr_spans || (i && s->thread != s[-1].thread);

		while (!err && nr && (is_last || ends[nr - 1] <= s->ts))
			err = import_leave(im, 0, s[-1].thread, ends[--nr]);
		if (err || i == im->nr_spans || nr == MAX_DEPTH)
			continue;
		err = import_enter(im, 0, s->thread, s->ts, s->ip);
		ends[nr] = nr && ends[nr - 1] < s->end ? ends[nr - 1] : s->end;
		nr++;
	}
	free(ends);
	free(im->spans);
	im->spans = NULL;
	return err;
}

static int compare_times(const void *a, const void *b)
{
	const struct record *r = a, *s = b;

	if (r->ts != s->ts)
		return r->ts < s->ts ? -1 : 1;
	return r->lost < s->lost ? -1 : r->lost > s->lost;
}

static int compare_cpus(const void *a, const void *b)
{
	const struct record *r = a, *s = b;

	if (r->cpu != s->cpu)
		return r->cpu < s->cpu ? -1 : 1;
	return r->lost < s->lost ? -1 : r->lost > s->lost;
}

/* The open calls of a thread, as numbers of records. */
struct open {
	size_t *calls;
	uint32_t nr, room;
};

/* Compute depths and lengths, and drop ends without a begin. */
static int match_calls(struct import *im)
{
	struct open *opens = NULL;
	size_t nr = 0, room = 0, left = 0;
	struct table by_thread = {0};
	int err = 0;

	for (size_t i = 0; !err && i < im->nr; i++) {
		struct record *rec = &im->recs[i];
		struct entry want = {.key = (uint64_t)(uint32_t)rec->pid, .value = nr};
		const struct entry *e;
		struct open *o;

		if (!(rec->graph & RECORD_GRAPH_DEPTH)) {
			im->recs[left++] = *rec;
			continue;
		}
		e = find(&by_thread, &want);
		if (!e) {
			e = ARRAY_ROOM(opens, nr, room, 64) ? NULL : add_entry(&by_thread, &want);
			if (!e) {
				err = no_memory();
				break;
			}
			opens[nr++] = (struct open){0};
		}
		o = &opens[e->value];
		if (rec->kind == RECORD_ENTRY) {
			if (ARRAY_ROOM(o->calls, o->nr, o->room, 16))
				err = no_memory();
			else
				o->calls[o->nr++] = left;
			rec->depth = o->nr - 1;
		} else if (o->nr) {
			const struct record *entry = &im->recs[o->calls[--o->nr]];

			rec->ip = entry->ip;
			rec->depth = o->nr;
			rec->duration = rec->ts - entry->ts;
		} else {
			continue;
		}
		im->head.graph = true;
		im->recs[left++] = *rec;
	}
	for (size_t i = 0; i < nr; i++)
		free(opens[i].calls);
	free(opens);
	table_clear(&by_thread);
	im->nr = left;
	return err;
}

/* Between calls a text is a comment, without the name of the function that wrote it. */
static int name_texts(struct import *im)
{
	uint64_t mark;
	int err = import_function(im, SYMBOLS_MARK_NAME, NULL, &mark);

	for (size_t i = 0; !err && i < im->nr; i++) {
		struct record *rec = &im->recs[i];
		const struct symbol *sym;
		char *text;
		int bytes;

		if (rec->kind != RECORD_PRINT || rec->ip == mark)
			continue;
		sym = symbols_find(im->head.symbols, rec->ip);
		bytes = asprintf(&text, "%s%s%s", sym ? sym->name : "?",
				 rec->data_bytes ? ": " : "", (const char *)rec->data);
		if (bytes < 0)
			return no_memory();
		if ((size_t)bytes > IMPORT_LINE_BYTES)
			bytes = (int)IMPORT_LINE_BYTES;
		rec->data = keep(im, text, (size_t)bytes);
		rec->data_bytes = (uint32_t)bytes;
		rec->ip = mark;
		free(text);
		err = rec->data ? 0 : no_memory();
	}
	return err;
}

static int finish(struct import *im)
{
	struct reader *r = &im->head;
	int err = open_spans(im);

	if (!err && im->nr)
		qsort(im->recs, im->nr, sizeof(*im->recs), compare_times);
	if (!err)
		err = match_calls(im);
	if (!err)
		err = import_events_make(&im->events, r, im->recs, im->nr, FIRST_IP, IP_STEP,
					 im->functions.nr);
	if (!err && r->graph)
		err = name_texts(im);
	r->prints_are_events = !r->graph;
	if (err)
		return err;
	if (!im->nr)
		return fail(ENODATA, "no record that is understood");
	for (size_t i = 0; i < im->nr; i++) {
		im->recs[i].lost = i;
		if (im->recs[i].cpu >= r->nr_cpus)
			r->nr_cpus = im->recs[i].cpu + 1u;
	}
	qsort(im->recs, im->nr, sizeof(*im->recs), compare_cpus);
	r->nr_cpus_online = r->nr_cpus;
	im->begin = calloc(2u * (r->nr_cpus + 1u), sizeof(*im->begin));
	im->stats = calloc(r->nr_cpus, sizeof(*im->stats));
	if (!im->begin || !im->stats)
		return no_memory();
	im->at = im->begin + r->nr_cpus + 1;
	for (size_t i = 0; i < im->nr; i++) {
		struct record *rec = &im->recs[i];

		rec->lost = 0;
		im->begin[rec->cpu + 1] = i + 1;
		im->stats[rec->cpu].entries++;
		im->stats[rec->cpu].bytes += 16 + rec->data_bytes;
		if (!im->stats[rec->cpu].oldest_ts)
			im->stats[rec->cpu].oldest_ts = rec->ts;
	}
	for (unsigned int cpu = 0; cpu < r->nr_cpus; cpu++)
		if (im->begin[cpu + 1] < im->begin[cpu])
			im->begin[cpu + 1] = im->begin[cpu];
	memcpy(im->at, im->begin, (r->nr_cpus + 1u) * sizeof(*im->at));
	r->stats = im->stats;
	snprintf(r->tracer, sizeof(r->tracer), "%s", r->graph ? "function_graph" : "nop");
	return 0;
}

static int import_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	struct import *im = (struct import *)r;
	size_t left = im->begin[cpu + 1] - im->at[cpu];
	unsigned int nr = left < max ? (unsigned int)left : max;

	if (r->stop && atomic_load_explicit(r->stop, memory_order_relaxed))
		return fail(EINTR, "interrupted");
	if (nr)
		memcpy(out, im->recs + im->at[cpu], nr * sizeof(*out));
	im->at[cpu] += nr;
	return (int)nr;
}

static int import_rewind(struct reader *r)
{
	struct import *im = (struct import *)r;

	memcpy(im->at, im->begin, (r->nr_cpus + 1u) * sizeof(*im->at));
	return 0;
}

static void import_close(struct reader *r)
{
	struct import *im = (struct import *)r;

	for (struct block *b = im->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(im->recs);
	free(im->spans);
	table_clear(&im->functions);
	table_clear(&im->threads);
	table_clear(&im->taken);
	free(im->begin);
	free(im->stats);
	tep_free(r->tep);
	import_events_free(&im->events);
	symbols_free(r->symbols);
	tasks_free(r->tasks);
	free(im);
}

static const struct reader_ops import_ops = {
	.read = import_read,
	.close = import_close,
	.rewind = import_rewind,
};

static const struct importer *const importers[] = {
	&blk_importer, &chrome_importer, &ctf_importer,	     &ftrace_importer,
	&kft_importer, &perf_importer,	 &perfetto_importer, &uftrace_importer,
};

static int read_file(struct import_text *in, struct import *im, const struct importer *from)
{
	int err = from->read(in, im);

	if (in->err)
		return fail_errno(-in->err, "cannot read %s", in->path);
	if (!err)
		err = finish(im);
	if (err) {
		char why[512];

		snprintf(why, sizeof(why), "%s", fail_text());
		return fail(-err, "'%s' looks like %s, but cannot be read: %s", in->path,
			    from->name, why);
	}
	return 0;
}

/* The first bytes of the file that says which format it is; 0: there are none. */
static ssize_t read_head(struct import_text *in, const char *head_file)
{
	int fd = in->fd;
	ssize_t n;

	if (head_file)
		fd = openat(in->fd, head_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	n = fd < 0 ? 0 : pread(fd, in->text, HEAD_BYTES, 0);
	if (fd >= 0 && fd != in->fd)
		close(fd);
	in->text[n > 0 ? n : 0] = '\0';
	return n;
}

static const struct importer *find_importer(struct import_text *in)
{
	struct stat st;
	bool is_folder = !fstat(in->fd, &st) && S_ISDIR(st.st_mode);
	ssize_t n = is_folder ? 0 : read_head(in, NULL);

	for (size_t i = 0; i < sizeof(importers) / sizeof(importers[0]); i++) {
		if (importers[i]->is_folder && is_folder && importers[i]->is_folder(in->fd))
			return importers[i];
		if (importers[i]->is_folder || is_folder != (importers[i]->head_file != NULL))
			continue;
		if (is_folder)
			n = read_head(in, importers[i]->head_file);
		if (n > 0 && importers[i]->is(in->text, (size_t)n))
			return importers[i];
	}
	return NULL;
}

int reader_open_import(const char *path, struct reader **out)
{
	const struct importer *from = NULL;
	struct import_text *in = calloc(1, sizeof(*in));
	struct import *im = calloc(1, sizeof(*im));
	int err = 1;

	if (in && im) {
		im->head.ops = &import_ops;
		im->head.symbols = symbols_new();
		im->head.tasks = tasks_new();
		im->head.ts_is_ns = true;
		snprintf(im->head.clock, sizeof(im->head.clock), "local");
		in->path = path;
		in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	if (!in || !im || !im->head.symbols || !im->head.tasks)
		err = no_memory();
	else if (in->fd < 0)
		err = fail_errno(errno, "cannot open %s", path);
	else
		from = find_importer(in);
	if (from)
		err = read_file(in, im, from);
	if (in && in->fd >= 0)
		close(in->fd);
	free(in);
	if (!err)
		*out = &im->head;
	else if (im)
		import_close(&im->head);
	return err;
}
