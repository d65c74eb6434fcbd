/* SPDX-License-Identifier: MIT */
/* See graph_synth.h. */
#include "graph_synth.h"

#include <stdlib.h>
#include <string.h>

#include "synth.h"

#define MAX_THREADS 8
#define MAX_STACKS  16
#define MAX_FRAMES  64
#define MAX_BEFORE  5

struct frame {
	uint64_t call; /* number */
	bool tail;
};

struct synth_stack {
	struct frame frame[MAX_FRAMES];
	unsigned int nr;
	int thread;  /* that runs on it, -1 none */
	uint32_t id; /* as the engine names it */
	bool own;
	/* as its records show it: the thread of the last one, when that was, and when it left */
	int seen;
	uint64_t last, left;
};

struct synth_thread {
	struct synth_stack own;
	struct synth_stack *cur;
	struct synth_stack *shown; /* of its last record */
	bool named;		   /* a record has its own stack's number */
	unsigned int cpu, process;
	int32_t pid;
};

struct world {
	struct graph_synth *g;
	const struct graph_synth_plan *plan;
	uint64_t random;
	struct synth_thread thread[MAX_THREADS];
	struct synth_stack stack[MAX_THREADS][MAX_STACKS]; /* by process */
};

static uint32_t dice(struct world *w, uint32_t sides)
{
	w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(w->random >> 33) % sides;
}

static void *one_more(void *at, uint64_t nr, uint64_t *room, size_t bytes)
{
	if (nr == *room) {
		*room = *room ? *room * 2 : 1024;
		at = realloc(at, *room * bytes);
		if (!at)
			abort();
	}
	return at;
}

static void note_event(struct graph_synth *g, enum synth_what what, uint64_t call)
{
	g->event = one_more(g->event, g->nr_events, &g->room_events, sizeof(*g->event));
	g->event[g->nr_events++] = (struct synth_event){what, call, g->ts};
}

static void record(struct world *w, struct synth_thread *t, enum record_kind kind, uint64_t ip)
{
	struct graph_synth *g = w->g;
	unsigned int c = t->cpu;

	g->rec[c] = one_more(g->rec[c], g->nr[c], &g->room[c], sizeof(struct record));
	g->rec[c][g->nr[c]++] = (struct record){
		.ts = g->ts,
		.ip = ip,
		.pid = t->pid,
		.cpu = (uint16_t)c,
		.kind = (uint8_t)kind,
		.process = t->process,
		.task = (uint32_t)(t - w->thread),
	};
}

/* What a reader can know of the times at which no thread was on a stack. */
static void see(struct world *w, struct synth_thread *t)
{
	struct synth_stack *s = t->cur, *was = t->shown;
	int me = (int)(t - w->thread);
	uint64_t since = 0;

	if (s->left || (s->seen >= 0 && s->seen != me))
		since = s->left ? s->left : s->last;
	if (since && s->nr)
		w->g->call[s->frame[s->nr - 1].call].suspended += w->g->ts - since;
	s->seen = me;
	s->left = 0;
	s->last = w->g->ts;
	if (was != s && was->seen == me && !was->left)
		was->left = w->g->ts;
	t->shown = s;
}

/* Before each record of a call: on which stack it is, if that is another one than before. */
static void on_stack(struct world *w, struct synth_thread *t)
{
	if (t->cur != t->shown && !t->named) {
		record(w, t, RECORD_STACK, t->own.id);
		t->named = true;
	}
	if (t->cur != t->shown)
		record(w, t, RECORD_STACK, t->cur->id);
	see(w, t);
}

static uint64_t new_call(struct world *w, struct synth_stack *s, bool tail, uint64_t start)
{
	struct graph_synth *g = w->g;
	struct synth_call *call;

	g->call = one_more(g->call, g->nr_calls, &g->room_calls, sizeof(*g->call));
	call = &g->call[g->nr_calls];
	*call = (struct synth_call){
		.ip = synth_addr(dice(w, 20)),
		.start = start,
		.parent = s->nr ? (int64_t)s->frame[s->nr - 1].call : -1,
		.depth = s->nr,
		.stack = s->own ? 0 : s->id,
		.tail = tail,
	};
	s->frame[s->nr++] = (struct frame){g->nr_calls, tail};
	return g->nr_calls++;
}

static void enter(struct world *w, struct synth_thread *t, bool tail)
{
	uint64_t call;

	on_stack(w, t);
	call = new_call(w, t->cur, tail, w->g->ts);
	record(w, t, tail ? RECORD_TAIL : RECORD_ENTRY, w->g->call[call].ip);
	note_event(w->g, SYNTH_ENTER, call);
}

static void pop(struct world *w, struct synth_stack *s, bool unwound)
{
	struct synth_call *call = &w->g->call[s->frame[--s->nr].call];

	call->end = w->g->ts;
	call->unwound = unwound;
	if (!call->start) {
		/* its begin was not seen; an unwound call of that kind is not reported at all */
		if (!unwound)
			note_event(w->g, SYNTH_UNMATCHED, (uint64_t)(call - w->g->call));
		return;
	}
	if (call->parent >= 0) {
		w->g->call[call->parent].children += call->end - call->start;
		w->g->call[call->parent].nr_children++;
	}
	note_event(w->g, SYNTH_LEAVE, (uint64_t)(call - w->g->call));
}

/* End the innermost call and what jumped from it. */
static void end_call(struct world *w, struct synth_stack *s, bool unwound)
{
	while (s->frame[s->nr - 1].tail)
		pop(w, s, unwound);
	pop(w, s, unwound);
}

