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
#include "tools/import/import_records.h"
#include "tools/reader/reader.h"
#include "tools/reader/tasks.h"

#define FIRST_IP    UINT64_C(0x1000)
#define IP_STEP	    UINT64_C(0x10)
#define BLOCK_BYTES (1u << 20)
#define FIRST_ALIAS (1 << 22) /* our own thread numbers begin above the pids of any system */
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

struct import {
	struct reader head; /* first */
	struct import_records recs;
	struct block *blocks; /* names */
	struct table functions, threads, taken;
	struct import_events events;
	int32_t nr_aliases;
	struct reader_cpu_stats *stats;
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

/* Keep a name. Return: it; NULL: no memory. */
static char *keep(struct import *im, const char *text, size_t bytes)
{
	struct block *b = im->blocks;
	char *to;

	if (!b || sizeof(b->bytes) - b->used < bytes + 1) {
		b = malloc(sizeof(*b));
		if (!b)
			return NULL;
		b->next = im->blocks;
		b->used = 0;
		im->blocks = b;
	}
	to = b->bytes + b->used;
	memcpy(to, text, bytes);
	to[bytes] = '\0';
	b->used += bytes + 1;
	return to;
}

static bool is_same(const struct entry *e, const struct entry *want)
{
	if (e->key != want->key || e->pid != want->pid || e->tid != want->tid)
		return false;
	return !want->name || (!strcmp(e->name, want->name) && !strcmp(e->object, want->object));
}

/* The entry with the key of @want. NULL: there is none. */
static const struct entry *find(const struct table *t, const struct entry *want)
{
	int64_t found = HASH_INDEX_FIND(&t->index, want->key, i, is_same(&t->at[i], want));

	return found < 0 ? NULL : &t->at[found];
}

/* Add a copy of @want. Return: the entry; NULL: no memory. */
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

int import_enter(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip)
{
	return import_records_add(&im->recs,
				  &(struct record){.ts = ts,
						   .ip = ip,
						   .pid = thread,
						   .cpu = (uint16_t)cpu,
						   .kind = RECORD_ENTRY,
						   .graph = RECORD_GRAPH_DEPTH},
				  NULL);
}

int import_leave(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts)
{
	return import_records_add(&im->recs,
				  &(struct record){.ts = ts,
						   .pid = thread,
						   .cpu = (uint16_t)cpu,
						   .kind = RECORD_EXIT,
						   .graph = RECORD_GRAPH_DEPTH},
				  NULL);
}

int import_call(struct import *im, int32_t thread, uint64_t ts, uint64_t ns, uint64_t ip)
{
	return import_records_call(&im->recs, thread, ts, ns, ip);
}

int import_hit(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip,
	       uint64_t parent_ip)
{
	return import_records_add(&im->recs,
				  &(struct record){.ts = ts,
						   .ip = ip,
						   .parent_ip = parent_ip,
						   .pid = thread,
						   .cpu = (uint16_t)cpu,
						   .kind = RECORD_FUNCTION},
				  NULL);
}

int import_text(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip,
		const char *text)
{
	return import_records_add(
		&im->recs,
		&(struct record){.ts = ts,
				 .ip = ip,
				 .pid = thread,
				 .cpu = (uint16_t)cpu,
				 .kind = RECORD_PRINT,
				 .data_bytes = (uint32_t)strnlen(text, IMPORT_LINE_BYTES)},
		text);
}

static int finish(struct import *im)
{
	struct reader *r = &im->head;
	uint64_t mark = 0;
	int err = import_records_open_calls(&im->recs);

	r->graph = im->recs.has_calls;
	r->prints_are_events = !r->graph;
	if (!err)
		err = import_events_begin(&im->events, r, FIRST_IP, IP_STEP, im->functions.nr);
	if (!err && r->graph)
		err = import_function(im, SYMBOLS_MARK_NAME, NULL, &mark);
	if (!err)
		err = import_records_end(&im->recs, r, &im->events, mark, &im->stats);
	if (err)
		return err;
	r->nr_cpus_online = r->nr_cpus;
	r->stats = im->stats;
	snprintf(r->tracer, sizeof(r->tracer), "%s", r->graph ? "function_graph" : "nop");
	return 0;
}

static int import_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	return import_records_read(&((struct import *)r)->recs, cpu, out, max);
}

static int import_rewind(struct reader *r)
{
	import_records_rewind(&((struct import *)r)->recs);
	return 0;
}

static void import_close(struct reader *r)
{
	struct import *im = (struct import *)r;

	for (struct block *b = im->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	import_records_clear(&im->recs);
	table_clear(&im->functions);
	table_clear(&im->threads);
	table_clear(&im->taken);
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
		return fail_errno(-in->err, "cannot read '%s'", in->path);
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

/* The first bytes of the file that identifies the format; 0: there are none. */
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
		import_records_init(&im->recs);
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
		err = fail_errno(errno, "cannot open '%s'", path);
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
