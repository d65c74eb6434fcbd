/* SPDX-License-Identifier: MIT */
/*
 * The native block of a trace.dat: what is read from it is what is read from the kernel's format
 * beside it, for random programs with losses, throws, coroutines and several processes; a block
 * that was damaged is not used, or an error when its turn comes. Its packed pages:
 * test_page_pack.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "tools/base/fail.h" /* before cmocka, which has a macro of that name */

#include <cmocka.h>

#include "fake_area.h"
#include "tests/unit/graph_synth.h"
#include "tests/unit/synth.h"
#include "tools/analysis/call_table.h"
#include "tools/analysis/graph_events.h"
#include "tools/analysis/merge.h"
#include "tools/analysis/runs.h"
#include "tools/area/spool_write.h"
#include "tools/dat/native.h"
#include "tools/export/dat_write.h"

enum { FUNCTIONS = 40, MAX_BYTES = 1u << 26 };

static uint32_t seed;
static unsigned int nr_leaves_unknown;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

/* --- a spool of what a program did that does not exist --- */

struct spooling {
	struct spool_writer *w;
	uint64_t page[PAGE_BYTES / 8];
	uint64_t seq, lost;
	struct record of; /* whose page it is */
	unsigned int at;  /* words; 0: none */
};

static void end_page(struct spooling *s)
{
	struct page_head *head = (struct page_head *)s->page;
	struct spool_page page = {s->page, s->seq};

	if (!s->at)
		return;
	head->commit = 8u * s->at;
	assert_int_equal(spool_put_pages(s->w, s->of.process, s->of.cpu, &page, 1), 0);
	s->at = 0;
}

static void put_record(struct spooling *s, const struct record *rec)
{
	struct page_head *head = (struct page_head *)s->page;
	uint32_t id = (uint32_t)rec->ip;

	if (s->at == PAGE_BYTES / 8 || rec->lost || rec->pid != s->of.pid ||
	    rec->process != s->of.process || rec->task != s->of.task ||
	    (s->at && rec->ts - head->base_stamp > UINT32_MAX))
		end_page(s);
	s->lost += rec->lost;
	if (!s->at) {
		memset(s->page, 0, sizeof(s->page));
		*head = (struct page_head){.base_stamp = rec->ts,
					   .tid = rec->pid,
					   .cpu = rec->cpu,
					   .task = rec->task,
					   .dropped_events = s->lost,
					   .seq = ++s->seq};
		s->of = *rec;
		s->at = PAGE_HEAD_BYTES / 8;
	}
	if (rec->kind <= RECORD_EXIT)
		for (id = 0; synth_addr(id) != rec->ip; id++)
			;
	s->page[s->at++] = fake_record(rec->kind, id, (uint32_t)(rec->ts - head->base_stamp));
}

/* The spool of @g; its name is the same each time. */
static const char *spool_of(const struct graph_synth *g, unsigned int nr_processes)
{
	struct fake *f = fake_new(GRAPH_SYNTH_CPUS, 1, FUNCTIONS);
	static struct spooling s;
	int fd = open(fake_write(f, 0), O_RDONLY);
	struct meta *m;

	assert_int_equal(meta_load(fd, 0, f->size, "fake", &m), 0);
	close(fd);
	strcpy(m->buffers[0].tracer, "function_graph");
	unlink(fake_path("spool"));
	s = (struct spooling){0};
	assert_int_equal(spool_create(fake_path("spool"), "fake args", 0, &s.w), 0);
	for (uint32_t i = 0; i < nr_processes; i++) {
		/* they run at the same time, so they are no images of one process */
		m->head.pid = 100 + (int32_t)i;
		assert_int_equal(spool_put_meta(s.w, i, m), 0);
	}
	for (unsigned int cpu = 0; cpu < GRAPH_SYNTH_CPUS; cpu++) {
		s.lost = 0;
		for (uint64_t i = 0; i < g->nr[cpu]; i++)
			put_record(&s, &g->rec[cpu][i]);
		end_page(&s);
	}
	assert_int_equal(spool_end(s.w, 77777), 0);
	spool_close_writer(s.w);
	meta_free(m);
	fake_free(f);
	return fake_path("spool");
}

