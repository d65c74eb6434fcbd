/* SPDX-License-Identifier: MIT */
/*
 * Encodes records into the kernel's sub-buffers (the format of ring_buffer:
 * tools/dat/dat_format.h).
 *
 * The head of a sub-buffer has the time of its first event. Each other event has its distance from
 * the event before. A distance of 2^27 ns or more needs a TIME_EXTEND event before it, in the same
 * sub-buffer. Lost records end the sub-buffer, since only the head of the next one can report them.
 * If the time goes backwards (a clock may do this; our sources do not), a TIME_STAMP event keeps it
 * right.
 *
 * Costs about 6 ns a function record; transcoding in `make bench`. Tests:
 * tests/unit/test_dat_pages.c.
 */
#include "tools/export/dat_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/dat/dat_format.h"
#include "tools/export/dat_events.h"

#define EXTEND_BYTES 8u

void subbuf_init(struct subbuf_writer *p, struct chunks *out, uint32_t chunk_bytes)
{
	*p = (struct subbuf_writer){.out = out,
				    .page_bytes = SUBBUF_BYTES,
				    .head_bytes = SUBBUF_HEAD_BYTES,
				    .chunk_bytes = chunk_bytes};
}

int subbuf_init_own(struct subbuf_writer *p, struct chunks *out, uint32_t chunk_bytes, uint32_t tag)
{
	subbuf_init(p, out, chunk_bytes);
	p->tag = tag;
	p->own = malloc(chunk_bytes);
	return p->own ? 0 : -ENOMEM;
}

int subbuf_init_sink(struct subbuf_writer *p, uint32_t page_bytes,
		     int (*sink)(void *arg, const unsigned char *chunk, uint32_t bytes), void *arg)
{
	int err = subbuf_init_own(p, NULL, page_bytes, 0);

	p->page_bytes = page_bytes;
	p->sink = sink;
	p->arg = arg;
	return err;
}

void subbuf_free(struct subbuf_writer *p)
{
	free(p->own);
	p->own = NULL;
}

/* Pass the chunk with its complete sub-buffers on. */
static int chunk_put(struct subbuf_writer *p)
{
	uint32_t bytes = p->chunk_used;

	p->chunk = NULL;
	p->chunk_used = 0;
	if (p->sink)
		return p->sink(p->arg, p->own, bytes);
	if (p->own) {
		chunks_note(p->out, p->tag);
		return chunks_swap(p->out, &p->own, bytes);
	}
	return chunks_put(p->out, bytes);
}

static void page_close(struct subbuf_writer *p)
{
	uint64_t commit = p->used - p->head_bytes;
	uint32_t word = p->head_bytes - 8;

	if (p->lost) {
		commit |= SUBBUF_MISSED_EVENTS;
		if (p->lost != RECORD_LOST_UNKNOWN) {
			commit |= SUBBUF_MISSED_STORED;
			memcpy(p->page + p->used, &p->lost, word);
			p->used += word;
		}
	}
	memcpy(p->page + 8, &commit, word);
	memset(p->page + p->used, 0, p->page_bytes - p->used);
	p->page = NULL;
	p->chunk_used += p->page_bytes;
	p->nr_pages++;
}

/* Begin the next sub-buffer, for an event at @ts. @lost: records that were lost before it. */
static int page_open(struct subbuf_writer *p, uint64_t ts, uint64_t lost)
{
	int ret;

	if (p->page)
		page_close(p);
	if (p->chunk_used == p->chunk_bytes) {
		ret = chunk_put(p);
		if (ret)
			return ret;
	}
	if (!p->chunk) {
		p->chunk = p->own ? p->own : chunks_get(p->out);
		if (!p->chunk) {
			ret = chunks_flush(p->out);
			return ret ? ret : -EIO;
		}
	}
	p->page = p->chunk + p->chunk_used;
	memcpy(p->page, &ts, sizeof(ts));
	p->used = p->head_bytes;
	p->limit = p->page_bytes;
	if (lost && lost != RECORD_LOST_UNKNOWN)
		p->limit -= (uint32_t)sizeof(lost);
	p->ts = ts;
	p->lost = lost;
	return 0;
}

