/* SPDX-License-Identifier: MIT */
/*
 * See dat_stream.h. In memory are two windows of sub-buffers, for a file of any size: WINDOW_BYTES,
 * or in a compressed file chunks until they have that size (a chunk is CHUNK_MAX at most). The
 * second window is loaded by another thread; without one there is one window.
 *
 * If a sub-buffer is damaged, the rest of it is skipped, and the next record has
 * RECORD_LOST_UNKNOWN. If a chunk cannot be unpacked, the stream ends with an error, since the
 * offset of the next chunk is not known. Costs about 3 ns a record and zstd's 15 to 25 ns; bench:
 * `report` in `make bench`. Tests: tests/unit/test_dat_read.c.
 */
#include "tools/dat/dat_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tools/base/fail.h"
#include "tools/base/load_number.h"
#include "tools/base/read_at.h"
#include "tools/dat/dat_cursor.h"
#include "tools/dat/dat_format.h"
#include "tools/dat/dat_swap.h"

#define CHUNK_MAX     (64u << 20)
#define CHUNK_SUBBUFS 256u /* trace-cmd's and ours have 10 to 32 */
#define WINDOW_BYTES  (256u << 10)
#define FIRST_AHEAD   4u /* windows that are loaded before the other thread is worth its start */

void dat_stream_init(struct dat_stream *s, const struct dat_layout *layout, unsigned int cpu,
		     uint64_t start, uint64_t bytes)
{
	*s = (struct dat_stream){
		.layout = layout, .cpu = cpu, .start = start, .end = start + bytes, .pos = start};
}

void dat_stream_reset(struct dat_stream *s)
{
	struct job_thread *jobs = s->jobs;

	if (job_is_begun(&s->load))
		job_drop(jobs, &s->load);
	free(s->now.buf);
	free(s->next.buf);
	free(s->packed);
	dat_stream_init(s, s->layout, s->cpu, s->start, s->end - s->start);
	s->jobs = jobs;
}

static int damaged(const struct dat_stream *s, const char *what)
{
	return fail(EINVAL, "'%s' is damaged: CPU %u, offset %llu: %s", s->layout->path, s->cpu,
		    (unsigned long long)s->pos, what);
}

static int unreadable(const struct dat_stream *s, int err)
{
	if (err == -ENODATA)
		return damaged(s, "the file ends here");
	return fail_errno(-err, "cannot read '%s'", s->layout->path);
}

/* Make room for at least @bytes. */
static int grow(unsigned char **buf, size_t *room, size_t bytes)
{
	unsigned char *p;

	if (*room >= bytes)
		return 0;
	p = realloc(*buf, bytes);
	if (!p)
		return fail(ENOMEM, "out of memory: %zu bytes for a part of the trace", bytes);
	*buf = p;
	*room = bytes;
	return 0;
}

/* The next sub-buffers of a file that is not compressed. Return: 1, 0 at the end, or -errno. */
static int load_window(struct dat_stream *s)
{
	uint32_t page = s->layout->page_bytes;
	uint64_t left = s->end - s->pos;
	size_t n = WINDOW_BYTES > page ? WINDOW_BYTES / page * page : page;
	int ret;

	if (left < n)
		n = (size_t)(left / page * page);
	if (!n)
		return 0;
	ret = grow(&s->next.buf, &s->next.room, n);
	if (ret)
		return ret;
	ret = read_at(s->layout->fd, s->next.buf, n, s->pos);
	if (ret)
		return unreadable(s, ret);
	s->pos += n;
	s->next.bytes = n;
	return 1;
}

/* How many chunks a CPU of a compressed file has. Return: 1, 0 when it has nothing, -errno. */
static int chunks_begin(struct dat_stream *s)
{
	int ret;

	if (s->end - s->pos < sizeof(s->chunks_left))
		return 0;
	ret = read_at(s->layout->fd, &s->chunks_left, sizeof(s->chunks_left), s->pos);
	if (ret)
		return unreadable(s, ret);
	if (s->layout->swap)
		s->chunks_left = __builtin_bswap32(s->chunks_left);
	s->pos += sizeof(s->chunks_left);
	s->begun = true;
	return 1;
}

