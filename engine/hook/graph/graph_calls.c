/* SPDX-License-Identifier: MIT */
/*
 * See graph_calls.h. In each ring, each page records by itself on which stack its records were
 * made: if a record is on another stack than the last one in its page, a RECORD_STACK comes before
 * it, in the same reservation. ring_ctl.last_state is the stack of the page's last record. A
 * handler that makes a record while it interrupts a writer always writes its stack, and marks the
 * state as unknown. The interrupted writer sees the mark, and starts again if it has to. So no
 * handler is refused, and no record is on a wrong stack.
 *
 * No other state. fork: graph_settle() calls ring_invalidate(). Costs: bench "instances".
 * Tests: tests/engine/fire/instances.
 */
#include "engine/hook/graph/graph_calls.h"

#include "abi/option.h"
#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/core/function_profile.h"
#include "engine/core/ops.h"
#include "engine/hook/graph/graph.h"
#include "engine/ring/ring_write.h"

uint32_t graph_multi;

static uint64_t head_word(enum record_kind kind, uint32_t id, uint64_t stamp)
{
	return (uint64_t)kind << RECORD_KIND_SHIFT | (uint64_t)id << RECORD_ID_SHIFT | stamp;
}

/* A record with its payload. */
struct entry {
	uint64_t stack; /* head word of the RECORD_STACK to write before it */
	uint64_t word;	/* head word, stamp 0 */
	uint32_t nr;	/* words of payload */
	const uint64_t *more;
};

/*
 * Fill in a reserved slot. @before: value of ctl->last_state at the reservation. Return: 0: a
 * handler changed that meanwhile, or the page is too old: nothing was written.
 */
static int fill(struct ring_ctl *ctl, const struct page_head *head, uint64_t *words, int alone,
		uint64_t before, const struct entry *e)
{
	uint64_t stamp = ring_stamp(&rings[ctl->ring]) - head->base_stamp;
	uint64_t *record = alone ? words : words + 1;
	uint32_t i;

	if (stamp >> 32 || load_relaxed(&ctl->last_state) != before)
		return 0;
	if (rings[ctl->ring].stamps == RING_STAMPS_NONE)
		stamp = 0;
	for (i = 0; i < e->nr; i++)
		record[i + 1] = e->more[i];
	if (!alone)
		*record = e->word + stamp;
	barrier();
	*(volatile uint64_t *)words = (alone ? e->word : e->stack) + stamp;
	return 1;
}

/*
 * Write a record on the stack of @e. Return: whether it was written. Between ring_enter() and
 * ring_leave().
 */
static int put_entry(struct ring *r, const struct entry *e)
{
	uint32_t stack = record_word_id(e->stack), whole = (2 + e->nr) * 8;

	for (uint32_t cpu = ring_cpu();; cpu = arch_cpu()) { /* see ring_reserve_as() */
		struct ring_ctl *ctl = ring_block(r);
		int below, alone, done = 0, full = 1;
		struct page_head *head;
		uint64_t before, at;
		uint32_t bytes;

		if (ctl->cpu_key == (cpu ^ RING_CPU_KEY)) {
			head = ring_begin_writer(ctl);
			below = ctl->nest > 1;
			before = load_relaxed(&ctl->last_state);
			alone = !below && (uint32_t)before == stack;
			bytes = alone ? whole - RECORD_GRAPH_BYTES : whole;
			at = head ? arch_local_fetch_add(&head->commit, bytes) : PAGE_BYTES;
			full = at + bytes > PAGE_BYTES;
			if (!full) {
				uint64_t *words = (uint64_t *)((uint8_t *)head + at);

				words[0] = head_word(RECORD_UNCOMMITTED, bytes, 0);
				done = fill(ctl, head, words, alone, before, e);
				if (!done) /* a void record, for which readers need not wait */
					words[0] = head_word(RECORD_UNCOMMITTED, bytes,
							     RECORD_GIVEN_UP);
				full = !done && load_relaxed(&ctl->last_state) == before;
			}
			barrier();
			if (done && below)
				store_relaxed(&ctl->last_state, ((before >> 32) + 1) << 32);
			else if (done && !alone)
				arch_local_compare_and_store(&ctl->last_state, before,
							     before >> 32 << 32 | stack);
			ring_end_writer(ctl);
		}
		if (done)
			return 1;
		if (full && ring_new_page_in(r, whole) == RING_SKIP)
			return 0;
	}
}