static void run_synth(struct graph_synth *g, uint32_t n)
{
	struct graph_synth_plan plan = {
		.seed = n,
		.steps = 3000,
		.threads = 1 + n % 5,
		.processes = 1 + n % 2,
		.coroutines = n % 3 * 4,
		.tails = n % 2,
		.throws = n % 5 > 1,
		.middle = n % 5 <= 1,
		.calls_first = n % 7 < 4,
		.ends = n % 4 != 1,
	};

	graph_synth_run(g, &plan);
	if (n % 4 == 0)
		graph_synth_lose(g, n, 100);
}

static struct reader *opened(const char *path)
{
	struct reader *r;

	if (reader_open(path, &r))
		fail_msg("%s: %s", path, fail_text());
	return r;
}

/* Write the spool as a trace.dat. */
static const char *dat_of(const char *spool, const char *name, int version, bool native)
{
	struct dat_options how = {.version = version, .zstd_level = version == 7, .native = native};
	struct reader *r = opened(spool);
	const char *path = fake_path(name);

	assert_int_equal(dat_write(path, r, &how), 0);
	reader_close(r);
	return path;
}

/* --- what the views make of it --- */

static void print_events(FILE *f, struct reader *r, bool fold)
{
	const struct graph_event *ev;
	struct graph_events *events;
	int ret;

	events = graph_events_new(r, NULL, fold, &ret);
	assert_non_null(events);
	while ((ret = graph_events_next(events, &ev)) > 0)
		fprintf(f,
			"%" PRIu64 " cpu %u pid %d lost %" PRId64 " type %d ip %" PRIx64
			" depth %u flags %x stack %u %" PRIu64 "\n",
			ev->rec->ts, ev->rec->cpu, ev->rec->pid, (int64_t)ev->lost, ev->type,
			ev->ip, ev->depth, ev->flags, ev->stack, ev->end - ev->start * !!ev->end);
	assert_int_equal(ret, 0);
	graph_events_free(events);
	assert_int_equal(r->ops->rewind(r), 0);
}

static void print_tree(FILE *f, struct reader *r)
{
	static const enum call_sort keys[] = {SORT_NAME, SORT_TID};
	static const struct call_wish all;
	struct call_filter *filter = call_filter_new(r, &all);
	struct runs *runs = runs_new(r);
	struct call_table table;
	struct call_tree tree;
	struct calls *calls;
	struct run run;
	int ret;

	assert_int_equal(call_tree_init(&tree, filter, true, false), 0);
	calls = calls_new(&call_tree_ops, &tree, NULL);
	if (r->bases_known)
		assert_int_equal(calls_learn(calls, r, NULL), 0);
	while ((ret = runs_next(runs, &run)) > 0)
		assert_int_equal(calls_run(calls, &run), 0);
	assert_int_equal(ret, 0);
	calls_finish(calls);
	assert_int_equal(call_table_make(&tree, TABLE_BY_FUNCTION, &table), 0);
	call_table_sort(&table, keys, 2);
	for (size_t i = 0; i < table.nr; i++) {
		const struct call_row *row = &table.rows[i];

		fprintf(f,
			"%s %d calls %" PRIu64 " total %" PRIu64 " self %" PRIu64
			" suspended %" PRIu64 " min %" PRIu64 " max %" PRIu64 "\n",
			row->name, row->tid, row->calls, row->total, row->self, row->suspended,
			row->min, row->max);
	}
	call_table_free(&table);
	call_tree_clear(&tree);
	calls_free(calls);
	runs_free(runs);
	call_filter_free(filter);
	assert_int_equal(r->ops->rewind(r), 0);
}

static void print_stats(FILE *f, const struct reader *r)
{
	fprintf(f, "%u %s %s %s %s\n", r->nr_cpus, r->clock, r->tracer, r->cmdline, r->uname);
	for (unsigned int c = 0; c < r->nr_cpus; c++)
		fprintf(f, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", r->stats[c].entries,
			r->stats[c].dropped_events, r->stats[c].read_events);
}

/* All of it as text. @native: must it be what is read? */
static char *shown(const char *path, bool native)
{
	struct reader *r = opened(path);
	size_t bytes;
	char *text;
	FILE *f = open_memstream(&text, &bytes);

	assert_int_equal(r->ops->read_run != NULL, native);
	print_stats(f, r);
	print_tree(f, r);
	print_events(f, r, false);
	assert_int_equal(r->ops->read_run != NULL, native);
	nr_leaves_unknown += r->leaves_unknown;
	print_events(f, r, true);
	fclose(f);
	reader_close(r);
	return text;
}

