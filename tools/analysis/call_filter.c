/* SPDX-License-Identifier: MIT */
/* See call_filter.h. */
#include "tools/analysis/call_filter_impl.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/name_pattern.h"
#include "tools/code/symbols.h"

#define FIRST_SLOTS 1024u

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
	struct name_pattern p;
	bool found;

	if (!fnmatch(pattern, sym->name, 0) || !fnmatch(pattern, sym->raw, 0))
		return true;
	if (sym->raw[0] != '_' || (sym->raw[1] != 'Z' && sym->raw[1] != 'R') ||
	    !name_pattern_init(&p, pattern, strlen(pattern)))
		return false;
	found = name_pattern_source(&p, sym->raw) != NAME_NO;
	name_pattern_free(&p);
	return found;
}

bool call_name_matches(struct reader *r, uint64_t ip, const char *pattern)
{
	const struct symbol *sym = symbols_find(r->symbols, ip);

	return sym && matches(sym, pattern);
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
		if (old[i].function != CALL_FILTER_EMPTY)
			*call_filter_slot(f, old[i].ip) = old[i];
	free(old);
	return 0;
}

int call_filter_add(struct call_filter *f, uint64_t ip, uint32_t *function)
{
	const struct symbol *sym = f->r->symbols ? symbols_find(f->r->symbols, ip) : NULL;
	const struct call_wish *w = f->wish;
	struct call_function fn = {.ip = ip};

	if (f->nr >= f->nr_slots / 2 && grow(f))
		return fail(ENOMEM, "out of memory for %u functions", f->nr);
	if (ARRAY_ROOM(f->functions, f->nr, f->room, 256))
		return fail(ENOMEM, "out of memory for %u functions", f->nr);
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
	f->all = call_filter_all(w);
	f->functions[f->nr] = fn;
	*call_filter_slot(f, ip) =
		(struct slot){.ip = ip, .function = f->nr, .matched = fn.matched};
	*function = f->nr++;
	return 0;
}

int call_filter_number(struct call_filter *f, uint64_t ip, uint32_t *function)
{
	struct slot *slot = call_filter_slot(f, ip);

	if (slot->function == CALL_FILTER_EMPTY)
		return call_filter_add(f, ip, function);
	*function = slot->function;
	return 0;
}

int call_filter_enter(struct call_filter *f, struct call *call, const struct call *parent,
		      uint32_t *function)
{
	return call_filter_judge(f, call, parent, function);
}

bool call_filter_leave(const struct call_filter *f, const struct call *call)
{
	return call_filter_long(f, call);
}

bool call_filter_record(const struct call_filter *f, const struct record *rec)
{
	const struct call_wish *w = f->wish;

	return rec->ts >= w->from && (!w->to || rec->ts < w->to) && call_filter_thread(w, rec->pid);
}

bool call_filter_unmatched(const struct call_filter *f, const struct record *rec)
{
	return !f->wish->nr_under && !f->wish->min_ns && call_filter_record(f, rec);
}

const struct call_function *call_filter_function(const struct call_filter *f, uint32_t i)
{
	return &f->functions[i];
}

uint32_t call_filter_nr(const struct call_filter *f)
{
	return f->nr;
}
