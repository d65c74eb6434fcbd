/* SPDX-License-Identifier: MIT */
/*
 * See split.h. What is around the CPUs' data is copied as it is; records are put into new sub-buffers,
 * each CPU's in a file without a name until the part is whole. One thread; the memory is that of a
 * sub-buffer and of a window of the input for each CPU. Tests: tests/cli/test_split.py.
 */
#include "tools/report/split.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "tools/base/fail.h"
#include "tools/dat/dat_format.h"
#include "tools/dat/dat_pieces.h"
#include "tools/export/dat_chunks.h"
#include "tools/export/dat_file.h"

#define BATCH	    256u
#define ALIGN	    4096u
#define CHUNK_PAGES 32u
#define ZSTD_LEVEL  3
#define MAX_PARTS   9999u

/* A CPU of a buffer: what comes next of it, and the sub-buffers of the part that is being made. */
struct lane {
	struct dat_buffer *b;
	struct dat_stream *in;
	struct record *batch;
	int nr, at;
	uint64_t ns; /* of the next record, as report prints it */
	bool ended;
	FILE *spool;
	uint64_t bytes; /* in it */
	unsigned char *page;
	uint32_t used, limit; /* of the page; 0: there is none */
	uint64_t ts, lost;    /* of the last event; in front of the page */
	uint64_t events, pages;
	uint64_t at_in_file, bytes_in_file;
};

struct splitter {
	const struct split_options *o;
	struct dat_reader *d;
	struct lane *lanes;
	size_t nr;
	uint32_t mult, shift; /* of its stamps */
	uint64_t offset;
	struct dat_file file;
	uint64_t at; /* where the file is written */
	ZSTD_CCtx *zstd;
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory while splitting");
}

/* A number in the input's byte order. */
static void number(const struct splitter *s, unsigned char *to, uint64_t v, unsigned int bytes)
{
	if (s->d->layout.swap)
		v = __builtin_bswap64(v) >> (64 - 8 * bytes);
	memcpy(to, &v, bytes);
}

/* As dat_stream_read() does where it converts. */
static uint64_t shown_ns(const struct splitter *s, uint64_t ts)
{
	if (s->mult)
		ts = (uint64_t)((unsigned __int128)ts * s->mult >> s->shift);
	return ts + s->offset;
}

/* Load what is next. Return: 0 or -errno with fail() set. */
static int peek(struct splitter *s, struct lane *l)
{
	if (l->ended)
		return 0;
	if (l->at == l->nr) {
		l->at = 0;
		l->nr = dat_stream_read(l->in, l->batch, BATCH);
		if (l->nr <= 0) {
			l->ended = true;
			return l->nr;
		}
	}
	l->ns = shown_ns(s, l->batch[l->at].ts);
	return 0;
}

static int page_end(struct splitter *s, struct lane *l)
{
	uint32_t head = s->d->layout.head_bytes, size = l->b->layout.page_bytes, word = head - 8;
	uint64_t commit = l->used - head;

	if (!l->used)
		return 0;
	if (l->lost) {
		commit |= SUBBUF_MISSED_EVENTS;
		if (l->lost != RECORD_LOST_UNKNOWN) {
			commit |= SUBBUF_MISSED_STORED;
			number(s, l->page + l->used, l->lost, word);
			l->used += word;
		}
	}
	number(s, l->page + 8, commit, word);
	memset(l->page + l->used, 0, size - l->used);
	l->used = 0;
	if (fwrite(l->page, size, 1, l->spool) != 1)
		return dat_file_failed(&s->file, errno ? -errno : -EIO);
	l->bytes += size;
	return 0;
}

static void put_head(struct splitter *s, struct lane *l, uint32_t type, uint64_t delta)
{
	uint32_t word = s->d->layout.swap ? type << EVENT_DELTA_BITS | (uint32_t)delta
					  : type | (uint32_t)delta << EVENT_TYPE_BITS;

	number(s, l->page + l->used, word, 4);
	l->used += 4;
}