static unsigned int entries(const struct synth_stack *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->nr; i++)
		n += !s->frame[i].tail;
	return n;
}

static void leave(struct world *w, struct synth_thread *t)
{
	struct synth_stack *s = t->cur;
	unsigned int at = s->nr - 1;

	on_stack(w, t);
	while (s->frame[at].tail)
		at--;
	record(w, t, RECORD_EXIT, w->g->call[s->frame[at].call].ip);
	end_call(w, s, false);
}

static void throw(struct world * w, struct synth_thread *t)
{
	unsigned int n = 1 + dice(w, entries(t->cur));

	on_stack(w, t);
	record(w, t, RECORD_UNWOUND, n);
	while (n--)
		end_call(w, t->cur, true);
}

static void change_stack(struct world *w, struct synth_thread *t)
{
	struct synth_stack *to = &t->own;
	unsigned int n = dice(w, w->plan->coroutines + 1);

	if (t->cur !=
	    t->shown) /* without a record, and perhaps back where another one was meanwhile */
		to = t->shown;
	else if (n)
		to = &w->stack[t->process][n - 1];
	if (to == t->cur || to->thread >= 0 || to->nr == MAX_FRAMES)
		return;
	t->cur->thread = -1;
	t->cur = to;
	to->thread = (int)(t - w->thread);
}

static void step(struct world *w)
{
	struct synth_thread *t = &w->thread[dice(w, w->plan->threads)];
	unsigned int what = dice(w, 100);

	w->g->ts += 1 + dice(w, 40);
	if (!dice(w, 30) && (!w->plan->calls_first || t->cur->nr < MAX_FRAMES)) {
		t->cpu = dice(w, GRAPH_SYNTH_CPUS);
		/* what returns as the first on a CPU may look like another one's leaf */
		if (w->plan->calls_first) {
			enter(w, t, false);
			return;
		}
	}
	if (w->plan->silent && t->cur != t->shown && dice(w, 4))
		what = dice(w, 2) ? 99 : 0;
	if (what == 99) /* it rests */
		return;
	if (w->plan->coroutines && what < 8 && t->cur->nr < MAX_FRAMES) {
		struct synth_stack *was = t->cur;

		change_stack(w, t);
		w->g->ts += 1;
		if (w->plan->silent && dice(w, 2))
			return;
		/* the engine notices it at the next call or return; as above */
		what = 8 + dice(w, 92);
		if (t->cur != was && w->plan->calls_first)
			what = 50;
	}
	if (w->plan->throws && what < 12 && entries(t->cur))
		throw(w, t);
	else if (w->plan->tails && what < 22 && t->cur->nr && t->cur->nr < MAX_FRAMES)
		enter(w, t, true);
	else if ((what < 62 || !t->cur->nr) && t->cur->nr < MAX_FRAMES)
		enter(w, t, false);
	else
		leave(w, t);
}

static void start(struct world *w)
{
	for (unsigned int i = 0; i < w->plan->threads; i++) {
		struct synth_thread *t = &w->thread[i];

		t->process = i % w->plan->processes;
		t->pid = SYNTH_PID + (int32_t)i;
		t->cpu = i % GRAPH_SYNTH_CPUS;
		t->cur = t->shown = &t->own;
		t->own.own = true;
		t->own.seen = -1;
		t->own.id = 100 + i;
		t->own.thread = (int)i;
		for (uint32_t n = w->plan->middle ? dice(w, MAX_BEFORE) : 0; n; n--)
			new_call(w, &t->own, false, 0);
		for (unsigned int s = 0; s < MAX_STACKS; s++) {
			w->stack[i][s].id = 1 + s;
			w->stack[i][s].thread = w->stack[i][s].seen = -1;
		}
	}
}

void graph_synth_run(struct graph_synth *g, const struct graph_synth_plan *plan)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	*g = (struct graph_synth){.ts = 1000000};
	w->g = g;
	w->plan = plan;
	w->random = plan->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	start(w);
	for (unsigned int i = 0; i < plan->steps; i++)
		step(w);
	for (unsigned int i = 0; plan->ends && i < plan->threads; i++) {
		struct synth_thread *t = &w->thread[i];

		while (t->cur->nr) {
			g->ts += 7;
			leave(w, t);
		}
	}
	free(w);
}

void graph_synth_lose(struct graph_synth *g, uint32_t seed, unsigned int every)
{
	struct world w = {.random = seed};

	for (unsigned int c = 0; c < GRAPH_SYNTH_CPUS; c++) {
		uint64_t kept = 0, lost = 0;

		for (uint64_t i = 0; i < g->nr[c];) {
			if (!dice(&w, every)) {
				uint64_t n = 1 + dice(&w, 30);

				n = n < g->nr[c] - i ? n : g->nr[c] - i;
				lost += n;
				i += n;
				continue;
			}
			g->rec[c][kept] = g->rec[c][i++];
			g->rec[c][kept++].lost = lost;
			lost = 0;
		}
		g->nr[c] = kept;
	}
}

struct reader *graph_synth_reader(struct graph_synth *g)
{
	return synth_new_list(GRAPH_SYNTH_CPUS, (const struct record *const *)g->rec, g->nr);
}

void graph_synth_free(struct graph_synth *g)
{
	for (unsigned int c = 0; c < GRAPH_SYNTH_CPUS; c++)
		free(g->rec[c]);
	free(g->call);
	free(g->event);
}