/* The sizes of the next chunk, packed and unpacked. */
static int chunk_sizes(struct dat_stream *s, uint32_t sizes[2])
{
	int ret;

	if (s->end - s->pos < 2 * sizeof(*sizes))
		return damaged(s, "fewer chunks than its count says");
	ret = read_at(s->layout->fd, sizes, 2 * sizeof(*sizes), s->pos);
	if (ret)
		return unreadable(s, ret);
	if (s->layout->swap) {
		sizes[0] = __builtin_bswap32(sizes[0]);
		sizes[1] = __builtin_bswap32(sizes[1]);
	}
	if (sizes[0] > s->end - s->pos - 2 * sizeof(*sizes))
		return damaged(s, "a chunk that reaches beyond the CPU's data");
	if (!sizes[1] || sizes[1] > CHUNK_MAX || sizes[1] % s->layout->page_bytes ||
	    sizes[1] / s->layout->page_bytes > CHUNK_SUBBUFS)
		return damaged(s, "a chunk of an impossible size");
	return 0;
}

int dat_stream_bytes(const struct dat_stream *s, uint64_t *bytes)
{
	struct dat_stream walk;
	uint32_t sizes[2];
	int ret;

	dat_stream_init(&walk, s->layout, s->cpu, s->start, s->end - s->start);
	*bytes = s->end - s->start;
	if (!s->layout->compressed)
		return 0;
	*bytes = 0;
	ret = chunks_begin(&walk);
	for (; ret > 0 && walk.chunks_left; walk.chunks_left--) {
		ret = chunk_sizes(&walk, sizes);
		if (ret)
			return ret;
		*bytes += sizes[1];
		walk.pos += sizeof(sizes) + sizes[0];
		ret = 1;
	}
	return ret < 0 ? ret : 0;
}

/* Append the next chunk to s->next. Return: 1, 0 at the end, -errno. */
static int load_chunk(struct dat_stream *s)
{
	uint32_t sizes[2];
	size_t n;
	int ret;

	if (!s->begun) {
		ret = chunks_begin(s);
		if (ret <= 0)
			return ret;
	}
	if (!s->chunks_left)
		return 0;
	ret = chunk_sizes(s, sizes);
	if (ret)
		return ret;
	ret = grow(&s->packed, &s->packed_room, sizes[0]);
	if (ret)
		return ret;
	ret = read_at(s->layout->fd, s->packed, sizes[0], s->pos + sizeof(sizes));
	if (ret)
		return unreadable(s, ret);
	if (!cursor_zstd_agrees(s->packed, sizes[0], sizes[1]))
		return damaged(s, "a chunk whose size is not what its head says");
	ret = grow(&s->next.buf, &s->next.room, s->next.bytes + sizes[1]);
	if (ret)
		return ret;
	n = ZSTD_decompress(s->next.buf + s->next.bytes, sizes[1], s->packed, sizes[0]);
	if (ZSTD_isError(n) || n != sizes[1])
		return damaged(s, "a chunk that does not decompress");
	s->pos += sizeof(sizes) + sizes[0];
	s->chunks_left--;
	s->next.bytes += n;
	return 1;
}

/* Chunks for a window. An error that comes behind some of them is reported by the next call. */
static int load_chunks(struct dat_stream *s)
{
	int ret;

	s->next.bytes = 0;
	do
		ret = load_chunk(s);
	while (ret > 0 && s->next.bytes < WINDOW_BYTES);
	return s->next.bytes ? 1 : ret;
}

/* Load s->next. Return: 1, 0 at the end, -errno with fail() set. */
static int load(void *arg)
{
	struct dat_stream *s = arg;

	return s->layout->compressed ? load_chunks(s) : load_window(s);
}

/* Make the next window the current one, and begin to load the one behind it. Return: as load(). */
static int advance(struct dat_stream *s)
{
	struct dat_window spare;
	int ret;

	s->data = NULL;
	s->buf_pos = s->now.bytes = 0;
	if (!s->jobs && s->now.buf) { /* one is enough */
		s->next = s->now;
		s->now = (struct dat_window){0};
	}
	spare = s->now;
	ret = job_is_begun(&s->load) ? job_finish(s->jobs, &s->load) : load(s);
	if (ret <= 0)
		return ret;
	s->now = s->next;
	s->next = spare;
	if (s->jobs && ++s->nr_loaded >= FIRST_AHEAD) {
		s->load.run = load;
		s->load.arg = s;
		job_begin(s->jobs, &s->load);
	}
	return ret;
}

/* A number of @bytes, 8 at most, of the file. */
static uint64_t number(const struct dat_layout *l, const unsigned char *at, uint32_t bytes)
{
	return load_number(at, bytes, l->swap);
}

