/* SPDX-License-Identifier: MIT */
/*
 * Loads pages before their turn (pages_impl.h). A thread reads, unpacks and converts the next pages
 * of each CPU while the caller uses earlier ones. If no page of a CPU is ready, the caller loads
 * some itself. If the thread could not be started, the caller loads all.
 *
 * A queue has the loaded pages of a CPU. One thread at a time loads into it (`busy`), so only that
 * thread uses the source's state of that CPU. At most MAX_READY pages are loaded and wait, 8 KB
 * each. tools/base/job.h is the same for single jobs. Costs one lock for about ten pages. Tests:
 * tests/cli/test_native.py (its recordings are long enough).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/pages_impl.h"
#include "tools/base/fail.h"
#include "tools/base/signals.h"

#define QUEUE_PAGES 256u
#define AT_ONCE	    16u
#define MAX_READY   1024u

struct ready {
	struct open_page *page; /* NULL: it had no records */
	uint32_t gone;
	int err;
	char *why; /* of err; NULL: no memory */
};

struct queue {
	size_t first, next, end; /* references; next is loaded next */
	uint64_t head, tail;	 /* numbers of pages in the ring; under the lock */
	uint64_t at, until;	 /* the caller's: pages that it may take without the lock */
	bool busy;
	struct ready ring[QUEUE_PAGES];
};

struct ahead {
	const struct pages *p;
	struct queue **of_cpu; /* NULL: no pages */
	struct queue *queues;
	unsigned int nr_queues, turn;
	unsigned int ready; /* pages in all rings */
	pthread_mutex_t lock;
	pthread_cond_t work; /* there may be something to load */
	pthread_cond_t done; /* a queue is not busy any more */
	pthread_t worker;
	bool has_worker, tried, idle, end, hold;
};

/* Load up to @max more pages. Called by the thread that has set `busy`. Return: their number. */
static unsigned int load(const struct ahead *a, struct queue *q, uint64_t tail, unsigned int max)
{
	unsigned int nr = 0;

	while (nr < max && q->next < q->end) {
		struct ready *r = &q->ring[(tail + nr++) % QUEUE_PAGES];

		*r = (struct ready){0};
		r->err = page_load(a->p, &a->p->refs[q->next++], &r->page, &r->gone);
		if (!r->err)
			continue;
		r->why = strdup(fail_text());
		q->next = q->end;
	}
	return nr;
}

/* Load into a queue. Called with the lock held; unlocks while it loads. */
static void fill(struct ahead *a, struct queue *q, unsigned int max)
{
	uint64_t tail = q->tail, room = QUEUE_PAGES - (tail - q->head);
	unsigned int nr;

	q->busy = true;
	pthread_mutex_unlock(&a->lock);
	nr = load(a, q, tail, room < max ? (unsigned int)room : max);
	pthread_mutex_lock(&a->lock);
	q->tail += nr;
	a->ready += nr;
	q->busy = false;
	pthread_cond_broadcast(&a->done);
}

/* The next queue, round robin, that has room for several pages. */
static struct queue *choose(struct ahead *a)
{
	if (a->hold || a->ready >= MAX_READY)
		return NULL;
	for (unsigned int i = 0; i < a->nr_queues; i++) {
		struct queue *q = &a->queues[(a->turn + i) % a->nr_queues];

		if (q->busy || q->next == q->end || q->tail - q->head > QUEUE_PAGES - AT_ONCE)
			continue;
		a->turn = (a->turn + i + 1) % a->nr_queues;
		return q;
	}
	return NULL;
}

