/* SPDX-License-Identifier: MIT */
/*
 * The records of all files, buffers and CPUs in order of time. Of equal times the earlier file,
 * then buffer, then CPU is first, as in trace-cmd.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/cpu_list.h"
#include "tools/base/fail.h"
#include "tools/report/report_impl.h"

#define BATCH	     512u
#define FLAG_HARDIRQ 0x08u
#define FLAG_SOFTIRQ 0x10u

/* One CPU of one buffer. */
struct source {
	struct report_file *f;
	struct dat_buffer *b;
	char *name; /* in front of its lines */
	size_t name_bytes;
	struct dat_stream *stream;
	struct record *batch;
	int nr, at;
	uint64_t ts; /* the time to print of the record at `at` */
	bool in_ns;
	bool hidden; /* --cpu leaves it out: it is read only for the ends of calls */
	bool passed; /* the filters passed the last record that was no stack */
};

struct merge_heap {
	struct source *all, **heap;
	size_t nr_all, nr;
};

struct show {
	struct report *r;
	uint64_t last_ts, base;
	bool any;
	unsigned char *copy; /* data of a record whose batch is not valid any more */
	size_t copy_room;
};

/* Whether the source has a record at `at`. Return: 1, 0 at its end, -errno with fail() set. */
static int fill(struct source *s)
{
	if (s->at == s->nr) {
		s->at = 0;
		s->nr = dat_stream_read(s->stream, s->batch, BATCH);
		if (s->nr <= 0)
			return s->nr;
		for (int end = 0; end<s->nr; end += s->nr> 1 ? s->nr - 1 : 1) {
			int err = report_check_time(s->f, s->stream->cpu, s->batch[end].ts);

			if (err)
				return err;
		}
	}
	s->ts = report_time(s->f, s->stream->cpu, s->batch[s->at].ts);
	return 1;
}

static bool before(const struct source *a, const struct source *b)
{
	return a->ts != b->ts ? a->ts < b->ts : a < b;
}

static void sift_down(struct merge_heap *m, size_t i)
{
	struct source *s = m->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= m->nr)
			break;
		if (child + 1 < m->nr && before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m->heap[child], s))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = s;
}

/* trace-cmd's list of clocks that count nanoseconds. */
static bool counts_ns(const struct report *r, const struct report_file *f)
{
	return !r->o->raw_ts && f->d->head.ts_is_ns;
}

/* The width of the text in front of lines: the name of an instance, or of one of several files. */
static void measure_names(struct report *r)
{
	for (size_t i = 0; i < r->nr_files; i++) {
		const struct dat_reader *d = r->files[i].d;

		for (size_t k = 0; k < d->nr_buffers; k++)
			if ((int)strlen(d->buffers[k].name) > r->name_width)
				r->name_width = (int)strlen(d->buffers[k].name);
	}
}

/* NULL: memory is short. */
static char *name_of(const struct report *r, const struct report_file *f,
		     const struct dat_buffer *b)
{
	const char *name = b->name[0] ? b->name : r->nr_files > 1 ? f->in->path : "";
	char *text;

	if (!r->name_width)
		return strdup("");
	return asprintf(&text, "%*s%s", r->name_width, name, *name ? ": " : "  ") < 0 ? NULL : text;
}

static int add_cpu(struct report *r, struct merge_heap *m, struct report_file *f,
		   struct dat_buffer *b, unsigned int cpu, bool hidden)
{
	struct source *s = &m->all[m->nr_all++];
	int ret;

	*s = (struct source){.f = f,
			     .b = b,
			     .name = name_of(r, f, b),
			     .stream = &b->streams[cpu],
			     .hidden = hidden};
	s->in_ns = counts_ns(r, f);
	s->batch = malloc(BATCH * sizeof(*s->batch));
	if (!s->batch || !s->name)
		return dat_no_memory(f->d);
	s->name_bytes = strlen(s->name);
	ret = fill(s);
	if (ret > 0)
		m->heap[m->nr++] = s;
	return ret < 0 ? ret : 0;
}

