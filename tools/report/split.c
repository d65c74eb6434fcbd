/* SPDX-License-Identifier: MIT */
/*
 * See split.h. Records are put into new sub-buffers. Each CPU's sub-buffers are in a file without a
 * name until the part is complete; then split_file.c writes the output from these files. One
 * thread. Memory: for each CPU a sub-buffer and a window of the input. Tests:
 * tests/cli/test_split.py.
 */
#include "tools/report/split_impl.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/dat/dat_format.h"
#include "tools/export/dat_chunks.h"

#define BATCH	   256u
#define ZSTD_LEVEL 3
#define MAX_PARTS  9999u

/* A stamp in the ns that report prints, converted as dat_stream_read() does. */
static uint64_t shown_ns(const struct splitter *s, uint64_t ts)
{
	if (s->mult)
		ts = (uint64_t)((unsigned __int128)ts * s->mult >> s->shift);
	return ts + s->offset;
}

/* Load the next record. Return: 0 or -errno with fail() set. */
static int peek(struct splitter *s, struct split_stream *l)
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

static int page_end(struct splitter *s, struct split_stream *l)
{
	uint32_t head = s->d->layout.head_bytes, size = l->b->layout.page_bytes, word = head - 8;
	uint64_t commit = l->used - head;

	if (!l->used)
		return 0;
	if (l->lost) {
		commit |= SUBBUF_MISSED_EVENTS;
		/* a record of the largest size leaves no room for the number */
		if (l->lost != RECORD_LOST_UNKNOWN && l->used + word <= size) {
			commit |= SUBBUF_MISSED_STORED;
			split_number(s, l->page + l->used, l->lost, word);
			l->used += word;
		}
	}
	split_number(s, l->page + 8, commit, word);
	memset(l->page + l->used, 0, size - l->used);
	l->used = 0;
	if (fwrite(l->page, size, 1, l->spool) != 1)
		return dat_file_failed(&s->file, errno ? -errno : -EIO);
	l->bytes += size;
	return 0;
}

static void put_head(struct splitter *s, struct split_stream *l, uint32_t type, uint64_t delta)
{
	uint32_t word = s->d->layout.swap ? type << EVENT_DELTA_BITS | (uint32_t)delta
					  : type | (uint32_t)delta << EVENT_TYPE_BITS;

	split_number(s, l->page + l->used, word, 4);
	l->used += 4;
}

/* Room for @bytes behind the head of an event, at most 12 with a TIME_EXTEND in front of it. */
static int page_room(struct splitter *s, struct split_stream *l, const struct record *r,
		     uint32_t bytes)
{
	uint32_t head = s->d->layout.head_bytes;
	int ret;

	if (l->used && !r->lost && l->used + bytes + 12 <= l->limit)
		return 0;
	ret = page_end(s, l);
	if (ret)
		return ret;
	l->pages++;
	l->lost = r->lost;
	l->used = head;
	l->limit = l->b->layout.page_bytes - (l->lost ? 8 : 0);
	l->ts = r->ts;
	split_number(s, l->page, r->ts, 8);
	return 0;
}

static int put_record(struct splitter *s, struct split_stream *l, const struct record *r)
{
	uint32_t n = r->data_bytes, padded = (n + 3) & ~3u;
	bool is_long = n % 4 || n / 4 > EVENT_DATA_MAX || !n;
	uint64_t delta;
	int ret;

	/* at the start of a sub-buffer, where it needs no time of its own */
	if (padded + 8 + s->d->layout.head_bytes > l->b->layout.page_bytes)
		return dat_damaged(s->d, "a record that fits in no sub-buffer");
	ret = page_room(s, l, r, padded);
	if (ret)
		return ret;
	delta = r->ts - l->ts;
	if (delta > EVENT_DELTA_MAX) {
		put_head(s, l, EVENT_TIME_EXTEND, delta & EVENT_DELTA_MAX);
		split_number(s, l->page + l->used, delta >> EVENT_DELTA_BITS, 4);
		l->used += 4;
		delta = 0;
	}
	put_head(s, l, is_long ? 0 : n / 4, delta);
	if (is_long) {
		split_number(s, l->page + l->used, n + 4, 4);
		l->used += 4;
	}
	memcpy(l->page + l->used, r->data, n);
	memset(l->page + l->used + n, 0, padded - n);
	l->used += padded;
	l->ts = r->ts;
	l->events++;
	return 0;
}

