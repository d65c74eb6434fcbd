/* SPDX-License-Identifier: MIT */
/*
 * See raw.h. Each turn encodes the available records, in order of time over all joined CPUs, into
 * sub-buffers of each CPU, which wait in a queue for their reader. If the reader of a CPU is too
 * slow, no more records are taken from that CPU, and its share of the process's ring fills up; the
 * readers of other CPUs go on. A queue has at most MAX_QUEUE sub-buffers and one turn's,
 * which are not more than the CPU's share. Costs as follow.h and dat_graph.h. Any thread: a lock.
 * Tests: tests/tracefs/.
 */
#include "tools/target/raw.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/graph_events.h"
#include "tools/area/follow.h"
#include "tools/base/fail.h"
#include "tools/export/dat_graph.h"
#include "tools/export/dat_pages.h"

#define MAX_QUEUE 4096u /* sub-buffers of a CPU */
#define AT_ONCE	  64u	/* sub-buffers that are made before the first is handed out */

struct subbuf {
	struct subbuf *next;
	uint32_t nr;
	unsigned char bytes[];
};

/* Sub-buffers of a CPU that are made and not yet handed out. */
struct stream {
	struct subbuf_writer writer;
	struct subbuf *first, **end;
	unsigned int nr;
	unsigned int joined;
	uint64_t taken;
};

struct raw {
	pthread_mutex_t lock; /* of all that follows */
	struct follow *f;
	unsigned int nr;	     /* of processes */
	struct graph_events *events; /* NULL: none yet */
	bool renewed;		     /* the data that events borrow is gone */
	char clock[32];		     /* trace_clock when events were made */
	struct stream *streams;	     /* by CPU */
	uint32_t page_bytes;
	bool *wanted; /* scratch of a turn: by CPU, whether its records are looked for */
	unsigned int nr_cpus;
	bool more; /* this turn has more records */
};

static int queue(void *arg, const unsigned char *chunk, uint32_t bytes)
{
	struct stream *st = arg;
	struct subbuf *s = malloc(sizeof(*s) + bytes);

	if (!s)
		return fail(ENOMEM, "out of memory for a sub-buffer");
	memcpy(s->bytes, chunk, bytes);
	s->nr = bytes;
	s->next = NULL;
	*st->end = s;
	st->end = &s->next;
	st->nr++;
	return 0;
}

/* The process's own size, within the kernel's limits. */
static uint32_t page_bytes_of(const struct reader *r)
{
	uint32_t bytes = RAW_MIN_BYTES;

	while (bytes < RAW_MAX_BYTES && bytes / 1024 < r->subbuf_kb)
		bytes *= 2;
	return bytes;
}

uint32_t raw_page_bytes(const struct raw *x)
{
	return x->page_bytes;
}

int raw_open(const struct image *t, struct raw **out)
{
	const struct followed what = image_followed(t);
	struct raw *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return fail(ENOMEM, "out of memory");
	x->nr = 1;
	pthread_mutex_init(&x->lock, NULL);
	err = follow_open(&what, false, &x->f);
	if (!err) {
		x->nr_cpus = follow_reader(x->f)->nr_cpus;
		x->page_bytes = page_bytes_of(follow_reader(x->f));
		x->streams = calloc(x->nr_cpus, sizeof(*x->streams));
		x->wanted = calloc(x->nr_cpus, sizeof(*x->wanted));
		if (!x->streams || !x->wanted)
			err = fail(ENOMEM, "out of memory");
	}
	for (unsigned int c = 0; !err && c < x->nr_cpus; c++) {
		x->streams[c].end = &x->streams[c].first;
		if (subbuf_init_sink(&x->streams[c].writer, x->page_bytes, queue, &x->streams[c]))
			err = fail(ENOMEM, "out of memory");
	}
	if (err) {
		raw_close(x);
		return err;
	}
	*out = x;
	return 0;
}