/* Room for @bytes behind the head of an event, at most 12 with a TIME_EXTEND in front of it. */
static int page_room(struct splitter *s, struct lane *l, const struct record *r, uint32_t bytes)
{
	uint32_t head = s->d->layout.head_bytes;
	int ret;

	if (l->used && !r->lost && l->limit - l->used >= bytes + 12)
		return 0;
	ret = page_end(s, l);
	if (ret)
		return ret;
	l->pages++;
	l->lost = r->lost;
	l->used = head;
	l->limit = l->b->layout.page_bytes - (l->lost ? 8 : 0);
	l->ts = r->ts;
	number(s, l->page, r->ts, 8);
	return 0;
}

static int put_record(struct splitter *s, struct lane *l, const struct record *r)
{
	uint32_t n = r->data_bytes, padded = (n + 3) & ~3u;
	bool is_long = n % 4 || n / 4 > EVENT_DATA_MAX || !n;
	uint64_t delta;
	int ret;

	if (padded + 12 + s->d->layout.head_bytes + 8 > l->b->layout.page_bytes)
		return dat_damaged(s->d, "a record that fits in no sub-buffer");
	ret = page_room(s, l, r, padded);
	if (ret)
		return ret;
	delta = r->ts - l->ts;
	if (delta > EVENT_DELTA_MAX) {
		put_head(s, l, EVENT_TIME_EXTEND, delta & EVENT_DELTA_MAX);
		number(s, l->page + l->used, delta >> EVENT_DELTA_BITS, 4);
		l->used += 4;
		delta = 0;
	}
	put_head(s, l, is_long ? 0 : n / 4, delta);
	if (is_long) {
		number(s, l->page + l->used, n + 4, 4);
		l->used += 4;
	}
	memcpy(l->page + l->used, r->data, n);
	memset(l->page + l->used + n, 0, padded - n);
	l->used += padded;
	l->ts = r->ts;
	l->events++;
	return 0;
}

/* The lane whose record is next. NULL: there is none. */
static struct lane *first_lane(struct splitter *s)
{
	struct lane *first = NULL;

	for (size_t i = 0; i < s->nr; i++)
		if (!s->lanes[i].ended && (!first || s->lanes[i].ns < first->ns))
			first = &s->lanes[i];
	return first;
}

/* Whether the part ends in front of the lane's next record. */
static bool is_full(const struct splitter *s, const struct lane *l, uint64_t events, uint64_t from)
{
	const struct split_options *o = s->o;

	if (o->limit == SPLIT_NS)
		return l->ns - from > o->most;
	if (o->limit == SPLIT_EVENTS)
		return (o->per_cpu || o->cpu >= 0 ? l->events : events) >= o->most;
	/* the page that is being filled is the last one, and the record has no room in it */
	if (o->limit == SPLIT_PAGES)
		return l->pages >= o->most &&
		       (l->batch[l->at].lost ||
			l->limit - l->used < ((l->batch[l->at].data_bytes + 3) & ~3u) + 12);
	return false;
}

static int take_record(struct splitter *s, struct lane *l)
{
	int ret = put_record(s, l, &l->batch[l->at]);

	if (ret)
		return ret;
	l->at++;
	return peek(s, l);
}

/* One part's records: of each CPU alone, or merged. @ended: none is left that is wanted. */
static int take_part(struct splitter *s, uint64_t *events, bool *ended)
{
	const struct split_options *o = s->o;
	bool alone = o->per_cpu || o->cpu >= 0 || o->limit == SPLIT_PAGES;
	struct lane *l = first_lane(s);
	uint64_t from = l ? l->ns : 0;
	int ret = 0;

	*ended = true;
	*events = 0;
	for (size_t i = 0; alone && i < s->nr && !ret; i++) {
		l = &s->lanes[i];
		while (!ret && !l->ended && !(o->has_end && l->ns > o->end_ns)) {
			if (is_full(s, l, 0, from)) {
				*ended = false;
				break;
			}
			ret = take_record(s, l);
			*events += 1;
		}
	}
	while (!alone && !ret && (l = first_lane(s)) && !(o->has_end && l->ns > o->end_ns)) {
		if (is_full(s, l, *events, from)) {
			*ended = false;
			break;
		}
		ret = take_record(s, l);
		*events += 1;
	}
	return ret;
}

