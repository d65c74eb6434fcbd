/* SPDX-License-Identifier: MIT */
#include "tools/import/import_records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/code/symbols.h"
#include "tools/import/import.h"

#define SORT_BYTES    (32u << 20) /* qsort() takes as many again */
#define TEXTS_BYTES   (8u << 20)
#define KEPT_BYTES    (16u << 20)
#define PIECE_RECORDS 256u
#define PIECE_BYTES   (64u << 10) /* of texts */
#define PENDING_BYTES (32u << 20)
#define MAX_DEPTH     4096u

/* A call whose length is known. */
struct span {
	uint64_t ts, end, ip, seq;
	int32_t thread;
	uint32_t reserved; /* no padding goes to the file */
};

/* Records of a CPU in order of time, in import_records.kept: nr times struct record, then texts. */
struct piece {
	uint64_t at;
	uint32_t nr, bytes; /* bytes: of texts */
};

/* The records of one CPU. */
struct import_stream {
	struct piece *pieces;
	size_t nr, room, next; /* next: the piece that is read next */
	/* the piece that is made, then the one that is read */
	struct record *recs;
	char *texts;
	uint32_t nr_recs, nr_texts, room_texts, at;
	struct reader_cpu_stats stats;
};

/* The open calls of a thread. */
struct open_calls {
	int32_t thread;
	uint32_t nr, room;
	struct open_call {
		uint64_t ip, ts;
	} * calls;
};