static int add_file(struct report *r, struct merge_heap *m, struct report_file *f)
{
	int ret = 0;

	for (size_t i = 0; i < f->d->nr_buffers && !ret; i++) {
		struct dat_buffer *b = &f->d->buffers[i];
		bool *cpus = NULL;

		if (b->is_text) {
			ret = report_buffer_text(r, f, b);
			continue;
		}
		if (r->o->cpus)
			ret = cpu_list_parse(r->o->cpus, b->nr_cpus, &cpus);
		for (unsigned int cpu = 0; cpu < b->nr_cpus && !ret; cpu++)
			ret = add_cpu(r, m, f, b, cpu, cpus && !cpus[cpu]);
		free(cpus);
	}
	return ret;
}

static int heap_begin(struct report *r, struct merge_heap *m)
{
	size_t nr = 0;
	int ret = 0;

	for (size_t i = 0; i < r->nr_files; i++)
		for (size_t k = 0; k < r->files[i].d->nr_buffers; k++)
			nr += r->files[i].d->buffers[k].nr_cpus;
	m->all = calloc(nr + 1, sizeof(*m->all));
	m->heap = calloc(nr + 1, sizeof(*m->heap));
	if (!m->all || !m->heap)
		return fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < r->nr_files && !ret; i++)
		ret = add_file(r, m, &r->files[i]);
	for (size_t i = m->nr; i-- > 0;)
		sift_down(m, i);
	return ret;
}

static void heap_end(struct merge_heap *m)
{
	for (size_t i = 0; i < m->nr_all; i++) {
		free(m->all[i].batch);
		free(m->all[i].name);
	}
	free(m->all);
	free(m->heap);
}

/*
 * Whether the record passes the filters. A stack is behind its event in the buffer, and has the
 * same result, unless a filter names the event of the stack itself.
 */
static bool is_wanted(const struct report *r, struct source *s, const struct record *rec)
{
	struct report_file *f = s->f;
	const struct report_options *o = r->o;
	bool any_in = false, in = false, stack;
	struct tep_record *tr;

	if ((o->no_irqs && rec->flags & FLAG_HARDIRQ) ||
	    (o->no_softirqs && rec->flags & FLAG_SOFTIRQ))
		return false;
	if (!o->nr_filters)
		return true;
	stack = line_is_stack(f->line, rec);
	if (!stack)
		s->passed = false;
	if (!line_fits(f->line, rec))
		return stack && s->passed;
	tr = line_tep_record(f->line, rec);
	for (size_t i = 0; tr && i < o->nr_filters; i++) {
		enum tep_errno match = tep_filter_match(f->filters[i], tr);
		bool hit = match == TEP_ERRNO__FILTER_MATCH || match == TEP_ERRNO__NO_FILTER;

		if (o->filters[i].out) {
			if (match == TEP_ERRNO__FILTER_MATCH)
				return false;
		} else {
			any_in = true;
			in = in || hit;
		}
	}
	if (stack)
		return in || s->passed;
	s->passed = in || !any_in;
	return s->passed;
}

static void put_diff(struct show *w, const struct source *s, uint64_t ts)
{
	bool us = !w->r->o->line.nanoseconds;
	char text[50] = "";

	if (us)
		ts = (ts + 500) / 1000;
	if (w->last_ts)
		snprintf(text, sizeof(text), "(+%lld)", (long long)(ts - w->last_ts));
	w->last_ts = ts;
	out_printf(&w->r->out, " %-8s", text);
}

/* Copy a record's data, since the next batch overwrites it. */
static int keep(struct show *w, struct record *rec)
{
	if (w->copy_room < rec->data_bytes) {
		unsigned char *more = realloc(w->copy, rec->data_bytes);

		if (!more)
			return fail(ENOMEM, "out of memory");
		w->copy = more;
		w->copy_room = rec->data_bytes;
	}
	memcpy(w->copy, rec->data, rec->data_bytes);
	rec->data = w->copy;
	return 0;
}

/* Go on to the next record of the heap's @i-th source. Return: 0 or -errno with fail() set. */
static int step(struct merge_heap *m, size_t i)
{
	int ret;

	m->heap[i]->at++;
	ret = fill(m->heap[i]);
	if (ret > 0) {
		sift_down(m, i);
		return 0;
	}
	m->heap[i] = m->heap[--m->nr];
	if (i < m->nr)
		for (i = m->nr; i-- > 0;)
			sift_down(m, i);
	return ret;
}