static int put(struct ring *r, const struct graph_stack *s, enum record_kind kind, uint32_t id)
{
	const struct entry e = {.stack = s->word, .word = head_word(kind, id, 0)};

	return put_entry(r, &e);
}

static int has_option(const struct ring *r, enum area_option option)
{
	return area_option_on(load_relaxed(&r->buffer->options), option);
}

/* Report the calls of @s whose exits were not recorded in @r. */
static void note_skipped(struct ring *r, struct graph_stack *s)
{
	uint32_t n = graph_take_skipped(s, r->index);

	if (unlikely(n) && !put(r, s, RECORD_UNWOUND, RECORD_UNWOUND_RETURNED | n))
		s->skipped[r->index] += n;
}

static int put_call(struct ring *r, struct graph_stack *s, uint32_t id,
		    const struct arch_args *args)
{
	note_skipped(r, s);
	if (likely(!has_option(r, AREA_OPTION_FUNCGRAPH_ARGS)))
		return put(r, s, RECORD_ENTRY, id);
	uint64_t more[RECORD_NR_ARGS];
	const struct entry e = {.stack = s->word,
				.word = head_word(RECORD_ENTRY_ARGS, id, 0),
				.nr = RECORD_NR_ARGS,
				.more = more};

	arch_args_get(args, more);
	return put_entry(r, &e);
}

static void put_exit(struct ring *r, struct graph_stack *s, uint32_t id, uint64_t value)
{
	const struct entry e = {.stack = s->word,
				.word = head_word(RECORD_EXIT_VALUE, id, 0),
				.nr = 1,
				.more = &value};
	int done;

	note_skipped(r, s);
	if (likely(!has_option(r, AREA_OPTION_FUNCGRAPH_RETVAL)))
		done = put(r, s, RECORD_EXIT, id);
	else
		done = put_entry(r, &e);
	if (unlikely(!done))
		s->skipped[r->index]++;
}

/*
 * Begin a use of the ring. @l: the users of calls, valid until ring_leave(). Return: 0: the thread
 * may make no record now.
 */
static inline int begin(struct srcu_thread **inside, const struct ops_list **l)
{
	*inside = ring_enter();
	if (!*inside)
		return 0;
	*l = ops_list();
	return 1;
}

/* The time since a profiled call last began or returned on this stack. */
static uint64_t since_last(struct graph_stack *s, uint64_t now)
{
	uint64_t last = s->profiled;

	s->profiled = now;
	return last && last < now ? now - last : 0;
}

/* Whether the call at @slot began after the profiler was switched on, and is profiled. */
static int is_profiled(uint64_t slot)
{
	const struct graph_shadow *shadow = graph_shadow(slot);

	return shadow->link & GRAPH_SILENT && shadow->calls & GRAPH_PROFILED &&
	       shadow->stamp >= function_profile_since;
}

/* A call of @id begins at @slot: the time until now belongs to the call that makes it. */
static void profile_enter(struct graph_stack *s, uint64_t slot, uint32_t id)
{
	uint64_t now = ring_clock(), ran = since_last(s, now), outer = s->open, stub;

	function_profile_enter(id);
	graph_shadow(slot)->stamp = now;
	/* it also belongs to calls in between that are open for other users alone */
	while (ran && outer > slot && outer < s->top) {
		if (is_profiled(outer)) {
			stub = *(const uint64_t *)outer;
			if (graph_is_stub(stub))
				function_profile_self(graph_stub_function(stub), ran);
			return;
		}
		outer = graph_link(graph_shadow(outer));
	}
}

static void profile_exit(struct graph_stack *s, uint64_t slot, uint32_t id, uint64_t now)
{
	uint64_t began = graph_shadow(slot)->stamp, own = since_last(s, now);

	/* of a call from before the profiler was switched on, the time since then is not known */
	if (began >= function_profile_since && now >= began)
		function_profile_exit(id, now - began, own < now - began ? own : now - began);
}

