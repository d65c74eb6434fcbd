/* SPDX-License-Identifier: MIT */
/*
 * See dat_native.h. The pages are read again. A thread packs them (page_pack.h), 32 of one CPU at a
 * time, and other threads compress them. Encoding calls keeps one CPU busy to its end, but not the
 * others: they begin with the pages meanwhile. When the calls are encoded, the calling thread goes
 * on with the pages, with threads of its own priority. Costs 1 to 2 ns a record, and 5 to compress
 * it.
 * Tests: tests/unit/reader/test_native.c, tests/cli/test_native.py.
 */
#include "tools/export/dat_native.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include "tools/area/page_pack.h"
#include "tools/base/fail.h"
#include "tools/base/signals.h"
#include "tools/base/two_cpus.h"
#include "tools/export/dat_chunks.h"
#include "tools/export/dat_copy.h"

#define LEVEL	  1
#define MIN_PAGES (16u * PACK_PAGES) /* fewer are not begun early */
#define LOW_NICE  19

struct dat_native {
	const struct pages *p; /* the reader's, */
	struct pages *beside;  /* or the thread's */
	size_t next;	       /* page */
	struct page_packer *k;
	struct chunks *chunks; /* NULL: not begun */
	int fd;		       /* of the temporary file; -1: none, they go to the output */
	pthread_t thread;
	bool running;
	atomic_bool stop;
	int err;   /* the thread's; -errno */
	char *why; /* of err, or NULL */
};

/* Pack a chunk of the next pages of one CPU. Return: 0 or -errno with fail() set. */
static int pack_chunk(struct dat_native *n, unsigned char *room)
{
	unsigned int cpu = pages_ref(n->p, n->next)->cpu, in_chunk = 0;
	uint64_t page[PAGE_BYTES / 8];
	size_t nr = pages_nr_refs(n->p);
	struct page_calls calls;

	page_pack_begin(n->k);
	while (n->next < nr && pages_ref(n->p, n->next)->cpu == cpu && in_chunk < PACK_PAGES) {
		int is_calls = pages_calls(n->p, n->next, &calls);
		int ret = is_calls ? is_calls : pages_fetch(n->p, n->next, page);

		if (ret < 0)
			return ret;
		if (is_calls)
			page_pack_add_calls(n->k, &calls);
		else
			page_pack_add(n->k, page);
		n->next++;
		in_chunk++;
	}
	chunks_note(n->chunks, in_chunk);
	/* an error is found by chunks_flush() */
	chunks_put(n->chunks, (uint32_t)page_pack_end(n->k, room));
	return 0;
}

static uint64_t records_of(const struct pages *p, size_t from, size_t end)
{
	uint64_t nr = 0;

	for (size_t i = from; i < end; i++)
		nr += pages_ref(p, i)->nr_records / DAT_NATIVE_SHARE;
	return nr;
}

/* Make the chunks. @fd, @offset: where they go. */
static int make_chunks(struct dat_native *n, int fd, uint64_t offset)
{
	n->k = page_packer_new();
	n->chunks = n->k ? chunks_new(fd, PACK_MAX_BYTES, LEVEL) : NULL;
	if (!n->chunks)
		return -ENOMEM;
	chunks_start(n->chunks, offset);
	chunks_note(n->chunks, 0);
	return 0;
}

static void *pack_early(void *arg)
{
	struct dat_native *n = arg;
	unsigned char *room;

	/* of this thread alone, and of those that it makes */
	if (getpriority(PRIO_PROCESS, 0) < LOW_NICE)
		setpriority(PRIO_PROCESS, 0, LOW_NICE);
	n->err = make_chunks(n, n->fd, 0);
	while (!n->err && n->next < pages_nr_refs(n->p) && !atomic_load(&n->stop)) {
		room = chunks_get(n->chunks);
		if (!room)
			break;
		n->err = pack_chunk(n, room);
		if (n->err)
			n->why = strdup(fail_text());
	}
	return NULL;
}

struct dat_native *dat_native_begin(const struct dat_file *file, struct reader *r)
{
	const struct pages *p = pages_of_reader(r);
	struct dat_native *n;

	/* on one CPU the pages would only be written twice */
	if (!p || pages_nr_refs(p) < MIN_PAGES || !has_two_cpus())
		return NULL;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->fd = -1;
	n->p = n->beside = pages_beside(p);
	if (n->beside)
		n->fd = dat_file_beside(file, ".pages");
	if (n->fd >= 0)
		n->running = !thread_without_signals(&n->thread, pack_early, n);
	if (n->running)
		return n;
	dat_native_free(n);
	return NULL;
}

static void stop_early(struct dat_native *n)
{
	if (!n->running)
		return;
	atomic_store(&n->stop, true);
	pthread_join(n->thread, NULL);
	n->running = false;
}

void dat_native_free(struct dat_native *n)
{
	if (!n)
		return;
	stop_early(n);
	chunks_free(n->chunks);
	page_packer_free(n->k);
	if (n->fd >= 0)
		close(n->fd);
	pages_beside_free(n->beside);
	free(n->why);
	free(n);
}