static void put_head(struct subbuf_writer *p, uint32_t type_len, uint64_t delta)
{
	uint32_t word = type_len | (uint32_t)delta << EVENT_TYPE_BITS;

	memcpy(p->page + p->used, &word, sizeof(word));
	p->used += (uint32_t)sizeof(word);
}

/* The head of an event whose data is too long for type_len: a second word has its size plus 4. */
static void put_long_head(struct subbuf_writer *p, uint32_t data, uint64_t delta)
{
	uint32_t length = data + (uint32_t)sizeof(length);

	put_head(p, 0, delta);
	memcpy(p->page + p->used, &length, sizeof(length));
	p->used += (uint32_t)sizeof(length);
}

/* A TIME_EXTEND or TIME_STAMP event. */
static void put_time(struct subbuf_writer *p, uint32_t type, uint64_t value)
{
	uint32_t high = (uint32_t)(value >> EVENT_DELTA_BITS);

	put_head(p, type, value & EVENT_DELTA_MAX);
	memcpy(p->page + p->used, &high, sizeof(high));
	p->used += (uint32_t)sizeof(high);
}

/*
 * The slow path, for an event that is not a small step forward inside the sub-buffer: see
 * dat_pages.h. Writes a TIME_EXTEND or TIME_STAMP, or begins the next sub-buffer.
 */
int subbuf_make_room(struct subbuf_writer *p, uint64_t ts, uint64_t lost, uint32_t bytes)
{
	const uint64_t stamp_mask = (UINT64_C(1) << EVENT_STAMP_BITS) - 1;

	if (!p->page || lost || p->limit - p->used < bytes + EXTEND_BYTES ||
	    (ts & ~stamp_mask) != (p->ts & ~stamp_mask))
		return page_open(p, ts, lost);
	if (ts < p->ts)
		put_time(p, EVENT_TIME_STAMP, ts & stamp_mask);
	else
		put_time(p, EVENT_TIME_EXTEND, ts - p->ts);
	p->ts = ts;
	return 0;
}

static inline void put_common(unsigned char *data, const struct record *rec, uint16_t id)
{
	uint64_t word = id | (uint64_t)rec->flags << 16 | (uint64_t)rec->preempt_count << 24 |
			(uint64_t)(uint32_t)rec->pid << 32;

	memcpy(data, &word, sizeof(word));
}

int subbuf_add(struct subbuf_writer *p, const struct record *rec, unsigned int nr)
{
	const struct dat_event *ev = dat_event_of(RECORD_PRINT, p->values);
	int ret;

	for (; nr; nr--, rec++) {
		uint32_t data, bytes;

		if (ev->kind != rec->kind) {
			const struct dat_event *other = dat_event_of(rec->kind, p->values);

			if (!other)
				return -ENOTSUP;
			ev = other;
		}
		data = ev->bytes ? ev->bytes : ev->size(rec);
		bytes = (data > 4u * EVENT_DATA_MAX ? 8u : 4u) + data;
		if (!p->page || rec->lost || rec->ts - p->ts > EVENT_DELTA_MAX ||
		    p->limit - p->used < bytes) {
			ret = subbuf_make_room(p, rec->ts, rec->lost, bytes);
			if (ret)
				return ret;
		}
		if (data > 4u * EVENT_DATA_MAX)
			put_long_head(p, data, rec->ts - p->ts);
		else
			put_head(p, data / 4u, rec->ts - p->ts);
		put_common(p->page + p->used, rec, ev->id ? ev->id : rec->event);
		ev->encode(p->page + p->used, rec);
		p->used += data;
		p->ts = rec->ts;
	}
	return 0;
}

int subbuf_end(struct subbuf_writer *p)
{
	int ret = 0;

	if (p->page)
		page_close(p);
	if (p->chunk_used)
		ret = chunk_put(p);
	p->chunk = NULL;
	p->chunk_used = 0;
	return ret;
}