uint32_t graph_enter_all(uint64_t word, uint64_t slot, struct graph_stack *s,
			 const struct arch_args *args)
{
	struct srcu_thread *inside;
	const struct ops_list *l;
	uint32_t id = record_word_id(word), i;
	uint64_t calls = 0;

	if (!begin(&inside, &l))
		return 0;
	for (i = 0; i < l->nr_graph; i++) {
		struct ring *r = l->graph[i].ring;

		if (ops_user_wants(&l->graph[i], id) && put_call(r, s, id, args))
			calls |= UINT64_C(1) << r->index;
	}
	if (ops_user_wants(&l->returns, id)) {
		ops_call_begun(id, slot, s->word, args);
		calls |= GRAPH_PROBED;
	}
	if (unlikely(ops_user_wants(&l->profile, id))) {
		profile_enter(s, slot, id);
		calls |= GRAPH_PROFILED;
	}
	ring_leave(inside);
	graph_shadow(slot)->calls = calls;
	return calls != 0;
}

/*
 * Whether an instance knows the call that a tail call replaces. The plain variant for the top
 * instance does not set `calls`.
 */
static int knows(const struct graph_shadow *shadow, const struct ring *r)
{
	if (!(shadow->link & GRAPH_SILENT))
		return r == ring_top;
	return (int)((shadow->calls | shadow->calls >> GRAPH_TAIL_SHIFT) >> r->index & 1);
}

/*
 * Whether a function entered by a tail call may have an entry record of its own: see graph_calls.h.
 */
static int can_enter(const struct graph_shadow *shadow, uint32_t id)
{
	uint64_t tails = shadow->calls >> GRAPH_TAIL_SHIFT & GRAPH_CALLS_MASK;

	tails |= shadow->calls & GRAPH_TAIL_PROBED;
	return shadow->link & GRAPH_SILENT && shadow->calls &&
	       (!tails || graph_tail_id(shadow->calls) == id);
}

/* Count a tail call, as graph.S's TAIL_COUNT does. */
static void count_tail(struct graph_stack *s, struct graph_shadow *shadow)
{
	if (graph_tails(shadow) == GRAPH_TAILS_MASK)
		return;
	shadow->link += UINT64_C(1) << GRAPH_TAILS_SHIFT;
	s->depth++;
}

void graph_tail_all(uint64_t word, uint64_t slot, struct graph_stack *s,
		    const struct arch_args *args)
{
	struct graph_shadow *shadow = graph_shadow(slot);
	struct srcu_thread *inside;
	const struct ops_list *l;
	uint32_t id = record_word_id(word), i;
	int wanted = 0;

	if (!begin(&inside, &l))
		return;
	for (i = 0; i < l->nr_graph; i++) {
		struct ring *r = l->graph[i].ring;

		if (!ops_user_wants(&l->graph[i], id))
			continue;
		wanted = 1;
		note_skipped(r, s);
		if (knows(shadow, r) || !can_enter(shadow, id))
			put(r, s, RECORD_TAIL, id);
		else if (put(r, s, RECORD_ENTRY, id))
			shadow->calls |= UINT64_C(1) << (GRAPH_TAIL_SHIFT + r->index) |
					 (uint64_t)id << GRAPH_TAIL_ID_SHIFT;
	}
	if (ops_user_wants(&l->returns, id) && can_enter(shadow, id)) {
		ops_call_begun(id, slot | OPS_TAIL, s->word, args);
		shadow->calls |= GRAPH_TAIL_PROBED | (uint64_t)id << GRAPH_TAIL_ID_SHIFT;
	}
	if (unlikely(ops_user_wants(&l->profile, id)))
		function_profile_enter(id);
	ring_leave(inside);
	if (wanted)
		count_tail(s, shadow);
}

int graph_calls_tail_probed(uint64_t slot, uint32_t id)
{
	struct graph_shadow *shadow = graph_shadow(slot);

	if (!can_enter(shadow, id))
		return 0;
	shadow->calls |= GRAPH_TAIL_PROBED | (uint64_t)id << GRAPH_TAIL_ID_SHIFT;
	return 1;
}

static void exit_in(struct ring *r, uint64_t calls, uint32_t id, struct graph_stack *s,
		    uint64_t value)
{
	if (calls >> r->index & 1)
		put_exit(r, s, id, value);
	else if (calls >> (GRAPH_TAIL_SHIFT + r->index) & 1)
		put_exit(r, s, graph_tail_id(calls), value);
}

void graph_calls_probed(uint64_t slot, uint32_t id, uint64_t retval, uint64_t ip)
{
	uint64_t calls = graph_shadow(slot)->calls;

	if (calls & GRAPH_TAIL_PROBED)
		ops_call_returned(graph_tail_id(calls), slot | OPS_TAIL, retval, ip);
	if (calls & GRAPH_PROBED)
		ops_call_returned(id, slot, retval, ip);
}