/* The source of the next record of a buffer, of any CPU; m->nr: there is none. */
static size_t next_of(const struct merge_heap *m, const struct dat_buffer *b)
{
	size_t at = m->nr;

	for (size_t i = 0; i < m->nr; i++)
		if (m->heap[i]->b == b && (at == m->nr || before(m->heap[i], m->heap[at])))
			at = i;
	return at;
}

/* The columns in front of the line itself. */
static void put_before(struct show *w, const struct source *s, const struct record *rec,
		       uint64_t ts)
{
	struct out *o = &w->r->out;

	if (w->r->o->ts_check && w->any && ts < w->last_ts)
		out_printf(o,
			   "WARNING: Record on cpu %u went backwards: %llu to %llu delta: -%llu\n",
			   rec->cpu, (unsigned long long)w->last_ts, (unsigned long long)ts,
			   (unsigned long long)(w->last_ts - ts));
	if (s->name_bytes)
		out_write(o, s->name, s->name_bytes);
	if (rec->lost == RECORD_LOST_UNKNOWN)
		out_printf(o, "CPU:%u [EVENTS DROPPED]\n", rec->cpu);
	else if (rec->lost)
		out_printf(o, "CPU:%u [%" PRIu64 " EVENTS DROPPED]\n", rec->cpu, rec->lost);
}

/* Print the first record and step on. Return: 0 or -errno with fail() set. */
static int show_record(struct show *w, struct merge_heap *m)
{
	struct source *s = m->heap[0];
	const struct record *rec = &s->batch[s->at];
	struct line *l = s->f->line;
	struct out *o = &w->r->out;
	uint64_t ts = s->ts - w->base;
	bool wanted = !s->hidden && is_wanted(w->r, s, rec);
	struct record last;
	bool took_next;
	char *newline;
	size_t next;
	int ret;

	if (s->at + 1 == s->nr) {
		last = *rec;
		rec = &last;
		ret = keep(w, &last);
		if (ret)
			return ret;
	}
	ret = step(m, 0);
	if (ret || !wanted)
		return ret;
	put_before(w, s, rec, ts);
	line_head(l, o, rec, ts, s->in_ns);
	if (w->r->o->ts_diff)
		put_diff(w, s, ts);
	else
		w->last_ts = ts;
	w->any = true;
	next = line_begins_call(l, rec) ? next_of(m, s->b) : m->nr;
	took_next = line_body(l, o, rec,
			      next < m->nr ? &m->heap[next]->batch[m->heap[next]->at] : NULL);
	if (s->f->wakeups)
		report_wakeups_record(s->f->wakeups, o, s->f, rec, ts);
	newline = out_room(o, 1);
	*newline++ = '\n';
	out_done(o, newline);
	return took_next ? step(m, next) : 0;
}

int report_records(struct report *r)
{
	struct merge_heap m = {0};
	struct show w = {.r = r};
	int ret;

	measure_names(r);
	ret = heap_begin(r, &m);
	if (!ret && m.nr && r->o->align_ts)
		w.base = m.heap[0]->ts;
	while (!ret && m.nr && !r->out.err)
		ret = show_record(&w, &m);
	heap_end(&m);
	free(w.copy);
	for (size_t i = 0; !ret && i < r->nr_files; i++)
		if (r->files[i].wakeups)
			report_wakeups_end(r->files[i].wakeups, &r->out);
	return ret;
}

int report_each(struct report *r,
		int (*act)(void *arg, struct report_file *f, const struct record *rec, uint64_t ts),
		void *arg)
{
	struct merge_heap m = {0};
	int ret = heap_begin(r, &m);

	while (!ret && m.nr) {
		struct source *s = m.heap[0];

		if (!s->hidden)
			ret = act(arg, s->f, &s->batch[s->at], s->ts);
		if (!ret)
			ret = step(&m, 0);
	}
	heap_end(&m);
	return ret;
}
