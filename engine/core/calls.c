/* SPDX-License-Identifier: MIT */
/*
 * See calls.h. The list with its bits is one mapping, replaced as a whole and never changed: who reads
 * it does so between ring_enter() and ring_leave(), and the old one goes when all of them have come
 * out. A signal handler's call that comes on top of another is recorded as any: each instance's ring
 * nests as the top one's does.
 *
 * fork: the child of a session goes on with its parent's list, any other's is empty (its sites lead here
 * until its filters change). Costs: bench
 * "instances". Tests: tests/engine/fire/instances.
 */
#include "engine/core/calls.h"

#include <errno.h>

#include "abi/option.h"

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/core/func_repeats.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/core/function_profile.h"
#include "engine/core/stack.h"
#include "engine/core/trace_array.h"
#include "engine/ring/ring_write.h"

static struct call_list nobody;
struct call_list *calls_current = &nobody;

static const struct function_set *returns;
static const struct calls_return_ops *on_return;

static void record_function(struct ring *r, uint32_t id, uint64_t parent_ip,
			    const struct call_args *args, uint64_t now)
{
	int with_args = args && area_option_on(r->buffer->options, AREA_OPTION_FUNC_ARGS);
	struct ring_slot slot;

	if (!ring_reserve_as(r, &slot,
			     with_args ? RECORD_FUNCTION_ARGS_BYTES : RECORD_FUNCTION_BYTES, 0,
			     now))
		return;
	slot.words[1] = parent_ip;
	if (with_args) {
		slot.words[2] = args->di;
		slot.words[3] = args->si;
		slot.words[4] = args->dx;
		slot.words[5] = args->cx;
		slot.words[6] = args->r8;
		slot.words[7] = args->r9;
	}
	ring_commit(&slot, with_args ? RECORD_FUNCTION_ARGS : RECORD_FUNCTION, id);
}

/* In line: where not all registers are saved nothing leads to the walk. */
static inline __attribute__((always_inline)) void record_call(struct ring *r, uint32_t id,
							      uint64_t parent_ip,
							      const struct call_args *args,
							      uint64_t now, int saved)
{
	if (area_option_on(r->buffer->options, AREA_OPTION_FUNC_NO_REPEATS) &&
	    func_repeats_take(r, id, parent_ip, now))
		return;
	record_function(r, id, parent_ip, args, now);
	if (saved && area_option_on(r->buffer->options, AREA_OPTION_FUNC_STACK_TRACE))
		stack_record(r);
}

static inline __attribute__((always_inline)) uint64_t
enter(uint64_t word, uint64_t parent_ip, uint64_t site_end, const struct call_args *args, int saved)
{
	uint32_t id = record_word_id(word), i;
	uint64_t next = ops_next(id), now = 0;
	struct ring_ctl *inside = ring_enter();
	const struct call_list *l;

	if (inside) {
		l = calls_list();
		/* one stamp for all of them; for one alone its own is taken where its slot is */
		if (l->nr_function + (uint32_t)(next & OPS_RECORD) > 1)
			now = ring_clock();
		if (next & OPS_RECORD)
			record_call(ring_top, id, parent_ip, args, now, saved);
		for (i = 0; i < l->nr_function; i++)
			if (call_wanted(&l->function[i], id))
				record_call(l->function[i].ring, id, parent_ip, args, now, saved);
		ring_leave(inside);
	}
	next &= ~OPS_RECORD;
	return next ? next : site_end;
}

uint64_t calls_enter(uint64_t word, uint64_t parent_ip, uint64_t site_end,
		     const struct call_args *args)
{
	return enter(word, parent_ip, site_end, args, 0);
}

uint64_t calls_enter_saved(uint64_t word, uint64_t parent_ip, uint64_t site_end,
			   const struct call_args *args)
{
	return enter(word, parent_ip, site_end, args, 1);
}

static int wants_graph(const struct trace_array *tr)
{
	return tr->ops && tr->ops->kind == RECORD_ENTRY;
}

/* The top one is in the list when its graph is written together with others. */
static int is_listed(const struct trace_array *tr, int graphs)
{
	return tr->ops && (!trace_array_is_top(tr) || (graphs && wants_graph(tr)));
}

static void add_user(struct call_list *l, const struct trace_array *tr, uint64_t *bits, uint32_t n)
{
	struct call_user *u =
		wants_graph(tr) ? &l->graph[l->nr_graph] : &l->function[l->nr_function];
	uint32_t id;

	for (id = 0; id < n; id++)
		if (trace_array_wants(tr, id))
			bits[id / 64] |= UINT64_C(1) << (id % 64);
	*u = (struct call_user){.ring = tr->ring, .bits = bits, .nr_bits = n};
	if (wants_graph(tr))
		l->nr_graph++;
	else
		l->nr_function++;
}

static void add_returns(struct call_list *l, uint64_t *bits, uint32_t n)
{
	uint32_t id;

	for (id = 0; id < n; id++)
		if (function_set_has(returns, id))
			bits[id / 64] |= UINT64_C(1) << (id % 64);
	l->returns = (struct call_user){.bits = bits, .nr_bits = n};
}

