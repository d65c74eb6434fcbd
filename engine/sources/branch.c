/* SPDX-License-Identifier: MIT */
/*
 * See branch.h. A branch site is a static branch: while it is off, it is one instruction that does
 * nothing. The counts are in the program's struct, so a site that the compiler copied (into inlined
 * calls) has one row, and dlclose() removes the counts with the object. Counts are atomic; they
 * grow while the source is on, and nothing resets them. Any context. fork: the child goes on with
 * its parent's counts. Costs: bench "branch". Tests: tests/engine/tracers/branch.
 */
#include "engine/sources/branch.h"

#include <errno.h>

#include "engine/base/sort.h"
#include "engine/core/text_patch.h"
#include "engine/process/heap.h"

static struct holder {
	struct holder *next;
	const struct object *object;
	const struct branch_site *sites, *end;
} * holders;

static int is_on;

/* Whether the site's data is in the site's own object. Others are left alone. */
static int is_own(const struct holder *h, const struct branch_site *s)
{
	const struct area_object *row = object_row(h->object);
	uint64_t code = (uint64_t)s->code, data = (uint64_t)s->branch;

	return code >= row->lo && code < row->hi && data >= row->lo && data < row->hi &&
	       row->hi - data >= sizeof(*s->branch);
}

static void switch_sites(const struct holder *h, int *changed)
{
	const struct branch_site *s;
	int err = 0, one;

	for (s = h->sites; s < h->end; s++) {
		one = is_own(h, s) ? text_switch_branch(s->code, is_on, changed) : 0;
		if (one)
			err = one;
	}
	if (err)
		area_status("places of likely() and unlikely() cannot be switched", h->object->name,
			    err);
}

static int want(struct source *s, int on)
{
	const struct holder *h;
	int changed = 0;

	(void)s;
	is_on = on;
	for (h = holders; h; h = h->next)
		switch_sites(h, &changed);
	return changed && text_sync() ? -ENOTSUP : 0;
}

struct source branch_hits = {.want = want};

void branch_ran(struct vestige_branch *b, int value, int constant)
{
	int right;

	if (b->kind == VESTIGE_BRANCH_IF) {
		__atomic_fetch_add(value ? &b->incorrect : &b->correct, 1, __ATOMIC_RELAXED);
		return;
	}
	/* as in the kernel: a condition that is constant for the compiler counts as expected */
	right = constant || value == b->expected;
	if (constant)
		__atomic_fetch_add(&b->constant, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(right ? &b->correct : &b->incorrect, 1, __ATOMIC_RELAXED);
	SOURCE_NOTIFY(struct branch_listener, source_heard(&branch_hits), b, right, constant);
}

void branch_sites_add(const struct object *o, const struct branch_site *sites,
		      const struct branch_site *end)
{
	struct holder *h = heap_alloc(sizeof(*h));
	int changed = 0;

	if (!h)
		return;
	*h = (struct holder){.next = holders, .object = o, .sites = sites, .end = end};
	holders = h;
	if (is_on)
		switch_sites(h, &changed);
	if (changed)
		text_sync();
}

void branch_sites_forget(const struct object *o)
{
	struct holder **at = &holders, *h;

	while ((h = *at)) {
		if (h->object != o) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		heap_free(h);
	}
}

static int address_before(const void *a, const void *b)
{
	return *(struct vestige_branch *const *)a < *(struct vestige_branch *const *)b;
}

uint32_t branch_list(enum vestige_branch_kind kind, struct vestige_branch **to, uint32_t room)
{
	const struct branch_site *s;
	const struct holder *h;
	uint32_t nr = 0, i, n;

	for (h = holders; h; h = h->next)
		for (s = h->sites; s < h->end; s++) {
			/* in C++ a site that never ran has no name yet */
			if (!is_own(h, s) ||
			    __atomic_load_n(&s->branch->bytes, __ATOMIC_ACQUIRE) <
				    sizeof(*s->branch) ||
			    s->branch->kind != kind)
				continue;
			if (to && nr < room)
				to[nr] = s->branch;
			nr++;
		}
	if (!to)
		return nr;
	nr = nr < room ? nr : room;
	sort(to, nr, sizeof(*to), address_before);
	for (i = n = 0; i < nr; i++)
		if (!i || to[i] != to[i - 1])
			to[n++] = to[i];
	return n;
}