static int put(struct splitter *s, const void *data, size_t bytes)
{
	int ret = dat_file_pwrite(s->file.fd, data, bytes, s->at);

	s->at += bytes;
	return ret ? dat_file_failed(&s->file, ret) : 0;
}

static int put_number(struct splitter *s, uint64_t v, unsigned int bytes)
{
	unsigned char to[8];

	number(s, to, v, bytes);
	return put(s, to, bytes);
}

static int put_number_at(struct splitter *s, uint64_t at, uint64_t v, unsigned int bytes)
{
	uint64_t here = s->at;
	int ret;

	s->at = at;
	ret = put_number(s, v, bytes);
	s->at = here;
	return ret;
}

/* Bytes of the input. */
static int copy(struct splitter *s, uint64_t from, uint64_t bytes)
{
	unsigned char text[65536];
	int ret = 0;

	for (uint64_t done = 0, n; done < bytes && !ret; done += n) {
		n = bytes - done < sizeof(text) ? bytes - done : sizeof(text);
		if (cursor_pread(s->d->layout.fd, text, n, from + done))
			return dat_damaged(s->d, "it ends too early");
		ret = put(s, text, n);
	}
	return ret;
}

/* A CPU's sub-buffers: as they are, or packed, behind the number of chunks. */
static int put_lane(struct splitter *s, struct lane *l)
{
	size_t chunk = (size_t)CHUNK_PAGES * l->b->layout.page_bytes,
	       bound = ZSTD_compressBound(chunk);
	unsigned char *raw = malloc(chunk), *packed = malloc(bound);
	uint64_t count_at = s->at;
	uint32_t nr = 0;
	size_t n;
	int ret = raw && packed ? 0 : no_memory();

	rewind(l->spool);
	l->at_in_file = s->at;
	if (!ret && l->b->layout.compressed && l->bytes)
		ret = put_number(s, 0, 4);
	while (!ret && (n = fread(raw, 1, chunk, l->spool)) > 0) {
		size_t z = l->b->layout.compressed ? ZSTD_compress2(s->zstd, packed, bound, raw, n)
						   : 0;

		if (!l->b->layout.compressed) {
			ret = put(s, raw, n);
			continue;
		}
		if (ZSTD_isError(z))
			ret = no_memory();
		if (!ret)
			ret = put_number(s, z, 4);
		if (!ret)
			ret = put_number(s, n, 4);
		if (!ret)
			ret = put(s, packed, z);
		nr++;
	}
	l->bytes_in_file = s->at - l->at_in_file;
	if (!ret && nr) {
		l->bytes_in_file -= 4; /* which the size does not count */
		ret = put_number_at(s, count_at, nr, 4);
	}
	free(raw);
	free(packed);
	return ret;
}

static void align(struct splitter *s, uint32_t to)
{
	s->at = (s->at + to - 1) / to * to;
}

static int put_lanes(struct splitter *s, const struct dat_buffer *b)
{
	int ret = 0;

	for (size_t i = 0; i < s->nr && !ret; i++) {
		if (s->lanes[i].b != b)
			continue;
		align(s, b->layout.page_bytes > ALIGN ? b->layout.page_bytes : ALIGN);
		ret = put_lane(s, &s->lanes[i]);
	}
	return ret;
}

/* Version 6: `flyrecord` has been written; the table of CPUs, then their data. */
static int put_table_v6(struct splitter *s, const struct dat_buffer *b)
{
	uint64_t at = s->at;
	int ret;

	s->at += 16u * b->nr_cpus;
	ret = put_lanes(s, b);
	for (size_t i = 0; i < s->nr && !ret; i++) {
		if (s->lanes[i].b != b)
			continue;
		ret = put_number_at(s, at, s->lanes[i].at_in_file, 8);
		if (!ret)
			ret = put_number_at(s, at + 8, s->lanes[i].bytes_in_file, 8);
		at += 16;
	}
	return ret;
}