static void same_text(const char *a, const char *b, const char *what, uint32_t n)
{
	size_t at = 0;

	while (a[at] && a[at] == b[at])
		at++;
	if (!a[at] && !b[at])
		return;
	while (at && a[at - 1] != '\n')
		at--;
	fail_msg("%s, seed %u:\n%.200s\n---\n%.200s", what, n, a + at, b + at);
}

static void both_ways_show_the_same(void **state)
{
	for (uint32_t n = 1; n <= 60; n++) {
		int version = n % 3 ? 7 : 6;
		struct graph_synth g;
		const char *spool;
		char *with, *without;

		run_synth(&g, n);
		spool = spool_of(&g, 1 + n % 2);
		with = shown(dat_of(spool, "with.dat", version, true), true);
		without = shown(dat_of(spool, "without.dat", version, false), false);
		assert_true(strlen(with) > 1000);
		same_text(with, without, "with and without", n);
		free(with);
		free(without);
		graph_synth_free(&g);
	}
	/* a leaf on two CPUs is no rare thing here */
	assert_in_range(nr_leaves_unknown, 3, 30);
}

/* By runs, record after record, and merged: one stream. */
static void runs_are_the_records(void **state)
{
	for (uint32_t n = 1; n <= 20; n++) {
		struct graph_synth g;
		struct reader *a, *b;
		const struct record *rec;
		const char *spool;
		struct merge *merge;
		struct runs *runs;
		struct run run;
		uint64_t nr = 0;

		run_synth(&g, n);
		spool = spool_of(&g, 1 + n % 2);
		a = opened(n % 2 ? spool : dat_of(spool, "with.dat", 7, true));
		b = opened(spool);
		runs = runs_new(a);
		merge = merge_new(b);
		while (runs_next(runs, &run) > 0)
			for (unsigned int i = 0; i < run.nr; i++, nr++) {
				uint32_t id = run.recs ? 0 : RECORD_RUN_ID(run.words[i]);
				struct record got = run.recs ? run.recs[i] : run.head;

				assert_int_equal(merge_next(merge, &rec), 1);
				if (!run.recs) {
					got.kind = (uint8_t)RECORD_RUN_KIND(run.words[i]);
					got.ip = got.kind <= RECORD_EXIT ? run.functions[id] : id;
					got.ts = run.ts[i];
					got.lost = i ? 0 : got.lost;
				}
				assert_memory_equal(&got, rec, sizeof(got));
			}
		assert_int_equal(merge_next(merge, &rec), 0);
		assert_int_equal(nr, g.nr[0] + g.nr[1] + g.nr[2]);
		runs_free(runs);
		merge_free(merge);
		reader_close(a);
		reader_close(b);
		graph_synth_free(&g);
	}
}

/* --- a block that is not as it was --- */

static size_t load(const char *path, char *bytes)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, bytes, MAX_BYTES);

	close(fd);
	assert_true(n > 0);
	return (size_t)n;
}

static void store(const char *path, const char *bytes, size_t nr)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, nr), nr);
	close(fd);
}

/* A file, its bytes, and what it shows as long as it is whole. */
struct whole {
	struct graph_synth g;
	const char *path;
	char *bytes, *want;
	size_t nr;
	struct native_tail tail;
};

static void make_whole(struct whole *w, const char *name, int version)
{
	run_synth(&w->g, 2);
	w->path = dat_of(spool_of(&w->g, 1), name, version, true);
	w->want = shown(w->path, true);
	w->bytes = malloc(MAX_BYTES + 64);
	w->nr = load(w->path, w->bytes);
	memcpy(&w->tail, w->bytes + w->nr - sizeof(w->tail), sizeof(w->tail));
}

static void free_whole(struct whole *w)
{
	free(w->want);
	free(w->bytes);
	graph_synth_free(&w->g);
}

/* The file with one bit changed. */
static void store_flipped(const struct whole *w, uint64_t at)
{
	w->bytes[at] ^= 0x10;
	store(w->path, w->bytes, w->nr);
	w->bytes[at] ^= 0x10;
}