int raw_add(struct raw *x, const struct image *t)
{
	const struct followed what = image_followed(t);
	int err;

	pthread_mutex_lock(&x->lock);
	err = follow_add(x->f, &what);
	x->nr += !err;
	pthread_mutex_unlock(&x->lock);
	return err;
}

void raw_close(struct raw *x)
{
	graph_events_free(x->events);
	for (unsigned int c = 0; x->streams && c < x->nr_cpus; c++) {
		struct stream *st = &x->streams[c];

		subbuf_free(&st->writer);
		while (st->first) {
			struct subbuf *s = st->first;

			st->first = s->next;
			free(s);
		}
	}
	if (x->f)
		follow_close(x->f);
	free(x->streams);
	free(x->wanted);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

static void count(struct raw *x, unsigned int cpu, int change)
{
	if (cpu >= x->nr_cpus)
		return;
	pthread_mutex_lock(&x->lock);
	x->streams[cpu].joined += (unsigned int)change;
	pthread_mutex_unlock(&x->lock);
}

void raw_known(struct raw *x, uint64_t known_ns)
{
	pthread_mutex_lock(&x->lock);
	follow_known(x->f, known_ns);
	pthread_mutex_unlock(&x->lock);
}

void raw_join(struct raw *x, unsigned int cpu)
{
	count(x, cpu, 1);
}

void raw_leave(struct raw *x, unsigned int cpu)
{
	count(x, cpu, -1);
}

static void take(struct raw *x)
{
	for (unsigned int c = 0; x->events && c < x->nr_cpus; c++) {
		uint64_t nr = graph_events_nr_taken(x->events, c);

		follow_take(x->f, c, nr - x->streams[c].taken);
		x->streams[c].taken = nr;
	}
}

/* The events of the reader as it is now. Return: 0 or -errno. */
static int make_events(struct raw *x)
{
	struct reader *r = follow_reader(x->f);
	bool renewed = x->renewed;
	int err = 0;

	x->renewed = false;
	if (x->events && !renewed) {
		graph_events_again(x->events);
		return 0;
	}
	/* open calls stay open, except when the clock has changed */
	if (x->events && !strcmp(x->clock, r->clock)) {
		graph_events_go_on(x->events, r);
		return 0;
	}
	graph_events_free(x->events);
	for (unsigned int c = 0; c < x->nr_cpus; c++)
		x->streams[c].taken = 0;
	memcpy(x->clock, r->clock, sizeof(x->clock));
	x->events = graph_events_new(r, NULL, false, &err);
	return x->events ? 0 : err;
}

/* Look for records of joined CPUs whose queues have room. Return: 1 there are some, 0, -errno. */
static int turn(struct raw *x, uint64_t hold_ns)
{
	int ret;

	for (unsigned int c = 0; c < x->nr_cpus; c++)
		x->wanted[c] = x->streams[c].joined && x->streams[c].nr < MAX_QUEUE;
	ret = follow_look(x->f, x->wanted, hold_ns, &x->renewed);
	if (ret <= 0)
		return ret;
	ret = make_events(x);
	return ret < 0 ? ret : 1;
}

/* Encode until @cpu has some sub-buffers, or all that is there. Return: 0 or -errno. */
static int encode(struct raw *x, unsigned int cpu, uint64_t hold_ns)
{
	const struct graph_event *ev;
	struct record rec;
	int ret = 1, err = 0;

	if (!x->more) {
		ret = turn(x, hold_ns);
		if (ret <= 0)
			return ret;
		x->more = true;
	}
	while (x->streams[cpu].nr < AT_ONCE && (ret = graph_events_next(x->events, &ev)) > 0) {
		rec = dat_graph_record(ev);
		err = subbuf_add(&x->streams[rec.cpu].writer, &rec, 1);
		/* records without an event in the kernel's formats are left out */
		if (err == -ENOTSUP)
			err = 0;
		if (err)
			break;
	}
	take(x);
	x->more = ret > 0;
	return err ? err : ret < 0 ? ret : 0;
}

/*
 * Do readers wait for a full sub-buffer? Not if buffer_percent is 0, or no process records any
 * more. A process that was killed leaves its tracing_on.
 */
static bool waits_for_full(const struct raw *x)
{
	return follow_percent(x->f) && follow_tracing_on(x->f) && follow_lives(x->f);
}

/* Fill the queue of a CPU. Return: whether it has a sub-buffer for the reader. */
static bool fill(struct raw *x, unsigned int cpu, enum raw_how how, int *err)
{
	const uint64_t hold_ns =
		how != RAW_ALL && x->nr > 1 && follow_lives(x->f) ? FOLLOW_HOLD_NS : 0;
	struct stream *st = &x->streams[cpu];

	*err = 0;
	if (!st->nr && how == RAW_FULL && !waits_for_full(x))
		how = RAW_PARTIAL;
	if (!st->nr) {
		bool rest = x->more;

		*err = encode(x, cpu, hold_ns);
		/* the rest of the last turn may lack records that came since: look again */
		if (!st->nr && !*err && rest && how == RAW_ALL)
			*err = encode(x, cpu, 0);
	}
	if (!st->nr && !*err && how != RAW_FULL)
		*err = subbuf_end(&st->writer);
	return st->nr;
}

int raw_page(struct raw *x, unsigned int cpu, void *page, enum raw_how how)
{
	struct subbuf *s = NULL;
	struct stream *st;
	int err;

	if (cpu >= x->nr_cpus)
		return fail_errno(ENOENT, "CPU %u", cpu);
	pthread_mutex_lock(&x->lock);
	st = &x->streams[cpu];
	if (fill(x, cpu, how, &err)) {
		s = st->first;
		st->first = s->next;
		if (!st->first)
			st->end = &st->first;
		st->nr--;
	}
	pthread_mutex_unlock(&x->lock);
	if (!s)
		return err;
	memcpy(page, s->bytes, s->nr < x->page_bytes ? s->nr : x->page_bytes);
	free(s);
	return 1;
}

bool raw_ready(struct raw *x, unsigned int cpu)
{
	struct stream *st;
	bool ready;
	int err;

	if (cpu >= x->nr_cpus)
		return false;
	pthread_mutex_lock(&x->lock);
	st = &x->streams[cpu];
	ready = follow_is_full(x->f, cpu,
			       (uint64_t)st->nr * x->page_bytes +
				       (st->writer.page ? st->writer.used : 0));
	/* the available records may all be of kinds that no sub-buffer has */
	if (ready)
		ready = fill(x, cpu, RAW_FULL, &err);
	ready |= st->writer.page && !follow_lives(x->f);
	pthread_mutex_unlock(&x->lock);
	return ready;
}

bool raw_lives(struct raw *x)
{
	bool lives;

	pthread_mutex_lock(&x->lock);
	lives = follow_lives(x->f);
	pthread_mutex_unlock(&x->lock);
	return lives;
}

static int print_page(void *arg, const unsigned char *chunk, uint32_t bytes)
{
	out_write(arg, (const char *)chunk, bytes);
	return 0;
}

/* Return: 0 or -errno with fail() set. */
static int print_events(struct graph_events *events, unsigned int cpu, struct subbuf_writer *w)
{
	const struct graph_event *ev;
	struct record rec;
	int ret, err = 0;

	while (!err && (ret = graph_events_next(events, &ev)) > 0) {
		rec = dat_graph_record(ev);
		if (rec.cpu != cpu)
			continue;
		err = subbuf_add(w, &rec, 1);
		if (err == -ENOTSUP)
			err = 0;
	}
	if (!err && ret < 0)
		err = ret;
	return err ? err : subbuf_end(w);
}

int raw_print(struct reader *r, unsigned int cpu, struct out *o)
{
	struct graph_events *events;
	struct subbuf_writer w;
	int err;

	if (subbuf_init_sink(&w, page_bytes_of(r), print_page, o))
		return fail(ENOMEM, "out of memory");
	events = graph_events_new(r, NULL, false, &err);
	if (events)
		err = print_events(events, cpu, &w);
	graph_events_free(events);
	subbuf_free(&w);
	return err;
}