/* The CPU with the earliest next record. NULL: there is none. */
static struct split_stream *first_stream(struct splitter *s)
{
	struct split_stream *first = NULL;

	for (size_t i = 0; i < s->nr; i++)
		if (!s->streams[i].ended && (!first || s->streams[i].ns < first->ns))
			first = &s->streams[i];
	return first;
}

/* Whether the part ends in front of the CPU's next record. */
static bool is_full(const struct splitter *s, const struct split_stream *l, uint64_t events,
		    uint64_t from)
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
			l->limit < l->used + ((l->batch[l->at].data_bytes + 3) & ~3u) + 12);
	return false;
}

static int take_record(struct splitter *s, struct split_stream *l)
{
	int ret = put_record(s, l, &l->batch[l->at]);

	if (ret)
		return ret;
	l->at++;
	return peek(s, l);
}

/*
 * Take one part's records: of each CPU alone, or merged. @ended: set if no wanted record is left.
 */
static int take_part(struct splitter *s, uint64_t *events, bool *ended)
{
	const struct split_options *o = s->o;
	bool alone = o->per_cpu || o->cpu >= 0 || o->limit == SPLIT_PAGES;
	struct split_stream *l = first_stream(s);
	uint64_t from = l ? l->ns : 0;
	int ret = 0;

	*ended = true;
	*events = 0;
	for (size_t i = 0; alone && i < s->nr && !ret; i++) {
		l = &s->streams[i];
		while (!ret && !l->ended && !(o->has_end && l->ns > o->end_ns)) {
			if (is_full(s, l, 0, from)) {
				*ended = false;
				break;
			}
			ret = take_record(s, l);
			*events += 1;
		}
	}
	while (!alone && !ret && (l = first_stream(s)) && !(o->has_end && l->ns > o->end_ns)) {
		if (is_full(s, l, *events, from)) {
			*ended = false;
			break;
		}
		ret = take_record(s, l);
		*events += 1;
	}
	return ret;
}

/* A file without a name, in the output's folder, for a CPU's sub-buffers of a part. */
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

static int streams_begin(struct splitter *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		struct split_stream *l = &s->streams[i];

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
	int ret = streams_begin(s);

	if (!ret)
		ret = dat_file_create(&s->file, path);
	if (ret)
		return ret;
	ret = take_part(s, &events, ended);
	*any = events;
	for (size_t i = 0; i < s->nr && !ret; i++) {
		ret = page_end(s, &s->streams[i]);
		if (!ret && fflush(s->streams[i].spool))
			ret = dat_file_failed(&s->file, -errno);
	}
	if (!ret && !events) {
		dat_file_abort(&s->file);
		return 0;
	}
	if (!ret)
		ret = split_write_file(s);
	if (!ret)
		return dat_file_commit(&s->file);
	dat_file_abort(&s->file);
	return ret;
}

/* Add a CPU of a buffer, positioned in front of its first wanted record. */
static int add_stream(struct splitter *s, struct dat_buffer *b, unsigned int cpu)
{
	struct split_stream *l = &s->streams[s->nr++];
	int ret;

	*l = (struct split_stream){.b = b, .in = &b->streams[cpu]};
	l->batch = malloc(BATCH * sizeof(*l->batch));
	l->page = malloc(b->layout.page_bytes + 16u);
	if (!l->batch || !l->page)
		return split_no_memory();
	l->ended = (s->o->cpu >= 0 && (unsigned int)s->o->cpu != cpu) ||
		   !split_keeps(s, (size_t)(b - s->d->buffers));
	ret = peek(s, l);
	while (!ret && !l->ended && s->o->has_begin && l->ns < s->o->begin_ns) {
		l->at++;
		ret = peek(s, l);
	}
	return ret;
}

