/* SPDX-License-Identifier: MIT */
/*
 * See tracepoint.h. Objects define tracepoints and their sites (object_items.h).
 *
 * A site is a test of a constant while it is off and a jump while it is on (arch_patch.h). To
 * switch it, only the first byte is stored, whatever runs there (core/text_patch.h). A site with
 * other bytes is left alone and reported in vestige_status.
 *
 * Probe functions are called through an array that never changes: a change makes another array.
 * Arrays are kept and used again when the same probe functions are wanted, because a thread may be
 * reading one; the engine's probe functions are kept for the same reason. Probe functions of the
 * program are called in a section of srcu, so that tracepoint_synchronize_unregister() can wait for
 * them.
 *
 * fork: the child has the same text and the same probes. Costs: bench "events". Tests:
 * tests/engine/events/.
 */
#include "engine/events/tracepoint/tracepoint.h"

#include <elf.h>
#include <errno.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/events/object_items.h"
#include "engine/process/heap.h"
#include "engine/core/text_patch.h"
#include "engine/core/text_probe.h"
#include "engine/core/thread.h"
#include "engine/process/area.h"
#include "engine/events/tracepoint/tracepoint_api.h"

/* Entries up to a NULL func; behind it the link of the list. */
struct funcs {
	struct funcs *next;
	uint32_t nr;
	struct tracepoint_func at[];
};

/* The engine's data of a tracepoint (struct tracepoint's `engine`). */
struct point {
	struct point *next;
	const struct object *object; /* the object that defines it */
	struct funcs *arrays;	     /* all that were made */
	uint32_t nr;		     /* probe functions now, sorted by priority, then by time */
	uint32_t nr_program;	     /* of them, those in the program */
	struct point_probe {
		struct tracepoint_func f;
		int prio;
		enum probe_whose whose;
		struct tracepoint_func *solo;
	} * probes;
};

static struct point *points; /* all tracepoints that objects define */

static int say(struct tracepoint *tp, const char *what, int err)
{
	area_status(what, tp->name, err);
	return err;
}

/* Switch each site of @tp in one object on or off. */
static int switch_sites(const struct object_items *h, struct tracepoint *tp, int on, int *changed)
{
	const struct vestige_site *site;
	int err;

	for (site = h->sites; site < h->sites_end; site++) {
		err = site->tp == tp ? text_switch_branch(site->code, on, changed) : 0;
		if (err == -EBUSY)
			say(tp, "a site of a tracepoint is not as the compiler left it", err);
		else if (err)
			return err;
	}
	return 0;
}

/* Whether the bytes belong to a site, which changes: no text probe may be there. */
static int claims(uint64_t lo, uint64_t hi)
{
	const struct vestige_site *site;
	const struct object_items *h;

	for (h = object_items; h; h = h->next)
		for (site = h->sites; site < h->sites_end; site++)
			if ((uint64_t)site->code < hi &&
			    (uint64_t)site->code + ARCH_JUMP_BYTES > lo)
				return 1;
	return 0;
}

static int switch_all(struct tracepoint *tp, int on)
{
	const struct object_items *h;
	int err = 0, changed = 0;

	for (h = object_items; h && !err; h = h->next)
		err = switch_sites(h, tp, on, &changed);
	if (changed && text_sync() && !err)
		err = -ENOTSUP;
	return err ? say(tp, "the sites of a tracepoint cannot be switched", err) : 0;
}

static int same_probes(const struct funcs *a, const struct point *p)
{
	uint32_t i;

	if (a->nr != p->nr)
		return 0;
	for (i = 0; i < p->nr; i++)
		if (a->at[i].func != p->probes[i].f.func || a->at[i].data != p->probes[i].f.data)
			return 0;
	return 1;
}

/* An array of the current probe functions; NULL: no memory. */
static const struct tracepoint_func *array_of(struct point *p)
{
	struct funcs *a;
	uint32_t i;

	if (p->nr == 1 && p->probes[0].solo) {
		p->probes[0].solo[0] = p->probes[0].f;
		return p->probes[0].solo;
	}
	for (a = p->arrays; a; a = a->next)
		if (same_probes(a, p))
			return a->at;
	a = heap_alloc(sizeof(*a) + (p->nr + 1) * sizeof(a->at[0]));
	if (!a)
		return NULL;
	a->nr = p->nr;
	for (i = 0; i < p->nr; i++)
		a->at[i] = p->probes[i].f;
	a->next = p->arrays;
	p->arrays = a;
	return a->at;
}

static int publish(struct tracepoint *tp, struct point *p)
{
	const struct tracepoint_func *funcs = p->nr ? array_of(p) : NULL;

	if (p->nr && !funcs)
		return -ENOMEM;
	if (p->nr_program)
		__atomic_store_n(&tp->guarded, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&tp->funcs, funcs, __ATOMIC_RELEASE);
	return 0;
}

static void free_point(struct point *p)
{
	struct funcs *a, *next;

	for (a = p->arrays; a; a = next) {
		next = a->next;
		heap_free(a);
	}
	heap_free(p->probes);
	heap_free(p);
}