/* Write the chunks of all pages that are left. Return: 0 or -errno with fail() set. */
static int write_chunks(struct dat_native *n, const struct dat_file *file, struct reader *r,
			const struct dat_options *opt, uint64_t events)
{
	size_t from = 0;
	uint64_t share;
	int ret = 0;

	while (n->next < pages_nr_refs(n->p)) {
		unsigned char *room = chunks_get(n->chunks);

		if (!room)
			break;
		ret = pack_chunk(n, room);
		if (ret)
			return ret;
		share = records_of(n->p, from, n->next);
		from = n->next;
		events += share;
		dat_progress(opt, r, events, share);
	}
	ret = chunks_flush(n->chunks);
	return ret ? dat_file_failed(file, ret) : 0;
}

/* Move the chunks from the temporary file to the output. */
static int move_chunks(struct dat_native *n, const struct dat_file *file, uint64_t offset)
{
	struct dat_copy *copy = dat_copy_new(n->fd);
	int ret = copy ? dat_copy_add(copy, chunks_offset(n->chunks), 0, offset) : -ENOMEM;

	if (!copy)
		return dat_file_failed(file, ret);
	n->fd = -1;
	if (!ret)
		dat_copy_begin(copy, file->fd);
	ret = dat_copy_end(copy) ?: ret;
	return ret ? dat_file_failed(file, ret) : 0;
}

/* All chunks, at *@offset, which gets their end. Return: 0 or -errno with fail() set. */
static int write_pages(struct dat_native *n, const struct dat_file *file, struct reader *r,
		       const struct dat_options *opt, uint64_t events, uint64_t *offset)
{
	int ret = 0;

	stop_early(n);
	if (n->err)
		return n->why ? fail(-n->err, "%s", n->why) : dat_file_failed(file, n->err);
	if (n->chunks)
		chunks_new_workers(n->chunks);
	else
		ret = make_chunks(n, file->fd, *offset);
	if (ret)
		return dat_file_failed(file, ret);
	ret = write_chunks(n, file, r, opt, events);
	if (!ret && n->fd >= 0) {
		ret = move_chunks(n, file, *offset);
		*offset += chunks_offset(n->chunks);
	} else if (!ret) {
		*offset = chunks_offset(n->chunks);
	}
	return ret;
}

/* The sizes that chunks_notes() has, as rows of the native tables. */
static struct native_chunk *noted(const struct chunks *chunks, size_t *nr)
{
	const struct chunk_note *note = chunks_notes(chunks, nr);
	struct native_chunk *at = malloc((*nr + 1) * sizeof(*at));

	for (size_t i = 0; at && i < *nr; i++)
		at[i] = (struct native_chunk){.packed = note[i].bytes, .nr_pages = note[i].tag};
	return at;
}

static int write_tail(const struct dat_file *file, const void *tables, size_t bytes,
		      uint64_t *offset, struct native_tail *t)
{
	size_t bound = ZSTD_compressBound(bytes), n;
	ZSTD_CCtx *z = chunks_zstd(LEVEL);
	char *packed = malloc(bound);
	int ret = packed && z ? 0 : -ENOMEM;

	if (!ret) {
		n = ZSTD_compress2(z, packed, bound, tables, bytes);
		if (ZSTD_isError(n))
			ret = -ENOMEM;
	}
	if (!ret) {
		t->tables_offset = *offset;
		t->tables_packed = n;
		t->tables_bytes = bytes;
		t->file_bytes = *offset + n + sizeof(*t);
		ret = dat_file_pwrite(file->fd, packed, n, *offset);
	}
	if (!ret)
		ret = dat_file_pwrite(file->fd, t, sizeof(*t), t->tables_offset + n);
	free(packed);
	ZSTD_freeCCtx(z);
	*offset = t->file_bytes;
	return ret ? dat_file_failed(file, ret) : 0;
}

int dat_native_write(struct dat_native *n, const struct dat_file *file, struct reader *r,
		     const struct dat_options *opt, uint64_t events,
		     const struct native_known *known, uint64_t *offset)
{
	struct native_tail tail = {.magic = NATIVE_MAGIC,
				   .major = NATIVE_MAJOR,
				   .minor = NATIVE_MINOR,
				   .tail_bytes = sizeof(tail),
				   .chunks_offset = *offset};
	struct dat_native now = {.p = pages_of_reader(r), .fd = -1};
	struct native_chunk *rows = NULL;
	void *tables = NULL;
	size_t bytes, nr;
	int ret;

	if (!now.p)
		return 0;
	if (!n)
		n = &now;
	ret = write_pages(n, file, r, opt, events, offset);
	if (!ret) {
		rows = noted(n->chunks, &nr);
		ret = rows ? native_tables_pack(n->p, rows, nr, known, &tables, &bytes)
			   : dat_file_failed(file, -ENOMEM);
	}
	if (!ret)
		ret = write_tail(file, tables, bytes, offset, &tail);
	chunks_free(now.chunks);
	page_packer_free(now.k);
	free(rows);
	free(tables);
	return ret;
}
