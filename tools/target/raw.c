/* SPDX-License-Identifier: MIT */
/*
 * See raw.h. In turns the records that are there are encoded, in order of time over all CPUs that were
 * joined, into each CPU's sub-buffers, which wait in a queue for their reader. When one CPU's reader
 * does not keep up, no more is taken of any, and the process's own buffer fills as it would.
 * Costs what follow.h and dat_graph.h cost. Any thread: a lock. Tests: tests/tracefs/.
 */
#include "tools/target/raw.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/graph_events.h"
#include "tools/base/fail.h"
#include "tools/export/dat_graph.h"
#include "tools/export/dat_pages.h"
#include "tools/reader/follow.h"

#define MAX_QUEUE 4096u /* sub-buffers of a CPU */
#define AT_ONCE	  64u	/* are made before the first is handed out */

struct subbuf {
	struct subbuf *next;
	unsigned char bytes[RAW_PAGE_BYTES];
};

struct lane {
	struct subbuf_writer writer;
	struct subbuf *first, **end;
	unsigned int nr;
	unsigned int joined;
	uint64_t taken;
};

struct raw {
	const struct target *t;
	pthread_mutex_t lock; /* of all that follows */
	struct follow *f;
	struct graph_events *events; /* NULL: none yet */
	struct lane *lanes;	     /* by CPU */
	bool *cpus;		     /* those joined */
	unsigned int nr_cpus;
	bool more; /* this turn is not at its end */
};

static int queue(void *arg, const unsigned char *chunk, uint32_t bytes)
{
	struct lane *l = arg;
	struct subbuf *s = malloc(sizeof(*s));

	if (!s)
		return fail(ENOMEM, "no memory for a sub-buffer");
	memcpy(s->bytes, chunk, bytes < RAW_PAGE_BYTES ? bytes : RAW_PAGE_BYTES);
	s->next = NULL;
	*l->end = s;
	l->end = &s->next;
	l->nr++;
	return 0;
}

int raw_open(const struct target *t, struct raw **out)
{
	struct raw *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return fail(ENOMEM, "no memory");
	x->t = t;
	pthread_mutex_init(&x->lock, NULL);
	err = follow_open(t->path, false, &x->f);
	if (!err) {
		x->nr_cpus = follow_reader(x->f)->nr_cpus;
		x->lanes = calloc(x->nr_cpus, sizeof(*x->lanes));
		x->cpus = calloc(x->nr_cpus, sizeof(*x->cpus));
		if (!x->lanes || !x->cpus)
			err = fail(ENOMEM, "no memory");
	}
	for (unsigned int c = 0; !err && c < x->nr_cpus; c++) {
		x->lanes[c].end = &x->lanes[c].first;
		if (subbuf_init_sink(&x->lanes[c].writer, queue, &x->lanes[c]))
			err = fail(ENOMEM, "no memory");
	}
	if (err) {
		raw_close(x);
		return err;
	}
	*out = x;
	return 0;
}

void raw_close(struct raw *x)
{
	graph_events_free(x->events);
	for (unsigned int c = 0; x->lanes && c < x->nr_cpus; c++) {
		struct lane *l = &x->lanes[c];

		subbuf_free(&l->writer);
		while (l->first) {
			struct subbuf *s = l->first;

			l->first = s->next;
			free(s);
		}
	}
	if (x->f)
		follow_close(x->f);
	free(x->lanes);
	free(x->cpus);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

static void count(struct raw *x, unsigned int cpu, int change)
{
	if (cpu >= x->nr_cpus)
		return;
	pthread_mutex_lock(&x->lock);
	x->lanes[cpu].joined += (unsigned int)change;
	x->cpus[cpu] = x->lanes[cpu].joined;
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

		follow_take(x->f, c, nr - x->lanes[c].taken);
		x->lanes[c].taken = nr;
	}
}

static void drop_events(struct raw *x)
{
	graph_events_free(x->events);
	x->events = NULL;
	for (unsigned int c = 0; c < x->nr_cpus; c++)
		x->lanes[c].taken = 0;
}

/* Look for records. Return: 1 there are some, 0, -errno. */
static int turn(struct raw *x)
{
	bool dead = !target_lives(x->t->pid, x->t->start);
	int ret = follow_turn(x->f, x->cpus, dead);

	if (ret == -ESTALE) {
		drop_events(x);
		ret = follow_renew(x->f);
		if (!ret)
			ret = follow_turn(x->f, x->cpus, dead);
		if (ret == -ESTALE)
			ret = 0;
	}
	if (ret <= 0)
		return ret;
	if (x->events)
		graph_events_again(x->events);
	else
		x->events = graph_events_new(follow_reader(x->f), NULL, false, &ret);
	return x->events ? 1 : ret;
}

static bool is_full(const struct raw *x)
{
	for (unsigned int c = 0; c < x->nr_cpus; c++)
		if (x->cpus[c] && x->lanes[c].nr >= MAX_QUEUE)
			return true;
	return false;
}

/* Encode until @cpu has some sub-buffers, or all that is there. Return: 0 or -errno. */
static int encode(struct raw *x, unsigned int cpu)
{
	const struct graph_event *ev;
	struct record rec;
	int ret = 1, err = 0;

	if (is_full(x))
		return 0;
	if (!x->more) {
		ret = turn(x);
		if (ret <= 0)
			return ret;
		x->more = true;
	}
	while (x->lanes[cpu].nr < AT_ONCE && (ret = graph_events_next(x->events, &ev)) > 0) {
		rec = dat_graph_record(ev);
		err = subbuf_add(&x->lanes[rec.cpu].writer, &rec, 1);
		/* what has no event in the kernel's formats is left out */
		if (err == -ENOTSUP)
			err = 0;
		if (err)
			break;
	}
	take(x);
	x->more = ret > 0;
	return err ? err : ret < 0 ? ret : 0;
}

/* Fill the queue of a CPU. Return: whether there is something in it. */
static bool fill(struct raw *x, unsigned int cpu, bool partial, int *err)
{
	struct lane *l = &x->lanes[cpu];

	*err = 0;
	if (!l->nr)
		*err = encode(x, cpu);
	if (!l->nr && !*err && partial)
		*err = subbuf_end(&l->writer);
	return l->nr;
}

int raw_page(struct raw *x, unsigned int cpu, void *page, bool partial)
{
	struct subbuf *s = NULL;
	struct lane *l;
	int err;

	if (cpu >= x->nr_cpus)
		return fail_errno(ENOENT, "CPU %u", cpu);
	pthread_mutex_lock(&x->lock);
	l = &x->lanes[cpu];
	if (fill(x, cpu, partial, &err)) {
		s = l->first;
		l->first = s->next;
		if (!l->first)
			l->end = &l->first;
		l->nr--;
	}
	pthread_mutex_unlock(&x->lock);
	if (!s)
		return err;
	memcpy(page, s->bytes, RAW_PAGE_BYTES);
	free(s);
	return 1;
}

bool raw_ready(struct raw *x, unsigned int cpu, bool partial)
{
	bool ready;
	int err;

	if (cpu >= x->nr_cpus)
		return false;
	pthread_mutex_lock(&x->lock);
	ready = fill(x, cpu, false, &err) || (partial && x->lanes[cpu].writer.page);
	pthread_mutex_unlock(&x->lock);
	return ready;
}