/* All options but the statistics of the whole; where those about instances begin goes to @instances. */
static int put_options_v6(struct splitter *s, uint64_t *instances)
{
	const struct dat_reader *d = s->d;
	size_t nr = 0;
	int ret = 0;

	for (size_t i = 0; i < d->nr_options && !ret; i++) {
		const struct dat_option_data *o = &d->options[i];

		if (o->id == DAT_CPUSTAT)
			continue;
		ret = put_number(s, o->id, 2);
		if (!ret)
			ret = put_number(s, o->bytes, 4);
		if (o->id == DAT_BUFFER)
			instances[nr++] = s->at;
		if (!ret)
			ret = put(s, o->data, o->bytes);
	}
	return ret ? ret : put_number(s, DAT_DONE, 2);
}

static int put_v6(struct splitter *s)
{
	struct dat_reader *d = s->d;
	const struct dat_buffer *top = &d->buffers[0];
	/* behind "options", or in front of "flyrecord" where there are none */
	uint64_t until = d->nr_options ? d->options[0].at - 6 : top->at - 10;
	uint64_t *instances = calloc(d->nr_buffers + 1, sizeof(*instances));
	int ret = instances ? copy(s, 0, until) : no_memory();

	if (!ret && d->nr_options)
		ret = put_options_v6(s, instances);
	if (!ret)
		ret = put(s, "flyrecord", 10);
	if (!ret)
		ret = put_table_v6(s, top);
	for (size_t i = 1; i < d->nr_buffers && !ret; i++) {
		uint64_t at = s->at;

		ret = put_number_at(s, instances[i - 1], at, 8);
		if (!ret)
			ret = put(s, "flyrecord", 10);
		if (!ret)
			ret = put_table_v6(s, &d->buffers[i]);
	}
	free(instances);
	return ret;
}

/* The head of a section of version 7, whose size is set by end_section(). */
static int begin_section(struct splitter *s, uint16_t id, uint16_t flags, uint64_t *at)
{
	unsigned char head[DAT_SECTION_BYTES] = {0};

	*at = s->at;
	number(s, head, id, 2);
	number(s, head + 2, flags, 2);
	return put(s, head, sizeof(head));
}

static int end_section(struct splitter *s, uint64_t at)
{
	return put_number_at(s, at + 8, s->at - at - DAT_SECTION_BYTES, 8);
}

/* The option about a buffer: the input's, with new places. */
static int put_buffer_option(struct splitter *s, const struct dat_buffer *b, uint64_t section)
{
	size_t names = strlen(b->name) + strlen(b->clock) + 2;
	uint32_t nr = 0;
	int ret;

	for (size_t i = 0; i < s->nr; i++)
		nr += s->lanes[i].b == b && s->lanes[i].bytes;
	ret = put_number(s, DAT_BUFFER, 2);
	if (!ret)
		ret = put_number(s, 8 + names + 8 + 20u * nr, 4);
	if (!ret)
		ret = put_number(s, section, 8);
	if (!ret)
		ret = put(s, b->name, strlen(b->name) + 1);
	if (!ret)
		ret = put(s, b->clock, strlen(b->clock) + 1);
	if (!ret)
		ret = put_number(s, b->layout.page_bytes, 4);
	if (!ret)
		ret = put_number(s, nr, 4);
	for (size_t i = 0; i < s->nr && !ret; i++) {
		const struct lane *l = &s->lanes[i];

		if (l->b != b || !l->bytes)
			continue;
		ret = put_number(s, l->in->cpu, 4);
		if (!ret)
			ret = put_number(s, l->at_in_file, 8);
		if (!ret)
			ret = put_number(s, l->bytes_in_file, 8);
	}
	return ret;
}

/* An option that is the place of a section: the section is copied, and the option has the new place. */
static int copy_section(struct splitter *s, const struct dat_option_data *o, uint64_t *at)
{
	uint64_t from = 0;

	if (o->bytes < 8)
		return dat_damaged(s->d, "its options");
	memcpy(&from, o->data, 8);
	if (s->d->layout.swap)
		from = __builtin_bswap64(from);
	*at = s->at;
	for (size_t i = 0; i < s->d->nr_sections; i++)
		if (s->d->sections[i].at == from)
			return copy(s, from, DAT_SECTION_BYTES + s->d->sections[i].bytes);
	return dat_damaged(s->d, "an option names a section that is not there");
}