static void *work(void *arg)
{
	struct ahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->end) {
		struct queue *q = choose(a);

		if (q) {
			fill(a, q, AT_ONCE);
			continue;
		}
		a->idle = true;
		pthread_cond_wait(&a->work, &a->lock);
		a->idle = false;
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static void start(struct ahead *a)
{
	a->tried = true;
	a->has_worker = !thread_without_signals(&a->worker, work, a);
}

int ahead_new(const struct pages *p, struct ahead **out)
{
	unsigned int nr_cpus = p->reader.nr_cpus;
	struct ahead *a = calloc(1, sizeof(*a));
	size_t first, end;

	if (a) {
		a->p = p;
		a->of_cpu = calloc(nr_cpus, sizeof(struct queue *));
		for (unsigned int cpu = 0; cpu < nr_cpus; cpu++) {
			pages_cpu_refs(p, cpu, &first, &end);
			a->nr_queues += first < end;
		}
		a->queues = calloc(a->nr_queues + 1u, sizeof(*a->queues));
	}
	if (!a || !a->of_cpu || !a->queues) {
		if (a) {
			free(a->of_cpu);
			free(a->queues);
		}
		free(a);
		return fail(ENOMEM, "out of memory for the pages of %u CPUs", nr_cpus);
	}
	for (unsigned int cpu = 0, nr = 0; cpu < nr_cpus; cpu++) {
		pages_cpu_refs(p, cpu, &first, &end);
		if (first == end)
			continue;
		a->of_cpu[cpu] = &a->queues[nr++];
		*a->of_cpu[cpu] = (struct queue){.first = first, .next = first, .end = end};
	}
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	pthread_cond_init(&a->done, NULL);
	*out = a;
	return 0;
}

/* Free the loaded pages that were not taken. No thread may be loading. */
static void drop(struct queue *q)
{
	for (uint64_t i = q->at; i < q->tail; i++) {
		free(q->ring[i % QUEUE_PAGES].page);
		free(q->ring[i % QUEUE_PAGES].why);
	}
	q->head = q->tail = q->at = q->until = 0;
	q->next = q->first;
}

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	if (a->has_worker) {
		pthread_mutex_lock(&a->lock);
		a->end = true;
		pthread_cond_signal(&a->work);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->worker, NULL);
	}
	for (unsigned int i = 0; i < a->nr_queues; i++)
		drop(&a->queues[i]);
	pthread_cond_destroy(&a->done);
	pthread_cond_destroy(&a->work);
	pthread_mutex_destroy(&a->lock);
	free(a->of_cpu);
	free(a->queues);
	free(a);
}

void ahead_rewind(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->hold = true;
	for (unsigned int i = 0; i < a->nr_queues; i++) {
		while (a->queues[i].busy)
			pthread_cond_wait(&a->done, &a->lock);
		drop(&a->queues[i]);
	}
	a->ready = 0;
	a->hold = false;
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
}

void ahead_begin_at(struct ahead *a, unsigned int cpu, size_t next)
{
	struct queue *q = a->of_cpu[cpu];

	/* the thread starts when the first page is taken */
	if (q)
		q->next = next;
}

/*
 * Give the caller all pages that are ready. If none is, wait for the thread or load some.
 * Return: false: there are no more.
 */
static bool refill(struct ahead *a, struct queue *q)
{
	bool any = true;

	pthread_mutex_lock(&a->lock);
	a->ready -= (unsigned int)(q->at - q->head);
	q->head = q->at;
	while (q->tail == q->at) {
		if (q->busy) {
			pthread_cond_wait(&a->done, &a->lock);
			continue;
		}
		any = q->next < q->end;
		if (!any)
			break;
		fill(a, q, AT_ONCE);
	}
	q->until = q->tail;
	if (a->idle)
		pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
	return any;
}

int ahead_take(struct ahead *a, unsigned int cpu, struct open_page **out, uint32_t *gone)
{
	struct queue *q = a->of_cpu[cpu];
	struct ready *r;
	int err;

	if (!a->has_worker && !a->tried)
		start(a);
	if (q->at == q->until && !refill(a, q))
		return fail(EIO, "reading CPU %u has failed before", cpu);
	r = &q->ring[q->at++ % QUEUE_PAGES];
	*out = r->page;
	*gone = r->gone;
	err = r->err;
	if (err)
		fail(-err, "%s", r->why ? r->why : "out of memory");
	free(r->why);
	return err;
}