struct threads {
	struct open_calls *at;
	size_t nr, room, last;
	struct hash_index index; /* by thread */
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

/* By time; records of the same time by the order in which they were added, which is in `lost`. */
static int compare_times(const void *a, const void *b)
{
	const struct record *r = a, *s = b;

	if (r->ts != s->ts)
		return r->ts < s->ts ? -1 : 1;
	return r->lost < s->lost ? -1 : r->lost > s->lost;
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

void import_records_init(struct import_records *s)
{
	*s = (struct import_records){0};
	sorter_init(&s->spans, sizeof(struct span), compare_spans, SORT_BYTES, "-");
	sorter_init(&s->recs, sizeof(struct record), compare_times, SORT_BYTES, "-");
	spill_init(&s->texts, TEXTS_BYTES, "-");
	spill_init(&s->kept, KEPT_BYTES, "-");
}

void import_records_clear(struct import_records *s)
{
	for (unsigned int i = 0; i < s->nr_streams; i++) {
		free(s->streams[i].pieces);
		free(s->streams[i].recs);
		free(s->streams[i].texts);
	}
	free(s->streams);
	sorter_clear(&s->spans);
	sorter_clear(&s->recs);
	spill_clear(&s->texts);
	spill_clear(&s->kept);
}

int import_records_add(struct import_records *s, const struct record *rec, const char *text)
{
	struct record own = *rec;

	if (rec->cpu >= IMPORT_MAX_CPUS)
		return fail(EINVAL, "a CPU of number %u", rec->cpu);
	if (s->recs.nr == IMPORT_MAX_RECORDS)
		return fail(EFBIG, "more than %" PRIu64 " records", s->recs.nr);
	own.lost = s->recs.nr;
	if (rec->kind == RECORD_ENTRY)
		s->has_calls = true;
	if (text) {
		int err;

		own.retval = spill_end(&s->texts);
		err = spill_add(&s->texts, text, rec->data_bytes);
		if (err)
			return err;
	}
	return sorter_add(&s->recs, &own);
}

int import_records_call(struct import_records *s, int32_t thread, uint64_t ts, uint64_t ns,
			uint64_t ip)
{
	struct span span = {.ts = ts,
			    .end = ns < INT64_MAX - ts ? ts + ns : INT64_MAX,
			    .ip = ip,
			    .seq = s->spans.nr,
			    .thread = thread};

	if (s->spans.nr == IMPORT_MAX_RECORDS)
		return fail(EFBIG, "more than %" PRIu64 " calls", s->spans.nr);
	return sorter_add(&s->spans, &span);
}

/* For each thread, a stack of its open calls. */
int import_records_open_calls(struct import_records *s)
{
	struct record rec = {.graph = RECORD_GRAPH_DEPTH};
	const struct span *span = NULL;
	uint64_t *ends;
	size_t nr = 0;
	int err;

	if (!s->spans.nr)
		return 0;
	ends = malloc(MAX_DEPTH * sizeof(*ends));
	err = ends ? sorter_end(&s->spans) : no_memory();
	do {
		if (!err) {
			span = sorter_next(&s->spans);
			err = s->spans.err;
		}
		while (!err && nr &&
		       (!span || span->thread != rec.pid || ends[nr - 1] <= span->ts)) {
			rec.kind = RECORD_EXIT;
			rec.ip = 0;
			rec.ts = ends[--nr];
			err = import_records_add(s, &rec, NULL);
		}
		if (err || !span || nr == MAX_DEPTH)
			continue;
		rec.kind = RECORD_ENTRY;
		rec.pid = span->thread;
		rec.ip = span->ip;
		rec.ts = span->ts;
		err = import_records_add(s, &rec, NULL);
		ends[nr] = nr && ends[nr - 1] < span->end ? ends[nr - 1] : span->end;
		nr++;
	} while (!err && span);
	free(ends);
	sorter_clear(&s->spans);
	return err;
}

static struct open_calls *calls_of(struct threads *t, int32_t thread)
{
	int64_t found;

	if (t->last < t->nr && t->at[t->last].thread == thread)
		return &t->at[t->last];
	found = HASH_INDEX_FIND(&t->index, (uint32_t)thread, i, t->at[i].thread == thread);
	if (found < 0) {
		if (ARRAY_ROOM(t->at, t->nr, t->room, 64) ||
		    hash_index_add(&t->index, (uint32_t)thread, (uint32_t)t->nr))
			return NULL;
		t->at[t->nr] = (struct open_calls){.thread = thread};
		found = (int64_t)t->nr++;
	}
	t->last = (size_t)found;
	return &t->at[found];
}

static void threads_clear(struct threads *t)
{
	for (size_t i = 0; i < t->nr; i++)
		free(t->at[i].calls);
	free(t->at);
	hash_index_clear(&t->index);
}

/*
 * Depth and length of a record of a call. Return: 1; 0: an end without a begin; -ENOMEM with fail()
 * set.
 */
static int match_call(struct threads *t, struct record *rec)
{
	struct open_calls *o = calls_of(t, rec->pid);
	const struct open_call *call;

	if (!o)
		return no_memory();
	if (rec->kind == RECORD_ENTRY) {
		if (ARRAY_ROOM(o->calls, o->nr, o->room, 16))
			return no_memory();
		o->calls[o->nr] = (struct open_call){rec->ip, rec->ts};
		rec->depth = o->nr++;
		return 1;
	}
	if (!o->nr)
		return 0;
	call = &o->calls[--o->nr];
	rec->ip = call->ip;
	rec->depth = o->nr;
	rec->duration = rec->ts - call->ts;
	return 1;
}

static struct import_stream *stream_of(struct import_records *s, unsigned int cpu)
{
	if (cpu >= s->nr_streams) {
		struct import_stream *more = reallocarray(s->streams, cpu + 1u, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + s->nr_streams, 0, (cpu + 1u - s->nr_streams) * sizeof(*more));
		s->streams = more;
		s->nr_streams = cpu + 1u;
	}
	return &s->streams[cpu];
}

static int end_piece(struct import_records *s, struct import_stream *m)
{
	int err;

	if (!m->nr_recs)
		return 0;
	if (ARRAY_ROOM(m->pieces, m->nr, m->room, 4))
		return no_memory();
	m->pieces[m->nr++] = (struct piece){spill_end(&s->kept), m->nr_recs, m->nr_texts};
	err = spill_add(&s->kept, m->recs, m->nr_recs * sizeof(*m->recs));
	if (!err)
		err = spill_add(&s->kept, m->texts, m->nr_texts);
	s->pending -= m->nr_recs * sizeof(*m->recs) + m->nr_texts;
	m->nr_recs = m->nr_texts = 0;
	return err;
}

/* Write the last pieces of all CPUs, and free their memory. */
static int end_pieces(struct import_records *s)
{
	int err = 0;

	for (unsigned int i = 0; i < s->nr_streams && !err; i++) {
		struct import_stream *m = &s->streams[i];

		err = end_piece(s, m);
		free(m->recs);
		free(m->texts);
		m->recs = NULL;
		m->texts = NULL;
		m->room_texts = 0;
	}
	return err;
}

/* @rec->data: its text or payload, which is copied. */
static int put(struct import_records *s, const struct record *rec)
{
	struct import_stream *m = stream_of(s, rec->cpu);
	bool has_text = rec->kind == RECORD_PRINT || rec->kind == RECORD_EVENT;
	uint32_t bytes = has_text ? rec->data_bytes + 1 : 0; /* and a NUL */
	struct record *to;
	int err = m ? 0 : no_memory();

	if (!err && (m->nr_recs == PIECE_RECORDS || m->nr_texts + bytes > PIECE_BYTES))
		err = end_piece(s, m);
	if (!err && s->pending > PENDING_BYTES)
		err = end_pieces(s);
	if (!err && !m->recs && !(m->recs = malloc(PIECE_RECORDS * sizeof(*m->recs))))
		err = no_memory();
	if (!err && m->nr_texts + bytes > m->room_texts) {
		uint32_t room = 2 * (m->nr_texts + bytes) + 1024;
		char *more = realloc(m->texts, room);

		if (more) {
			m->texts = more;
			m->room_texts = room;
		} else {
			err = no_memory();
		}
	}
	if (err)
		return err;
	to = &m->recs[m->nr_recs++];
	*to = *rec;
	to->lost = 0;
	m->stats.entries++;
	m->stats.bytes += 16 + rec->data_bytes;
	if (!m->stats.oldest_ts)
		m->stats.oldest_ts = rec->ts;
	if (has_text) {
		to->retval = m->nr_texts;
		if (rec->data_bytes)
			memcpy(m->texts + m->nr_texts, rec->data, rec->data_bytes);
		m->nr_texts += bytes;
		m->texts[m->nr_texts - 1] = '\0';
	}
	s->pending += sizeof(*to) + bytes;
	return 0;
}

/* Between calls a text is a comment, without the name of the function that wrote it. */
static int put_mark(struct import_records *s, struct reader *r, struct record *rec, uint64_t mark)
{
	const struct symbol *sym = symbols_find(r->symbols, rec->ip);
	char *text;
	int err, bytes = asprintf(&text, "%s%s%s", sym ? sym->name : "?",
				  rec->data_bytes ? ": " : "", (const char *)rec->data);

	if (bytes < 0)
		return no_memory();
	rec->data = text;
	rec->data_bytes = (uint32_t)bytes < IMPORT_LINE_BYTES ? (uint32_t)bytes : IMPORT_LINE_BYTES;
	rec->ip = mark;
	err = put(s, rec);
	free(text);
	return err;
}

/* @buf: IMPORT_EVENT_HEAD bytes more than a text. */
static int put_text(struct import_records *s, struct reader *r, struct import_events *e,
		    struct record *rec, uint64_t mark, char *buf)
{
	char *text = buf + IMPORT_EVENT_HEAD;
	int err = spill_get(&s->texts, rec->retval, text, rec->data_bytes);

	if (err)
		return err;
	text[rec->data_bytes] = '\0';
	rec->data = text;
	err = import_events_make(e, r, rec);
	if (err)
		return err;
	if (s->has_calls && rec->kind == RECORD_PRINT && rec->ip != mark)
		return put_mark(s, r, rec, mark);
	return put(s, rec);
}

int import_records_end(struct import_records *s, struct reader *r, struct import_events *e,
		       uint64_t mark, struct reader_cpu_stats **stats)
{
	char *buf = malloc(IMPORT_EVENT_HEAD + IMPORT_LINE_BYTES + 1);
	struct threads threads = {0};
	const struct record *next;
	int err = buf ? sorter_end(&s->recs) : no_memory();

	while (!err && (next = sorter_next(&s->recs))) {
		struct record rec = *next;

		if (rec.kind == RECORD_PRINT) {
			err = put_text(s, r, e, &rec, mark, buf);
			continue;
		}
		err = rec.graph & RECORD_GRAPH_DEPTH ? match_call(&threads, &rec) : 1;
		if (err > 0)
			err = put(s, &rec);
	}
	if (!err)
		err = s->recs.err;
	if (!err)
		err = end_pieces(s);
	free(buf);
	threads_clear(&threads);
	sorter_clear(&s->recs);
	spill_clear(&s->texts);
	if (err)
		return err;
	if (!s->nr_streams)
		return fail(ENODATA, "no record that is understood");
	r->nr_cpus = s->nr_streams;
	*stats = calloc(r->nr_cpus, sizeof(**stats));
	if (!*stats)
		return no_memory();
	for (unsigned int cpu = 0; cpu < r->nr_cpus; cpu++)
		(*stats)[cpu] = s->streams[cpu].stats;
	return 0;
}

/* The next piece of a CPU. Return: 1; 0 at the end; -errno with fail() set. */
static int load_piece(struct import_records *s, struct import_stream *m)
{
	const struct piece *p;
	int err;

	if (m->next == m->nr)
		return 0;
	p = &m->pieces[m->next];
	if (!m->recs)
		m->recs = malloc(PIECE_RECORDS * sizeof(*m->recs));
	if (!m->texts || p->bytes > m->room_texts) {
		free(m->texts);
		m->texts = malloc((size_t)p->bytes + 1);
		m->room_texts = m->texts ? p->bytes : 0;
	}
	if (!m->recs || !m->texts)
		return no_memory();
	err = spill_get(&s->kept, p->at, m->recs, p->nr * sizeof(*m->recs));
	if (!err)
		err = spill_get(&s->kept, p->at + p->nr * sizeof(*m->recs), m->texts, p->bytes);
	if (err)
		return err;
	for (uint32_t i = 0; i < p->nr; i++)
		if (m->recs[i].kind == RECORD_PRINT || m->recs[i].kind == RECORD_EVENT)
			m->recs[i].data = m->texts + m->recs[i].retval;
	m->nr_recs = p->nr;
	m->at = 0;
	m->next++;
	return 1;
}

int import_records_read(struct import_records *s, unsigned int cpu, struct record *out,
			unsigned int max)
{
	struct import_stream *m = &s->streams[cpu];
	unsigned int n;

	if (m->at == m->nr_recs) {
		int got = load_piece(s, m);

		if (got <= 0)
			return got;
	}
	n = m->nr_recs - m->at < max ? m->nr_recs - m->at : max;
	memcpy(out, m->recs + m->at, n * sizeof(*out));
	m->at += n;
	return (int)n;
}

void import_records_rewind(struct import_records *s)
{
	for (unsigned int i = 0; i < s->nr_streams; i++)
		s->streams[i].next = s->streams[i].at = s->streams[i].nr_recs = 0;
}
