/* SPDX-License-Identifier: MIT */
/*
 * The state of call_filter.c, for loops that judge each call. call_tree.c alone includes it.
 */
#ifndef VESTIGE_TOOLS_CALL_FILTER_IMPL_H
#define VESTIGE_TOOLS_CALL_FILTER_IMPL_H

#include "tools/analysis/call_filter.h"
#include "tools/base/hash.h"

#define CALL_FILTER_EMPTY UINT32_MAX

enum matched { MATCHED_UNDER = 1, MATCHED_NOT_UNDER = 2 };

/* The upper half of struct call's data: bits 32 to 35 and the level above them. */
#define STATE_SHOWN CALL_FILTER_SHOWN
#define STATE_UNDER (UINT64_C(1) << 33)
#define STATE_NOT   (UINT64_C(1) << 34)
#define LEVEL_SHIFT 36
#define LEVEL_MAX   ((1u << (64 - LEVEL_SHIFT)) - 1)

struct call_filter {
	struct reader *r;
	const struct call_wish *wish;
	struct call_function *functions;
	uint32_t nr, room;
	struct slot {
		uint64_t ip;
		uint32_t function;
		uint8_t matched; /* copy of the function's `matched` */
	} * slots;
	uint32_t nr_slots; /* a power of two */
	bool all;	   /* only min_ns may be set: call_filter_all() */
};

/* Are all calls shown, except those that are too short? */
static inline bool call_filter_all(const struct call_wish *w)
{
	return !w->nr_under && !w->nr_not_under && !w->max_depth && !w->from && !w->to &&
	       !w->nr_tids;
}

static inline struct slot *call_filter_slot(const struct call_filter *f, uint64_t ip)
{
	uint64_t h = hash_u64(ip);
	uint32_t i = (uint32_t)(h >> 32) & (f->nr_slots - 1);

	while (f->slots[i].function != CALL_FILTER_EMPTY && f->slots[i].ip != ip)
		i = (i + 1) & (f->nr_slots - 1);
	return &f->slots[i];
}

/* In call_filter.c: add a new function. Return: 0 or -ENOMEM with fail() set. */
int call_filter_add(struct call_filter *f, uint64_t ip, uint32_t *function);

static inline bool call_filter_thread(const struct call_wish *w, int32_t tid)
{
	for (unsigned int i = 0; i < w->nr_tids; i++)
		if (w->tids[i] == tid)
			return true;
	return !w->nr_tids;
}

/* call_filter_judge() for a filter with `all`. */
static inline void call_filter_pass(struct call *call, const struct call *parent)
{
	uint64_t level = parent ? (parent->data >> LEVEL_SHIFT) + 1 : call->depth;

	call->data = STATE_SHOWN | (level < LEVEL_MAX ? level : LEVEL_MAX) << LEVEL_SHIFT;
}

/* The body of call_filter_enter(). */
static inline __attribute__((always_inline)) int call_filter_judge(struct call_filter *f,
								   struct call *call,
								   const struct call *parent,
								   uint32_t *function)
{
	const struct call_wish *w = f->wish;
	const struct slot *slot = call_filter_slot(f, call->ip);
	uint64_t state, level;
	uint8_t matched;
	int ret;

	if (slot->function == CALL_FILTER_EMPTY) {
		ret = call_filter_add(f, call->ip, function);
		if (ret)
			return ret;
		slot = call_filter_slot(f, call->ip);
	}
	*function = slot->function;
	if (f->all) {
		call_filter_pass(call, parent);
		return 1;
	}
	matched = slot->matched;
	if (parent) {
		state = parent->data & (STATE_UNDER | STATE_NOT);
		level = (parent->data >> LEVEL_SHIFT) + (state & STATE_UNDER || !w->nr_under);
	} else {
		state = 0;
		level = w->nr_under ? 0 : call->depth;
	}
	if (matched & MATCHED_UNDER && !(state & STATE_UNDER)) {
		state |= STATE_UNDER;
		level = 0;
	}
	if (matched & MATCHED_NOT_UNDER)
		state |= STATE_NOT;
	if (level > LEVEL_MAX)
		level = LEVEL_MAX;
	if ((!w->nr_under || state & STATE_UNDER) && !(state & STATE_NOT) &&
	    (!w->max_depth || level < w->max_depth) && call->start >= w->from &&
	    (!w->to || call->start < w->to) && call_filter_thread(w, call->pid))
		state |= STATE_SHOWN;
	call->data = state | level << LEVEL_SHIFT;
	return (state & STATE_SHOWN) != 0;
}

/* The body of call_filter_leave(). */
static inline bool call_filter_long(const struct call_filter *f, const struct call *call)
{
	return call->data & STATE_SHOWN && call->end - call->start >= f->wish->min_ns;
}

#endif
