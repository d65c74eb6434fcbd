/* SPDX-License-Identifier: MIT */
/*
 * See calls.h. The list with its bits is one mapping, replaced as a whole and never changed: who reads
 * it does so between ring_enter() and ring_leave(), and the old one goes when all of them have come
 * out. A signal handler's call that comes on top of another is recorded as any: each instance's ring
 * nests as the top one's does.
 *
 * fork: the child's list is empty (its sites lead here until its filters change). Costs: bench
 * "instances". Tests: tests/engine/fire/instances.
 */
#include "engine/core/calls.h"

#include <errno.h>

#include "abi/option.h"

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/core/function_profile.h"
#include "engine/core/trace_array.h"
#include "engine/ring/ring_write.h"

static struct call_list nobody;
struct call_list *calls_current = &nobody;

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

uint64_t calls_enter(uint64_t word, uint64_t parent_ip, uint64_t site_end,
		     const struct call_args *args)
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
			record_function(ring_top, id, parent_ip, args, now);
		for (i = 0; i < l->nr_function; i++)
			if (call_wanted(&l->function[i], id))
				record_function(l->function[i].ring, id, parent_ip, args, now);
		ring_leave(inside);
	}
	next &= ~OPS_RECORD;
	return next ? next : site_end;
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

static void add_profile(struct call_list *l, uint64_t *bits, uint32_t n)
{
	uint32_t id;

	for (id = 0; id < n; id++)
		if (function_profile_wants(id))
			bits[id / 64] |= UINT64_C(1) << (id % 64);
	l->profile = (struct call_user){.bits = bits, .nr_bits = n};
}

int calls_update(struct call_list **old)
{
	uint32_t n = function_count(), i, users = 0;
	size_t words = (size_t)n / 64 + 1, bytes;
	struct call_list *l = &nobody;
	struct trace_array *tr;
	int graphs = function_profile_is_on();
	uint64_t *bits;
	long p;

	for (i = 1; (tr = trace_array_at(i)) || i < RING_MAX; i++)
		graphs |= tr && wants_graph(tr);
	for (i = 0; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		users += (uint32_t)(tr && is_listed(tr, graphs));
	}
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

int calls_graph_wanting(uint32_t id)
{
	return wanting(calls_current->graph, calls_current->nr_graph, id) +
	       call_wanted(&calls_current->profile, id);
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
	return calls_current->nr_graph > 0 || calls_current->profile.nr_bits;
}

void calls_fork(void)
{
	calls_current = &nobody;
	function_profile_fork();
}