/* What it shows of its records alone is what it showed when it was whole. */
static void shows_the_same(const struct whole *w, const char *what, uint32_t i)
{
	char *got = shown(w->path, false);

	same_text(got, w->want, what, i);
	free(got);
}

static void a_damaged_block_is_not_used(void **state)
{
	struct whole w;

	for (int version = 6; version <= 7; version++) {
		make_whole(&w, "damaged.dat", version);
		{
			const struct native_tail tail = w.tail;
			const size_t nr = w.nr;
			const uint64_t cuts[] = {
				nr - 1,
				nr - 8,
				nr - sizeof(tail),
				nr - sizeof(tail) - 1,
				(tail.tables_offset + nr) / 2,
				tail.tables_offset,
				(tail.chunks_offset + tail.tables_offset) / 2,
				tail.chunks_offset,
				tail.chunks_offset - (version == 7 ? 5 : 0),
			};
			const uint64_t flips[] = {
				nr - 1,
				nr - sizeof(tail),
				nr - sizeof(tail) + 8,
				nr - sizeof(tail) + 20,
				nr - sizeof(tail) + 24,
				nr - sizeof(tail) + 32,
				nr - sizeof(tail) + 40,
				nr - sizeof(tail) + 48,
				nr - sizeof(tail) - 1,
				tail.tables_offset,
				tail.tables_offset + 9,
				(tail.tables_offset + nr) / 2,
			};

			for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
				store(w.path, w.bytes, cuts[i]);
				shows_the_same(&w, "cut", (uint32_t)i);
			}
			for (size_t i = 0; i < sizeof(flips) / sizeof(*flips); i++) {
				store_flipped(&w, flips[i]);
				shows_the_same(&w, "changed", (uint32_t)i);
			}
		}
		/* something was appended, and it may even look like a tail */
		memcpy(w.bytes + w.nr, &w.tail.magic, 8);
		store(w.path, w.bytes, w.nr + 8);
		shows_the_same(&w, "appended", 0);
		free_whole(&w);
	}
}

/* Read all records. Return: what the last read returned. */
static int read_out(struct reader *r)
{
	struct record recs[64];
	int n = 0;

	for (unsigned int cpu = 0; cpu < r->nr_cpus && n >= 0; cpu++)
		do
			n = reader_read(r, cpu, recs, 64);
		while (n > 0);
	return n;
}

/* Each chunk has a sum of its own: reading it reports the damage, and what to do. */
static void a_damaged_chunk_is_an_error(void **state)
{
	struct whole w;

	for (int version = 6; version <= 7; version++) {
		make_whole(&w, "chunk.dat", version);
		for (uint64_t at = w.tail.chunks_offset; at < w.tail.tables_offset;
		     at += 1 + (w.tail.tables_offset - w.tail.chunks_offset) / 50) {
			struct reader *r;

			store_flipped(&w, at);
			r = opened(w.path);
			assert_int_equal(read_out(r), -EINVAL);
			assert_non_null(strstr(fail_text(), "truncate -s -1"));
			reader_close(r);
		}
		assert_int_equal(truncate(w.path, (off_t)w.nr - 1), 0);
		shows_the_same(&w, "truncated", (uint32_t)version);
		free_whole(&w);
	}
}

static unsigned long peak_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kb = 0;
	char line[200];

	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmPeak: %lu", &kb);
	fclose(f);
	return kb;
}

/* A file of 3 MB whose tables claim to unpack to 1.5 GB: no memory is taken for it. */
static void tables_that_say_too_much(void **state)
{
	enum { FRAME = 3u << 20 };
	static const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd,
					     0xe0}; /* with a size of 8 bytes */
	char *bytes = malloc(MAX_BYTES), *want, *got;
	const uint64_t says = UINT64_C(1500) << 20;
	struct native_tail tail;
	struct graph_synth g;
	unsigned long before;
	const char *path;
	size_t nr;

	run_synth(&g, 2);
	path = dat_of(spool_of(&g, 1), "much.dat", 6, true);
	want = shown(path, true);
	nr = load(path, bytes);
	memcpy(&tail, bytes + nr - sizeof(tail), sizeof(tail));
	memset(bytes + tail.tables_offset, 0, FRAME);
	memcpy(bytes + tail.tables_offset, head, sizeof(head));
	memcpy(bytes + tail.tables_offset + sizeof(head), &says, sizeof(says));
	tail.tables_packed = FRAME;
	tail.tables_bytes = says;
	tail.file_bytes = tail.tables_offset + FRAME + sizeof(tail);
	memcpy(bytes + tail.file_bytes - sizeof(tail), &tail, sizeof(tail));
	store(path, bytes, tail.file_bytes);
	before = peak_kb();
	got = shown(path, false);
	same_text(got, want, "much", 0);
	assert_in_range(peak_kb() - before, 0, 200 << 10);
	free(got);
	free(want);
	free(bytes);
	graph_synth_free(&g);
}