/* A call returns. @calls: which rings have its entry record; @written: which have its exit. */
static void skip(struct graph_stack *s, uint64_t calls, uint32_t written)
{
	uint64_t left = (calls | calls >> GRAPH_TAIL_SHIFT) & GRAPH_CALLS_MASK & ~(uint64_t)written;

	for (; left; left &= left - 1)
		s->skipped[__builtin_ctzll(left)]++;
}

void graph_calls_skipped(uint64_t slot, struct graph_stack *s)
{
	const struct graph_shadow *shadow = graph_shadow(slot);

	skip(s, shadow->link & GRAPH_SILENT ? shadow->calls : 1, 0);
}

void graph_calls_exit(uint64_t slot, uint32_t id, struct graph_stack *s, uint64_t value, int top)
{
	uint64_t calls = graph_shadow(slot)->calls;
	uint64_t now = calls & GRAPH_PROFILED ? ring_clock() : 0;
	struct srcu_thread *inside;
	const struct ops_list *l;
	uint32_t i, written = 0;

	if (!begin(&inside, &l)) {
		skip(s, calls, 0);
		return;
	}
	if (unlikely(calls & GRAPH_PROFILED))
		profile_exit(s, slot, id, now);
	for (i = 0; i < l->nr_graph; i++) {
		written |= 1u << l->graph[i].ring->index;
		exit_in(l->graph[i].ring, calls, id, s, value);
	}
	if (!l->nr_graph && top && calls & 1) {
		/* the plain variant is current now, and writes RECORD_STACK with its record */
		ring_block(ring_top)->last_state = 0;
		written |= 1;
		exit_in(ring_top, calls, id, s, value);
		graph_tls.word = s->word;
	}
	skip(s, calls, written);
	ring_leave(inside);
}

void graph_calls_return(uint32_t id, uint64_t payload)
{
	struct srcu_thread *inside;
	const struct ops_list *l;
	struct ring_slot slot;
	uint32_t i;

	if (!begin(&inside, &l))
		return;
	for (i = 0; i < l->nr_graph; i++) {
		if (!ops_user_wants(&l->graph[i], id) ||
		    !ring_reserve_call(l->graph[i].ring, &slot, RECORD_RETURN_BYTES))
			continue;
		slot.words[1] = payload;
		ring_commit(&slot, RECORD_RETURN, id);
	}
	ring_leave(inside);
}

void graph_calls_gone(uint64_t slot, uint32_t gone[RING_MAX])
{
	uint64_t calls = graph_shadow(slot)->calls;
	uint32_t i;

	if (calls & GRAPH_TAIL_PROBED)
		ops_call_unwound(slot | OPS_TAIL);
	if (calls & GRAPH_PROBED)
		ops_call_unwound(slot);
	calls = (calls | calls >> GRAPH_TAIL_SHIFT) & GRAPH_CALLS_MASK;
	for (i = 0; i < RING_MAX; i++)
		gone[i] += calls >> i & 1;
}

void graph_calls_unwound(struct graph_stack *s, const uint32_t gone[RING_MAX])
{
	struct srcu_thread *inside;
	const struct ops_list *l;
	uint32_t i;

	if (!begin(&inside, &l))
		return;
	for (i = 0; i < l->nr_graph; i++) {
		struct ring *r = l->graph[i].ring;

		if (!gone[r->index])
			continue;
		note_skipped(r, s);
		if (!put(r, s, RECORD_UNWOUND, gone[r->index]))
			s->skipped[r->index] += gone[r->index];
	}
	ring_leave(inside);
}

void graph_calls_count_nested(void)
{
	struct srcu_thread *inside;
	const struct ops_list *l;
	uint32_t i;

	if (!begin(&inside, &l))
		return;
	for (i = 0; i < l->nr_graph; i++)
		ring_count_nested(l->graph[i].ring);
	ring_leave(inside);
}

void graph_calls_missed(uint32_t id)
{
	struct srcu_thread *inside;
	const struct ops_list *l;

	if (!begin(&inside, &l))
		return;
	if (ops_user_wants(&l->returns, id))
		ops_call_missed(id);
	ring_leave(inside);
}
