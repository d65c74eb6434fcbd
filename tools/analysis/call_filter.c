/* SPDX-License-Identifier: MIT */
/* See call_filter.h. */
#include "tools/analysis/call_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/reader/symbols.h"

#define FIRST_SLOTS 1024u
#define EMPTY	    UINT32_MAX

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
		uint8_t matched; /* the function's, at hand */
	} * slots;
	uint32_t nr_slots; /* a power of two */
};

struct call_filter *call_filter_new(struct reader *r, const struct call_wish *wish)
{
	struct call_filter *f = calloc(1, sizeof(*f));

	if (f)
		f->slots = malloc(FIRST_SLOTS * sizeof(*f->slots));
	if (!f || !f->slots) {
		free(f);
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	f->r = r;
	f->wish = wish;
	f->nr_slots = FIRST_SLOTS;
	memset(f->slots, 0xff, FIRST_SLOTS * sizeof(*f->slots));
	return f;
}

void call_filter_free(struct call_filter *f)
{
	if (!f)
		return;
	free(f->functions);
	free(f->slots);
	free(f);
}

static bool matches(const struct symbol *sym, const char *pattern)
{
	size_t n;

	if (!fnmatch(pattern, sym->name, 0) || !fnmatch(pattern, sym->raw, 0))
		return true;
	/* `ns::f` is enough where the name goes on with its parameters */
	n = strlen(pattern);
	return !strncmp(sym->name, pattern, n) && sym->name[n] == '(';
}

bool call_name_matches(struct reader *r, uint64_t ip, const char *pattern)
{
	const struct symbol *sym = symbols_find(r->symbols, ip);

	return sym && matches(sym, pattern);
}

static struct slot *slot_of(const struct call_filter *f, uint64_t ip)
{
	uint64_t h = ip * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(h >> 32) & (f->nr_slots - 1);

	while (f->slots[i].function != EMPTY && f->slots[i].ip != ip)
		i = (i + 1) & (f->nr_slots - 1);
	return &f->slots[i];
}

static int grow(struct call_filter *f)
{
	uint32_t nr_old = f->nr_slots;
	struct slot *old = f->slots;

	f->slots = malloc(2 * (size_t)nr_old * sizeof(*f->slots));
	if (!f->slots) {
		f->slots = old;
		return -ENOMEM;
	}
	f->nr_slots = nr_old * 2;
	memset(f->slots, 0xff, f->nr_slots * sizeof(*f->slots));
	for (uint32_t i = 0; i < nr_old; i++)
		if (old[i].function != EMPTY)
			*slot_of(f, old[i].ip) = old[i];
	free(old);
	return 0;
}

static int add_function(struct call_filter *f, uint64_t ip, uint32_t *function)
{
	const struct symbol *sym = symbols_find(f->r->symbols, ip);
	const struct call_wish *w = f->wish;
	struct call_function fn = {.ip = ip};

	if (f->nr >= f->nr_slots / 2 && grow(f))
		return fail(ENOMEM, "out of memory for %u functions", f->nr);
	if (f->nr == f->room) {
		uint32_t room = f->room ? f->room * 2 : 256;
		struct call_function *more = realloc(f->functions, room * sizeof(*more));

		if (!more)
			return fail(ENOMEM, "out of memory for %u functions", room);
		f->functions = more;
		f->room = room;
	}
	if (sym) {
		fn.name = sym->name;
		fn.module = sym->module;
		for (unsigned int i = 0; i < w->nr_under; i++)
			if (matches(sym, w->under[i]))
				fn.matched |= MATCHED_UNDER;
		for (unsigned int i = 0; i < w->nr_not_under; i++)
			if (matches(sym, w->not_under[i]))
				fn.matched |= MATCHED_NOT_UNDER;
	}
	f->functions[f->nr] = fn;
	*slot_of(f, ip) = (struct slot){.ip = ip, .function = f->nr, .matched = fn.matched};
	*function = f->nr++;
	return 0;
}

int call_filter_number(struct call_filter *f, uint64_t ip, uint32_t *function)
{
	struct slot *slot = slot_of(f, ip);

	if (slot->function == EMPTY)
		return add_function(f, ip, function);
	*function = slot->function;
	return 0;
}

static bool thread_wanted(const struct call_wish *w, int32_t tid)
{
	for (unsigned int i = 0; i < w->nr_tids; i++)
		if (w->tids[i] == tid)
			return true;
	return !w->nr_tids;
}

int call_filter_enter(struct call_filter *f, struct call *call, const struct call *parent,
		      uint32_t *function)
{
	const struct call_wish *w = f->wish;
	const struct slot *slot = slot_of(f, call->ip);
	uint64_t state, level;
	uint8_t matched;
	int ret;

	if (slot->function == EMPTY) {
		ret = add_function(f, call->ip, function);
		if (ret)
			return ret;
		slot = slot_of(f, call->ip);
	}
	*function = slot->function;
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
	    (!w->to || call->start < w->to) && thread_wanted(w, call->pid))
		state |= STATE_SHOWN;
	call->data = state | level << LEVEL_SHIFT;
	return (state & STATE_SHOWN) != 0;
}

bool call_filter_leave(const struct call_filter *f, const struct call *call)
{
	return call->data & STATE_SHOWN && call->end - call->start >= f->wish->min_ns;
}

bool call_filter_unmatched(const struct call_filter *f, const struct record *rec)
{
	const struct call_wish *w = f->wish;

	return !w->nr_under && !w->min_ns && rec->ts >= w->from && (!w->to || rec->ts < w->to) &&
	       thread_wanted(w, rec->pid);
}

const struct call_function *call_filter_function(const struct call_filter *f, uint32_t i)
{
	return &f->functions[i];
}

uint32_t call_filter_nr(const struct call_filter *f)
{
	return f->nr;
}