static bool is_piece(uint16_t id)
{
	for (size_t i = 0; i < DAT_NR_PIECES; i++)
		if (dat_pieces[i].id == id)
			return true;
	return false;
}

static int put_v7(struct splitter *s)
{
	struct dat_reader *d = s->d;
	uint64_t *places = calloc(d->nr_options + d->nr_buffers + 1, sizeof(*places));
	uint64_t *of_buffers = places ? places + d->nr_options : NULL, options;
	int ret = places ? copy(s, 0, d->pieces_at) : no_memory();

	for (size_t i = 0; i < d->nr_options && !ret; i++)
		if (is_piece(d->options[i].id))
			ret = copy_section(s, &d->options[i], &places[i]);
	for (size_t i = 0; i < d->nr_buffers && !ret; i++) {
		if (d->buffers[i].is_text)
			continue;
		ret = begin_section(s, DAT_BUFFER,
				    d->buffers[i].layout.compressed ? DAT_SECTION_COMPRESSED : 0,
				    &of_buffers[i]);
		if (!ret)
			ret = put_lanes(s, &d->buffers[i]);
		if (!ret)
			ret = end_section(s, of_buffers[i]);
	}
	if (!ret)
		ret = begin_section(s, DAT_DONE, 0, &options);
	for (size_t i = 0; i < d->nr_options && !ret; i++) {
		const struct dat_option_data *o = &d->options[i];

		if (o->id == DAT_CPUSTAT || o->id == DAT_DONE || o->id == DAT_BUFFER ||
		    o->id == DAT_BUFFER_TEXT || o->id == DAT_STRINGS)
			continue;
		ret = put_number(s, o->id, 2);
		if (!ret)
			ret = put_number(s, o->bytes, 4);
		if (!ret && places[i])
			ret = put_number(s, places[i], 8);
		else if (!ret)
			ret = put(s, o->data, o->bytes);
	}
	for (size_t i = 0; i < d->nr_buffers && !ret; i++)
		if (of_buffers[i])
			ret = put_buffer_option(s, &d->buffers[i], of_buffers[i]);
	if (!ret)
		ret = put_number(s, DAT_DONE, 2);
	if (!ret)
		ret = put_number(s, 8, 4);
	if (!ret)
		ret = put_number(s, 0, 8);
	if (!ret)
		ret = end_section(s, options);
	if (!ret)
		ret = put_number_at(s, d->pieces_at - 8, options, 8);
	free(places);
	return ret;
}