static int grow(struct point *p)
{
	struct point_probe *more = heap_alloc((p->nr + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	memcpy(more, p->probes, p->nr * sizeof(*more));
	heap_free(p->probes);
	p->probes = more;
	return 0;
}

static void take_out(struct point *p, uint32_t i)
{
	p->nr--;
	memmove(&p->probes[i], &p->probes[i + 1], (p->nr - i) * sizeof(p->probes[0]));
}

/* The agent calls no code of a program that has ThreadSanitizer: see core/thread.h. */
static int may_call(const struct tracepoint *tp)
{
	if (sys_rights != SYS_OURS || !thread_has_sanitizer())
		return 1;
	area_status("with ThreadSanitizer, regfunc() and unregfunc() are not called from outside",
		    tp->name, -EOPNOTSUPP);
	return 0;
}

int tracepoint_probe_add(struct tracepoint *tp, void *func, void *data, int prio,
			 enum probe_whose whose, struct tracepoint_func *solo)
{
	struct point *p;
	uint32_t i;
	int err;

	p = tp->engine;
	if (!p)
		return -ENODEV;
	for (i = 0; i < p->nr; i++)
		if (p->probes[i].f.func == func && p->probes[i].f.data == data)
			return -EEXIST;
	err = grow(p);
	if (err)
		return err;
	if (!p->nr && tp->regfunc) {
		if (!may_call(tp))
			return -EOPNOTSUPP;
		err = tp->regfunc();
		if (err < 0)
			return err;
	}
	for (i = 0; i < p->nr && p->probes[i].prio >= prio; i++)
		;
	memmove(&p->probes[i + 1], &p->probes[i], (p->nr - i) * sizeof(p->probes[0]));
	p->probes[i] = (struct point_probe){{func, data}, prio, whose, solo};
	p->nr++;
	p->nr_program += whose == PROBE_PROGRAM;
	err = publish(tp, p);
	if (!err && p->nr == 1)
		err = switch_all(tp, 1);
	if (!err)
		return 0;
	take_out(p, i);
	p->nr_program -= whose == PROBE_PROGRAM;
	publish(tp, p);
	if (!p->nr && tp->unregfunc && may_call(tp))
		tp->unregfunc();
	return err;
}

int tracepoint_probe_remove(struct tracepoint *tp, void *func, void *data)
{
	struct point *p = tp->engine;
	uint32_t i;

	for (i = 0; p && i < p->nr; i++)
		if (p->probes[i].f.func == func && p->probes[i].f.data == data)
			break;
	if (!p || i == p->nr)
		return -ENOENT;
	p->nr_program -= p->probes[i].whose == PROBE_PROGRAM;
	take_out(p, i);
	/* switch the sites first: until the array is replaced, no site calls it */
	if (!p->nr) {
		switch_all(tp, 0);
		if (tp->unregfunc && may_call(tp))
			tp->unregfunc();
	}
	return publish(tp, p);
}

static void see_tracepoint(const struct object_items *h, struct tracepoint *tp)
{
	struct point *p;

	if (tp->bytes < sizeof(*tp)) {
		area_status("a tracepoint is of an older header", tp->name, 0);
		return;
	}
	/* the loader may have resolved this object's tracepoint to another object's */
	if (tp->engine)
		return;
	p = heap_alloc(sizeof(*p));
	if (!p)
		return;
	p->object = h->object;
	p->next = points;
	points = p;
	tp->engine = p;
	tp->api = &tracepoint_api;
}

static void see_tracepoints(const struct object_items *h)
{
	const struct vestige_item *item = NULL;

	while ((item = object_items_next(h, item, VESTIGE_ITEM_TRACEPOINT)))
		see_tracepoint(h, (struct tracepoint *)item->at);
}

/* The object is no longer mapped: nothing of it may be accessed. */
static void forget(const struct object_items *h)
{
	struct point **at = &points, *p;

	while ((p = *at)) {
		if (p->object != h->object) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		free_point(p);
	}
}

int tracepoint_each(const char *name, int (*callback)(struct tracepoint *tp, void *arg), void *arg)
{
	const struct vestige_item *item;
	const struct object_items *h;
	int err = 0;

	for (h = object_items; h && !err; h = h->next) {
		item = NULL;
		while (!err && (item = object_items_next(h, item, VESTIGE_ITEM_TRACEPOINT))) {
			struct tracepoint *tp = (struct tracepoint *)item->at;

			if (tp->engine && str_equal(tp->name, name))
				err = callback(tp, arg);
		}
	}
	return err;
}

/*
 * An object has sites of tracepoints that other objects define: switch them as the tracepoint is.
 */
static void join_sites(const struct object_items *h)
{
	const struct vestige_site *site;
	int changed = 0;

	for (site = h->sites; site < h->sites_end; site++) {
		const struct point *p = site->tp ? site->tp->engine : NULL;

		if (p && p->nr)
			switch_sites(h, site->tp, 1, &changed);
	}
	if (changed)
		text_sync();
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	text_probe_claim(claims);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
ITEMS_READER(ITEMS_TRACEPOINTS, see_tracepoints, forget);

static const struct items_reader sites_reader = {ITEMS_SITES, join_sites, NULL};
REGISTRY_ADD(vestige_items_readers, sites_reader);
