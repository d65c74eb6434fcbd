/* SPDX-License-Identifier: MIT */
/*
 * See tracepoint.h. An object tells its tracepoints by two notes of owner "vestige" (tracepoint.h of
 * the program): type 2 names the array of places in its text, type 3 that of what it defines. They
 * are read where they are mapped, so that no section headers are needed.
 *
 * What dlopen() brings is announced by the loader before it is relocated: its arrays hold no addresses
 * yet. Its own constructor, the first one, tells when they do (guard.c's object_ready).
 *
 * A place is `test $imm32, %eax` when it is off and `jmp` to the same when it is on: the first byte
 * is stored, whatever runs there (core/text_patch.h). What is not one of the two is left alone and
 * said in vestige_status.
 *
 * Probes are called through an array that never changes: a change makes another one. Arrays are kept,
 * and used again when the same probes are wanted, because a thread may be going through one; so is
 * each of our probes. Probes of the program's own are called between two counts (guard.h), so that
 * tracepoint_synchronize_unregister() can wait for them.
 *
 * Type 5 names the places of tags (atrace.h), which are found and switched in the same way.
 *
 * fork: the child has the same text and the same probes. Costs: bench "events". Tests:
 * tests/engine/events/.
 */
#include "engine/events/tracepoint.h"

#include <elf.h>
#include <errno.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/heap.h"
#include "engine/core/object_note.h"
#include "engine/core/text_patch.h"
#include "engine/events/atrace.h"
#include "engine/core/text_probe.h"
#include "engine/events/eval.h"
#include "engine/events/guard.h"
#include "engine/events/static_event.h"
#include "engine/events/tprobe.h"

#define NOTE_SITES 2u
#define NOTE_ITEMS 3u
#define NOTE_TAGS  5u

/* Ended by a NULL func; behind it the list. */
struct funcs {
	struct funcs *next;
	uint32_t nr;
	struct tracepoint_func at[];
};

/* What struct tracepoint's `engine` is. */
struct point {
	struct point *next;   /* of the same object */
	struct funcs *arrays; /* all that were made */
	uint32_t nr;	      /* probes now, by priority, then as they came */
	uint32_t nr_program;  /* of them, of the program's own */
	struct point_probe {
		struct tracepoint_func f;
		int prio;
		enum probe_whose whose;
		struct tracepoint_func *solo;
	} * probes;
};

/* What an object has, where it is mapped. */
static struct holder {
	struct holder *next;
	const struct object *object;
	const struct vestige_site *sites, *sites_end;
	const struct vestige_item *items, *items_end;
	const struct atrace_place *tags, *tags_end;
	struct point *points; /* of the tracepoints that it defines */
} * holders;

static int say(struct tracepoint *tp, const char *what, int err)
{
	area_status(what, tp->name, err);
	return err;
}

int tracepoint_switch_place(uint8_t *code, int on, int *changed)
{
	uint64_t lo = (uint64_t)code & ~UINT64_C(4095);
	uint64_t hi = ((uint64_t)code + ARCH_JUMP_BYTES + 4095) & ~UINT64_C(4095);
	int err;

	if (arch_branch_is(code, on))
		return 0;
	if (!arch_branch_is(code, !on))
		return -EBUSY;
	err = text_open(lo, hi);
	if (err)
		return err;
	arch_branch_set(code, on);
	text_close(lo, hi);
	*changed = 1;
	return 0;
}

/* Each place of @tp in one object: on or off. */
static int switch_sites(const struct holder *h, struct tracepoint *tp, int on, int *changed)
{
	const struct vestige_site *site;
	int err;

	for (site = h->sites; site < h->sites_end; site++) {
		err = site->tp == tp ? tracepoint_switch_place(site->code, on, changed) : 0;
		if (err == -EBUSY)
			say(tp, "a place of a tracepoint is not as the compiler left it", err);
		else if (err)
			return err;
	}
	return 0;
}

/* Bytes that are switched on and off: no probe may rely on them. */
static int claims(uint64_t lo, uint64_t hi)
{
	const struct vestige_site *site;
	const struct holder *h;

	for (h = holders; h; h = h->next)
		for (site = h->sites; site < h->sites_end; site++)
			if ((uint64_t)site->code < hi &&
			    (uint64_t)site->code + ARCH_JUMP_BYTES > lo)
				return 1;
	return 0;
}

static int switch_all(struct tracepoint *tp, int on)
{
	const struct holder *h;
	int err = 0, changed = 0;

	for (h = holders; h && !err; h = h->next)
		err = switch_sites(h, tp, on, &changed);
	if (changed && text_sync() && !err)
		err = -ENOTSUP;
	return err ? say(tp, "the places of a tracepoint cannot be switched", err) : 0;
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

/* An array of the probes as they are now; NULL: no memory. */
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
	if (!p->nr && tp->unregfunc)
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
	/* the places first: less than nothing is called meanwhile */
	if (!p->nr) {
		switch_all(tp, 0);
		if (tp->unregfunc)
			tp->unregfunc();
	}
	return publish(tp, p);
}