/* A file without a name where a CPU's sub-buffers of a part wait, beside the output. */
static FILE *spool_open(const char *output)
{
	char path[PATH_MAX];
	FILE *f;
	int fd;

	if (snprintf(path, sizeof(path), "%s.XXXXXX.tmp", output) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkostemps(path, 4, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	unlink(path);
	f = fdopen(fd, "w+");
	if (!f)
		close(fd);
	return f;
}

static int lanes_begin(struct splitter *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		struct lane *l = &s->lanes[i];

		if (l->spool)
			fclose(l->spool);
		l->spool = spool_open(s->o->output);
		if (!l->spool)
			return fail_errno(errno, "cannot make a file beside '%s'", s->o->output);
		l->bytes = l->events = l->pages = l->lost = 0;
		l->used = 0;
	}
	return 0;
}

static int make_part(struct splitter *s, const char *path, bool *ended, bool *any)
{
	uint64_t events;
	int ret = lanes_begin(s);

	if (!ret)
		ret = dat_file_create(&s->file, path);
	if (ret)
		return ret;
	s->at = 0;
	ret = take_part(s, &events, ended);
	*any = events;
	for (size_t i = 0; i < s->nr && !ret; i++) {
		ret = page_end(s, &s->lanes[i]);
		if (!ret && fflush(s->lanes[i].spool))
			ret = dat_file_failed(&s->file, -errno);
	}
	if (!ret && !events) {
		dat_file_abort(&s->file);
		return 0;
	}
	if (!ret)
		ret = s->d->version == 7 ? put_v7(s) : put_v6(s);
	if (!ret)
		return dat_file_commit(&s->file);
	dat_file_abort(&s->file);
	return ret;
}

/* All CPUs of all buffers, in front of the first record that is wanted. */
static int add_lane(struct splitter *s, struct dat_buffer *b, unsigned int cpu)
{
	struct lane *l = &s->lanes[s->nr++];
	int ret;

	*l = (struct lane){.b = b, .in = &b->streams[cpu]};
	l->batch = malloc(BATCH * sizeof(*l->batch));
	l->page = malloc(b->layout.page_bytes + 16u);
	if (!l->batch || !l->page)
		return no_memory();
	l->ended = s->o->cpu >= 0 && (unsigned int)s->o->cpu != cpu;
	ret = peek(s, l);
	while (!ret && !l->ended && s->o->has_begin && l->ns < s->o->begin_ns) {
		l->at++;
		ret = peek(s, l);
	}
	return ret;
}

static int lanes_new(struct splitter *s)
{
	size_t nr = 0;
	int ret = 0;

	for (size_t i = 0; i < s->d->nr_buffers; i++) {
		struct dat_layout *l = &s->d->buffers[i].layout;

		nr += s->d->buffers[i].nr_cpus;
		/* stamps stay as they are in the file */
		s->mult = l->mult;
		s->shift = l->shift;
		s->offset = l->ts_offset;
		l->mult = 0;
		l->ts_offset = 0;
	}
	s->lanes = calloc(nr + 1, sizeof(*s->lanes));
	if (!s->lanes)
		return no_memory();
	for (size_t i = 0; i < s->d->nr_buffers && !ret; i++)
		for (unsigned int cpu = 0; cpu < s->d->buffers[i].nr_cpus && !ret; cpu++)
			ret = add_lane(s, &s->d->buffers[i], cpu);
	return ret;
}

static void lanes_free(struct splitter *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		struct lane *l = &s->lanes[i];

		free(l->batch);
		free(l->page);
		if (l->spool)
			fclose(l->spool);
	}
	free(s->lanes);
}

static int make_parts(struct splitter *s, unsigned int *nr)
{
	const struct split_options *o = s->o;
	bool ended = false, any = true;
	char path[PATH_MAX];
	int ret = 0;

	while (!ret && !ended && any) {
		if (*nr == MAX_PARTS)
			return fail(E2BIG, "more than %u files: take a larger limit", MAX_PARTS);
		if (snprintf(path, sizeof(path), o->repeat ? "%s.%04u" : "%s.%u", o->output,
			     *nr + 1) >= (int)sizeof(path))
			return fail_errno(ENAMETOOLONG, "%s", o->output);
		ret = make_part(s, path, &ended, &any);
		*nr += !ret && any;
		if (!o->repeat)
			break;
	}
	return ret || *nr ? ret : fail(ENODATA, "'%s' has no record that is wanted", o->input);
}

int split(const struct split_options *o, unsigned int *nr)
{
	struct splitter s = {.o = o};
	int ret = dat_open(o->input, true, &s.d);

	*nr = 0;
	if (ret)
		return ret;
	s.zstd = chunks_zstd(ZSTD_LEVEL);
	ret = s.zstd ? 0 : no_memory();
	for (size_t i = 0; i < s.d->nr_buffers && !ret; i++)
		if (s.d->buffers[i].is_text && s.d->nr_buffers == 1)
			ret = fail(ENODATA,
				   "'%s' has the text of a tracer of latencies, and no records",
				   o->input);
	if (!ret)
		ret = lanes_new(&s);
	if (!ret)
		ret = make_parts(&s, nr);
	lanes_free(&s);
	ZSTD_freeCCtx(s.zstd);
	reader_close(&s.d->head);
	return ret;
}