static int unpack_tables(const char *packed, const struct native_tail *t, char *raw)
{
	size_t n = ZSTD_decompress(raw, t->tables_bytes, packed, t->tables_packed);

	return n == t->tables_bytes ? 0 : -1;
}

static size_t repack_tables(const char *raw, struct native_tail *t, char *packed, size_t room)
{
	size_t n = ZSTD_compress(packed, room, raw, t->tables_bytes, 1);

	assert_false(ZSTD_isError(n));
	t->tables_packed = n;
	return n;
}

static void runs_do_not_go_back(struct reader *r)
{
	struct run run;

	for (unsigned int cpu = 0; r->ops->read_run && cpu < r->nr_cpus; cpu++) {
		uint64_t last = 0;

		while (r->ops->read_run(r, cpu, &run) > 0)
			for (unsigned int i = 0; i < run.nr; i++) {
				assert_true(run_ts(&run, i) >= last);
				last = run_ts(&run, i);
			}
	}
}

/* Its checksums agree, its contents are false: refused at once, or when they are read. */
static void a_hostile_block_does_no_harm(void **state)
{
	char *bytes = malloc(MAX_BYTES), *raw, *good;
	struct native_tail tail;
	struct graph_synth g;
	const char *path;
	size_t nr;

	run_synth(&g, 3);
	path = dat_of(spool_of(&g, 2), "hostile.dat", 6, true);
	nr = load(path, bytes);
	memcpy(&tail, bytes + nr - sizeof(tail), sizeof(tail));
	raw = malloc(tail.tables_bytes);
	good = malloc(nr);
	memcpy(good, bytes, nr);
	for (seed = 1; seed < 400; seed++) {
		struct native_tail t = tail;
		uint32_t before = seed;
		struct record recs[64];
		struct reader *r;
		size_t at, k;

		assert_int_equal(unpack_tables(good + tail.tables_offset, &tail, raw), 0);
		for (unsigned int i = 0; i < 1 + dice(3); i++) {
			at = dice(2) ? dice(96) : dice((uint32_t)tail.tables_bytes);
			raw[at] = (char)(dice(3) ? (int)dice(256) : raw[at] + 1);
		}
		k = repack_tables(raw, &t, bytes + tail.tables_offset,
				  MAX_BYTES - tail.tables_offset);
		if (dice(4) == 0) { /* a chunk */
			at = tail.chunks_offset +
			     dice((uint32_t)(tail.tables_offset - tail.chunks_offset));
			bytes[at] ^= (char)dice(256);
		}
		nr = tail.tables_offset + k + sizeof(t);
		t.file_bytes = nr;
		memcpy(bytes + nr - sizeof(t), &t, sizeof(t));
		store(path, bytes, nr);
		r = opened(path);
		for (unsigned int cpu = 0; cpu < r->nr_cpus; cpu++) {
			uint64_t last = 0;
			int n;

			while ((n = reader_read(r, cpu, recs, 64)) > 0)
				for (int i = 0; i < n; i++) {
					assert_true(recs[i].ts >= last);
					last = recs[i].ts;
				}
		}
		if (!r->ops->rewind(r))
			runs_do_not_go_back(r);
		reader_close(r);
		seed = before;
	}
	graph_synth_free(&g);
	free(raw);
	free(good);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways_show_the_same),
		cmocka_unit_test(runs_are_the_records),
		cmocka_unit_test(a_damaged_block_is_not_used),
		cmocka_unit_test(a_damaged_chunk_is_an_error),
		cmocka_unit_test(tables_that_say_too_much),
		cmocka_unit_test(a_hostile_block_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
