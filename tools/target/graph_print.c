/* SPDX-License-Identifier: MIT */
/*
 * See graph_print.h. This thread makes the events, another one their lines; between them go copies,
 * by batches. An event that borrows from its record (a comment, a print) is printed here when all
 * events before it are, and so are the events soon after it: a trace full of them is not passed to
 * and fro. A short trace has no second thread.
 *
 * Costs some 5 ns an event; bench: `report`. Tests: tests/cli/test_report.py, test_native.py.
 */
#include "tools/target/graph_print.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_EVENTS 256u
#define NR_BATCHES   8u
#define FIRST_HERE   4096u /* events before the thread begins */
#define AFTER_LENT   64u   /* events printed here behind one that lends */

struct copied {
	struct graph_event ev;
	struct record rec;
	uint64_t args[RECORD_NR_ARGS]; /* with GRAPH_ARGS */
};

struct batch {
	unsigned int nr;
	struct copied of[BATCH_EVENTS];
};

struct printer {
	struct graph_text *text;
	const struct out *o;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t more;	    /* a batch is full, or the end */
	pthread_cond_t less;	    /* a batch is printed */
	unsigned int full, printed; /* batches, since the beginning */
	bool end;
	bool failed;	       /* the output has */
	struct batch *batches; /* NR_BATCHES */
};

static void *print(void *arg)
{
	struct printer *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		const struct batch *b = &p->batches[p->printed % NR_BATCHES];

		if (p->printed == p->full) {
			if (p->end)
				break;
			pthread_cond_wait(&p->more, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		for (unsigned int i = 0; i < b->nr && !p->o->err; i++)
			graph_text_event(p->text, &b->of[i].ev);
		pthread_mutex_lock(&p->lock);
		p->failed = p->o->err != 0;
		p->printed++;
		pthread_cond_signal(&p->less);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void start(struct printer *p)
{
	sigset_t all, old;

	p->batches = malloc(NR_BATCHES * sizeof(*p->batches));
	if (!p->batches)
		return;
	p->batches[0].nr = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	p->running = !pthread_create(&p->thread, NULL, print, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Hand over the batch that is being filled. Return with room for the next one, or, with @all, when
 * everything is printed. */
static void hand_over(struct printer *p, bool all)
{
	pthread_mutex_lock(&p->lock);
	if (p->batches[p->full % NR_BATCHES].nr) {
		p->full++;
		pthread_cond_signal(&p->more);
	}
	while (p->full - p->printed >= (all ? 1 : NR_BATCHES))
		pthread_cond_wait(&p->less, &p->lock);
	p->batches[p->full % NR_BATCHES].nr = 0;
	pthread_mutex_unlock(&p->lock);
}

static void copy(struct printer *p, const struct graph_event *ev)
{
	struct batch *b = &p->batches[p->full % NR_BATCHES];
	struct copied *to = &b->of[b->nr++];

	to->ev = *ev;
	to->rec = *ev->rec;
	to->ev.rec = &to->rec;
	if (ev->flags & GRAPH_ARGS)
		to->ev.args = memcpy(to->args, ev->args, sizeof(to->args));
	if (b->nr == BATCH_EVENTS)
		hand_over(p, false);
}

/* @here: the last event was printed by this thread. */
static bool has_failed(struct printer *p, bool here)
{
	bool failed;

	if (here)
		return p->o->err != 0;
	if (p->batches[p->full % NR_BATCHES].nr)
		return false;
	pthread_mutex_lock(&p->lock);
	failed = p->failed;
	pthread_mutex_unlock(&p->lock);
	return failed;
}

int graph_print(struct graph_events *events, struct graph_text *text, const struct out *o)
{
	struct printer p = {.text = text,
			    .o = o,
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .more = PTHREAD_COND_INITIALIZER,
			    .less = PTHREAD_COND_INITIALIZER};
	const struct graph_event *ev;
	unsigned int here = FIRST_HERE;
	int ret;

	while ((ret = graph_events_next(events, &ev)) > 0) {
		if (ev->type == GRAPH_OTHER) {
			if (!here && p.running)
				hand_over(&p, true);
			here = here > AFTER_LENT ? here : AFTER_LENT + 1;
		}
		if (here && !--here && !p.batches)
			start(&p);
		if (here || !p.running)
			graph_text_event(text, ev);
		else
			copy(&p, ev);
		if (has_failed(&p, here || !p.running))
			break;
	}
	if (p.running) {
		hand_over(&p, true);
		pthread_mutex_lock(&p.lock);
		p.end = true;
		pthread_cond_signal(&p.more);
		pthread_mutex_unlock(&p.lock);
		pthread_join(p.thread, NULL);
	}
	free(p.batches);
	return ret < 0 ? ret : 0;
}