static void add_profile(struct call_list *l, uint64_t *bits, uint32_t n)
{
	uint32_t id;

	for (id = 0; id < n; id++)
		if (function_profile_wants(id))
			bits[id / 64] |= UINT64_C(1) << (id % 64);
	l->profile = (struct call_user){.bits = bits, .nr_bits = n};
}

void calls_set_returns(const struct function_set *set, const struct calls_return_ops *ops)
{
	returns = set;
	store_release(&on_return, ops);
}

void calls_begun(uint32_t id, uint64_t call, const struct call_args *args)
{
	const struct calls_return_ops *ops = load_acquire(&on_return);

	if (ops->begun)
		ops->begun(id, call, args);
}

void calls_returned(uint32_t id, uint64_t call, uint64_t retval, uint64_t ip)
{
	struct ring_ctl *inside = ring_enter();

	if (!inside)
		return;
	load_acquire(&on_return)->returned(id, call, retval, ip);
	ring_leave(inside);
}

void calls_vanished(uint64_t call)
{
	const struct calls_return_ops *ops = load_acquire(&on_return);

	if (ops->begun)
		ops->vanished(call);
}

int calls_update(struct call_list **old)
{
	uint32_t n = function_count(), i, users = 0;
	size_t words = (size_t)n / 64 + 1, bytes;
	struct call_list *l = &nobody;
	struct trace_array *tr;
	int graphs = (returns && returns->count) || function_profile_is_on();
	uint64_t *bits;
	long p;

	for (i = 1; (tr = trace_array_at(i)) || i < RING_MAX; i++)
		graphs |= tr && wants_graph(tr);
	for (i = 0; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		users += (uint32_t)(tr && is_listed(tr, graphs));
	}
	users += (uint32_t)(returns && returns->count);
	users += (uint32_t)function_profile_is_on();
	if (users) {
		bytes = sizeof(*l) + users * words * 8;
		p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		if (sys_failed(p))
			return -ENOMEM;
		l = (struct call_list *)p;
		l->bytes = bytes;
		bits = (uint64_t *)(l + 1);
		for (i = 0; i < RING_MAX; i++) {
			tr = trace_array_at(i);
			if (!tr || !is_listed(tr, graphs))
				continue;
			add_user(l, tr, bits, n);
			bits += words;
		}
		if (returns && returns->count) {
			add_returns(l, bits, n);
			bits += words;
		}
		if (function_profile_is_on())
			add_profile(l, bits, n);
	}
	*old = calls_current;
	__atomic_store_n(&calls_current, l, __ATOMIC_SEQ_CST);
	return 0;
}

/* Where somebody does not come out, it stays. */
void calls_free(struct call_list *old)
{
	if (old != &nobody && old != calls_current && !ring_synchronize())
		sys_munmap(old, old->bytes);
}

static int wanting(const struct call_user *users, uint32_t nr, uint32_t id)
{
	uint32_t i, n = 0;

	for (i = 0; i < nr; i++)
		n += users[i].ring != ring_top && call_wanted(&users[i], id);
	return (int)n;
}

static int wants_stack(const struct trace_array *tr, uint32_t id)
{
	return tr && tr->with_stacks && tr->ops && !wants_graph(tr) && trace_array_wants(tr, id);
}

int calls_with_stack(uint32_t id)
{
	uint32_t i;

	for (i = 0; i < RING_MAX; i++)
		if (wants_stack(trace_array_at(i), id))
			return 1;
	return 0;
}

int calls_by_c(uint32_t id)
{
	const struct trace_array *tr = &global_trace;

	return tr->no_repeats && tr->ops && !wants_graph(tr) && trace_array_wants(tr, id);
}

int calls_any_by_c(void)
{
	const struct trace_array *tr;
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		if (tr && (tr->with_stacks || tr->no_repeats) && tr->ops && !wants_graph(tr))
			return 1;
	}
	return 0;
}

int calls_graph_wanting(uint32_t id)
{
	return wanting(calls_current->graph, calls_current->nr_graph, id) +
	       call_wanted(&calls_current->returns, id) + call_wanted(&calls_current->profile, id);
}

int calls_wanting(uint32_t id)
{
	return wanting(calls_current->function, calls_current->nr_function, id) +
	       calls_graph_wanting(id);
}

int calls_any(void)
{
	return calls_current != &nobody;
}

int calls_graph_any(void)
{
	return calls_current->nr_graph > 0 || calls_current->returns.nr_bits ||
	       calls_current->profile.nr_bits;
}

void calls_fork(int instances)
{
	struct call_list *l = calls_current;
	uint32_t i;

	function_profile_fork();
	if (instances) {
		l->profile.nr_bits = 0;
		return;
	}
	if (!l->returns.nr_bits) {
		calls_current = &nobody;
		return;
	}
	/* return probes go on, and with them the top instance's graph */
	for (i = 0; i < l->nr_graph && l->graph[i].ring != ring_top; i++)
		;
	if (i && i < l->nr_graph)
		l->graph[0] = l->graph[i];
	l->nr_graph = i < l->nr_graph;
	l->nr_function = 0;
	l->profile.nr_bits = 0;
}