static int streams_new(struct splitter *s)
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
	s->streams = calloc(nr + 1, sizeof(*s->streams));
	if (!s->streams)
		return split_no_memory();
	for (size_t i = 0; i < s->d->nr_buffers && !ret; i++)
		for (unsigned int cpu = 0; cpu < s->d->buffers[i].nr_cpus && !ret; cpu++)
			ret = add_stream(s, &s->d->buffers[i], cpu);
	return ret;
}

static void streams_free(struct splitter *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		struct split_stream *l = &s->streams[i];

		free(l->batch);
		free(l->page);
		if (l->spool)
			fclose(l->spool);
	}
	free(s->streams);
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
	return ret || *nr ? ret
			  : fail(ENODATA,
				 "'%s' has no record in this range, of these CPUs "
				 "and buffers: `vestige dump '%s'` shows its CPUs, "
				 "`vestige report '%s'` its times",
				 o->input, o->input, o->input);
}

/* Does the input have each named buffer? */
static int check_buffers(const struct splitter *s)
{
	const struct split_options *o = s->o;

	for (unsigned int k = 0; k < o->nr_buffers; k++) {
		size_t i = 1;

		while (i < s->d->nr_buffers && strcmp(s->d->buffers[i].name, o->buffers[k]) != 0)
			i++;
		if (i >= s->d->nr_buffers)
			return fail(ENOENT,
				    "'%s' has no buffer '%s': `vestige dump --summary %s` shows "
				    "those that it has",
				    o->input, o->buffers[k], o->input);
	}
	return 0;
}

static int add_out(struct splitter *s, const struct dat_buffer *b, const char *name)
{
	for (size_t i = 0; i < s->nr_outs; i++)
		if (!strcmp(s->outs[i].name, name))
			return fail(EINVAL,
				    "two buffers of the output would have the name '%s': take "
				    "another one with -b",
				    name);
	s->outs[s->nr_outs++] = (struct out_buffer){b, name};
	return 0;
}

/* The buffers of the output: the top buffer, then the instances. */
static int choose_outs(struct splitter *s)
{
	const struct split_options *o = s->o;
	struct dat_buffer *top = s->d->buffers;
	int ret = 0;

	s->outs = calloc(s->d->nr_buffers + 1, sizeof(*s->outs));
	if (!s->outs)
		return split_no_memory();
	s->outs[s->nr_outs++] = (struct out_buffer){NULL, ""};
	if (split_keeps(s, 0) && !o->top_name)
		s->outs[0].b = top;
	for (size_t i = 1; i < s->d->nr_buffers && !ret; i++) {
		const struct dat_buffer *b = &s->d->buffers[i];

		if (!split_keeps(s, i) || b->is_text)
			continue;
		if (!o->promoted || strcmp(b->name, o->promoted) != 0)
			ret = add_out(s, b, b->name);
		else if (s->outs[0].b)
			ret = fail(EINVAL,
				   "-t makes '%s' the top buffer: give the present one a name with "
				   "-b, or leave out --top",
				   b->name);
		else
			s->outs[0].b = b;
	}
	return ret || !o->top_name ? ret : add_out(s, top, o->top_name);
}

int split(const struct split_options *o, unsigned int *nr)
{
	struct splitter s = {.o = o};
	int ret = dat_open(o->input, true, &s.d);

	*nr = 0;
	if (ret)
		return ret;
	s.zstd = chunks_zstd(ZSTD_LEVEL);
	ret = s.zstd ? 0 : split_no_memory();
	for (size_t i = 0; i < s.d->nr_buffers && !ret; i++)
		if (s.d->buffers[i].is_text && s.d->nr_buffers == 1)
			ret = fail(ENODATA, "'%s' has the text of a latency tracer, and no records",
				   o->input);
	if (!ret)
		ret = check_buffers(&s);
	if (!ret)
		ret = choose_outs(&s);
	if (!ret)
		ret = streams_new(&s);
	if (!ret)
		ret = make_parts(&s, nr);
	streams_free(&s);
	free(s.outs);
	ZSTD_freeCCtx(s.zstd);
	reader_close(&s.d->head);
	return ret;
}