static void read_note(void *arg, uint32_t type, const void *lo, const void *hi)
{
	struct holder *h = arg;

	if (type != NOTE_SITES && type != NOTE_ITEMS && type != NOTE_TAGS)
		return;
	if (!object_note_fits(h->object, lo, hi)) {
		area_status("its notes of tracepoints lead out of it", h->object->name, 0);
		return;
	}
	if (type == NOTE_SITES) {
		h->sites = lo;
		h->sites_end =
			h->sites + ((const uint8_t *)hi - (const uint8_t *)lo) / sizeof(*h->sites);
	} else if (type == NOTE_ITEMS) {
		h->items = lo;
		h->items_end =
			h->items + ((const uint8_t *)hi - (const uint8_t *)lo) / sizeof(*h->items);
	} else if (type == NOTE_TAGS) {
		h->tags = lo;
		h->tags_end =
			h->tags + ((const uint8_t *)hi - (const uint8_t *)lo) / sizeof(*h->tags);
	}
}

static void see_tracepoint(struct holder *h, struct tracepoint *tp)
{
	struct point *p;

	if (tp->bytes < sizeof(*tp)) {
		area_status("a tracepoint is of an older header", tp->name, 0);
		return;
	}
	/* the loader may have taken another object's for this one's */
	if (tp->engine)
		return;
	p = heap_alloc(sizeof(*p));
	if (!p)
		return;
	p->next = h->points;
	h->points = p;
	tp->engine = p;
	tp->api = &tracepoint_api;
}

/* Tracepoints first: events hang on them. Names for formats before the formats are made. */
static void see_items(struct holder *h, enum vestige_item_kind kind)
{
	const struct vestige_item *item;

	for (item = h->items; item < h->items_end; item++) {
		if (item->kind != (uint32_t)kind || item->bytes != sizeof(*item))
			continue;
		if (kind == VESTIGE_ITEM_TRACEPOINT)
			see_tracepoint(h, (struct tracepoint *)item->at);
		else if (kind == VESTIGE_ITEM_EVAL)
			eval_add(item->at);
		else
			static_event_add((struct vestige_event *)item->at, h->object);
	}
}

int tracepoint_each(const char *name, int (*callback)(struct tracepoint *tp, void *arg), void *arg)
{
	const struct vestige_item *item;
	const struct holder *h;
	int err = 0;

	for (h = holders; h && !err; h = h->next) {
		for (item = h->items; item < h->items_end && !err; item++) {
			struct tracepoint *tp = (struct tracepoint *)item->at;

			if (item->kind == VESTIGE_ITEM_TRACEPOINT && item->bytes == sizeof(*item) &&
			    tp->engine && str_equal(tp->name, name))
				err = callback(tp, arg);
		}
	}
	return err;
}

/* The places of what other objects have defined, and which is on, join. */
static void join_sites(const struct holder *h)
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

static void scan(struct object *o)
{
	struct holder found = {.object = o}, *h;

	object_each_note(o, read_note, &found);
	if (!found.sites && !found.items && !found.tags)
		return;
	h = heap_alloc(sizeof(*h));
	if (!h)
		return;
	*h = found;
	h->next = holders;
	holders = h;
	see_items(h, VESTIGE_ITEM_TRACEPOINT);
	see_items(h, VESTIGE_ITEM_EVAL);
	see_items(h, VESTIGE_ITEM_EVENT);
	join_sites(h);
	if (h->tags < h->tags_end)
		atrace_add(o, h->tags, h->tags_end);
	tprobes_follow();
}

/* Nothing of the object may be touched any more: it is not mapped. */
static void forget(struct holder *h)
{
	struct point *p, *next;

	static_events_forget(h->object);
	atrace_forget(h->object);
	for (p = h->points; p; p = next) {
		next = p->next;
		free_point(p);
	}
	heap_free(h);
}

static struct holder *holder_of(const struct object *o)
{
	struct holder *h;

	for (h = holders; h && h->object != o; h = h->next)
		;
	return h;
}

void tracepoints_start(void)
{
	uint32_t i;

	text_probe_claim(claims);
	for (i = 0; i < object_count(); i++)
		scan(object_at(i));
}

int tracepoints_ready(const void *address)
{
	uint64_t at = (uint64_t)address;
	uint32_t i;

	for (i = object_count(); i--;) {
		struct object *o = object_at(i);

		if (!o->loaded || at < object_row(o)->lo || at >= object_row(o)->hi)
			continue;
		if (holder_of(o))
			return 0;
		scan(o);
		return 1;
	}
	return -ENOENT;
}

void tracepoints_forget(void)
{
	struct holder **at = &holders, *h;

	while ((h = *at)) {
		if (h->object->loaded) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		forget(h);
	}
}