static void page_begin(struct dat_stream *s)
{
	const struct dat_layout *l = s->layout;
	unsigned char *page = s->now.buf + s->buf_pos;
	uint64_t commit, room = l->page_bytes - l->head_bytes, missed;

	s->page_ts = s->ts = number(l, page, 8);
	commit = number(l, page + 8, l->head_bytes - 8u);
	s->data = page + l->head_bytes;
	s->at = 0;
	s->buf_pos += l->page_bytes;
	if ((commit & SUBBUF_COMMIT_MASK) > room) {
		s->commit = 0;
		s->lost = RECORD_LOST_UNKNOWN;
		return;
	}
	s->commit = (uint32_t)(commit & SUBBUF_COMMIT_MASK);
	if (!(commit & SUBBUF_MISSED_EVENTS))
		return;
	missed = RECORD_LOST_UNKNOWN;
	if (commit & SUBBUF_MISSED_STORED && s->commit + (l->head_bytes - 8u) <= room)
		missed = number(l, s->data + s->commit, l->head_bytes - 8u);
	if (s->lost == RECORD_LOST_UNKNOWN || missed == RECORD_LOST_UNKNOWN)
		s->lost = RECORD_LOST_UNKNOWN;
	else
		s->lost += missed;
}

static uint64_t field(const struct dat_layout *l, const unsigned char *data, uint32_t bytes,
		      struct dat_field f)
{
	return formats_field_value(f, data, bytes, l->swap);
}

static uint64_t stamp_span(const struct dat_layout *l, uint64_t ts)
{
	return l->mult ? (uint64_t)((unsigned __int128)ts * l->mult >> l->shift) : ts;
}

static uint64_t stamp(const struct dat_layout *l, uint64_t ts)
{
	return stamp_span(l, ts) + l->ts_offset;
}

/* Arguments at @at of an event: a record has all of them or none. */
static void fill_args(const struct dat_layout *l, unsigned char *data, uint32_t bytes, uint32_t at,
		      struct record *r)
{
	r->data = NULL;
	if (!at || bytes < at || bytes - at < 8u * RECORD_NR_ARGS)
		return;
	if (l->swap && !l->as_is)
		dat_swap_numbers(data + at, 8, RECORD_NR_ARGS);
	r->graph |= RECORD_GRAPH_ARGS;
	r->args = data + at;
}

/* A funcgraph_entry or funcgraph_exit. */
static void fill_graph(const struct dat_layout *l, unsigned char *data, uint32_t bytes,
		       struct record *r)
{
	uint32_t how;

	r->graph = RECORD_GRAPH_DEPTH;
	r->data = NULL;
	if (r->event == l->entry_id) {
		how = (uint32_t)field(l, data, bytes, l->entry_how);
		r->kind = how & DAT_HOW_TAIL ? RECORD_TAIL : RECORD_ENTRY;
		r->ip = field(l, data, bytes, l->entry_func);
		r->parent_ip = 0;
		r->depth = (uint32_t)field(l, data, bytes, l->entry_depth);
		r->task = (uint32_t)field(l, data, bytes, l->entry_stack);
		fill_args(l, data, bytes, l->entry_args, r);
		return;
	}
	how = (uint32_t)field(l, data, bytes, l->exit_how);
	r->kind = RECORD_EXIT;
	r->ip = field(l, data, bytes, l->exit_func);
	r->duration = stamp_span(l, field(l, data, bytes, l->exit_rettime) -
					    field(l, data, bytes, l->exit_calltime));
	r->depth = (uint32_t)field(l, data, bytes, l->exit_depth);
	r->overrun = (uint32_t)field(l, data, bytes, l->exit_overrun);
	r->task = (uint32_t)field(l, data, bytes, l->exit_stack);
	if (how & DAT_HOW_UNWOUND)
		r->graph |= RECORD_GRAPH_UNWOUND;
	if (how & DAT_HOW_NO_START)
		r->graph |= RECORD_GRAPH_NO_START;
	/* in a kernel's file with this field it is always set */
	if (l->exit_retval.bytes && (!l->exit_how.bytes || how & DAT_HOW_RETVAL)) {
		r->graph |= RECORD_GRAPH_RETVAL;
		r->retval = field(l, data, bytes, l->exit_retval);
	}
}

static void fill(struct dat_stream *s, unsigned char *data, uint32_t bytes, struct record *r)
{
	const struct dat_layout *l = s->layout;
	uint16_t id;

	r->ts = stamp(l, s->ts);
	r->lost = s->lost;
	s->lost = 0;
	r->cpu = (uint16_t)s->cpu;
	if (l->usual) { /* EVENT_COMMON_BYTES of them */
		memcpy(&id, data, sizeof(id));
		r->flags = data[2];
		r->preempt_count = data[3];
		memcpy(&r->pid, data + 4, sizeof(r->pid));
	} else {
		id = (uint16_t)field(l, data, bytes, l->type);
		r->pid = (int32_t)field(l, data, bytes, l->pid);
		r->flags = (uint8_t)field(l, data, bytes, l->flags);
		r->preempt_count = (uint8_t)field(l, data, bytes, l->preempt_count);
	}
	r->event = id;
	r->graph = 0;
	r->process = r->task = 0;
	r->data = data;
	r->data_bytes = bytes;
	if (id == l->function_id) {
		r->kind = RECORD_FUNCTION;
		r->ip = field(l, data, bytes, l->ip);
		r->parent_ip = field(l, data, bytes, l->parent_ip);
		r->data_bytes = 0;
		fill_args(l, data, bytes, l->function_args, r);
	} else if (id == l->print_id && bytes >= l->print_buf) {
		const char *text = (const char *)data + l->print_buf;
		uint32_t n = (uint32_t)strnlen(text, bytes - l->print_buf);

		r->kind = RECORD_PRINT;
		r->ip = field(l, data, bytes, l->print_ip);
		r->parent_ip = 0;
		r->data = text;
		r->data_bytes = n && text[n - 1] == '\n' ? n - 1 : n;
	} else if (id == l->entry_id || id == l->exit_id) {
		fill_graph(l, data, bytes, r);
	} else {
		r->kind = RECORD_EVENT;
		r->ip = r->parent_ip = 0;
		if (l->swaps)
			dat_swap_event(l->swaps, id, data, bytes);
	}
}

/* The events of the current sub-buffer, as many as @out has room for. Return: how many. */
static unsigned int decode(struct dat_stream *s, struct record *out, unsigned int max)
{
	unsigned char *data = s->data;
	uint32_t at = s->at, commit = s->commit;
	bool swap = s->layout->swap;
	unsigned int n = 0;

	while (n < max && commit - at >= 4) {
		uint32_t head, word = 0, len, skip, type;
		uint64_t delta;

		memcpy(&head, data + at, 4);
		if (swap) {
			/* bit fields begin at the other end there, too */
			head = __builtin_bswap32(head);
			type = head >> EVENT_DELTA_BITS;
			delta = head & EVENT_DELTA_MAX;
		} else {
			type = head & 31;
			delta = head >> EVENT_TYPE_BITS;
		}
		if (type >= 1 && type <= EVENT_DATA_MAX) {
			len = skip = type * 4;
			at += 4;
		} else {
			if (type == EVENT_PADDING && !delta) {
				at = commit; /* the rest of the sub-buffer is padding */
				break;
			}
			if (commit - at < 8)
				goto bad;
			word = (uint32_t)number(s->layout, data + at + 4, 4);
			at += 8;
			if (type == EVENT_TIME_EXTEND) {
				s->ts += ((uint64_t)word << EVENT_DELTA_BITS) + delta;
				continue;
			}
			if (type == EVENT_TIME_STAMP) {
				s->ts = ((uint64_t)word << EVENT_DELTA_BITS) + delta;
				s->ts |= s->page_ts >> EVENT_STAMP_BITS << EVENT_STAMP_BITS;
				continue;
			}
			if (word < 4 || word > commit)
				goto bad;
			len = word - 4;
			skip = (len + 3) & ~3u;
		}
		if (skip > commit - at)
			goto bad;
		s->ts += delta;
		if (type != EVENT_PADDING && len >= EVENT_COMMON_BYTES)
			fill(s, data + at, len, &out[n++]);
		at += skip;
	}
	if (commit - at < 4)
		at = commit;
	s->at = at;
	return n;
bad:
	s->at = commit;
	s->lost = RECORD_LOST_UNKNOWN;
	return n;
}

int dat_stream_read(struct dat_stream *s, struct record *out, unsigned int max)
{
	unsigned int n = 0;
	int ret;

	for (;;) {
		if (s->data && s->at < s->commit)
			n += decode(s, out + n, max - n);
		if (n == max)
			return (int)n;
		if (s->data && s->at < s->commit)
			continue;
		if (s->buf_pos == s->now.bytes) {
			if (n)
				return (int)n; /* stop here: their data are in the buffer */
			ret = advance(s);
			if (ret <= 0)
				return ret;
		}
		page_begin(s);
	}
}
