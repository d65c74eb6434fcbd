/* SPDX-License-Identifier: MIT */
/*
 * See object_items.h. An object has notes of owner "vestige" (the program's tracepoint.h makes
 * them). Each note has the address of an array: type 2: tracepoint sites; type 3: definitions; type
 * 5: sites of tags; type 6: sites of likely() and unlikely(). The arrays are read where they are
 * mapped, so no section headers are needed.
 *
 * When the loader announces an object that dlopen() loads, it has not relocated the object: its
 * arrays have no addresses yet. The object's first constructor, which tracepoint.h adds, reports
 * when they have them (tracepoint_api.c's object_ready).
 *
 * fork: the child has the same. Tests: tests/engine/events/static, atrace.
 */
#include "engine/events/object_items.h"

#include <errno.h>

#include "engine/base/lifecycle.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/object_note.h"
#include "engine/sources/branch.h"

#define NOTE_SITES    2u
#define NOTE_ITEMS    3u
#define NOTE_TAGS     5u
#define NOTE_BRANCHES 6u

/* Take an array of the object: whole elements from @lo on. */
#define TAKE(h, member, lo, hi)                                                                    \
	((h)->member = (lo),                                                                       \
	 (h)->member##_end = (h)->member + ((const uint8_t *)(hi) - (const uint8_t *)(lo)) /       \
						   (ptrdiff_t)sizeof(*(h)->member))

struct object_items *object_items;

static void read_note(void *arg, uint32_t type, const void *lo, const void *hi)
{
	struct object_items *h = arg;

	if (type != NOTE_SITES && type != NOTE_ITEMS && type != NOTE_TAGS && type != NOTE_BRANCHES)
		return;
	if (!object_note_fits(h->object, lo, hi)) {
		area_status("its notes of tracepoints lead out of it", h->object->name, 0);
		return;
	}
	if (type == NOTE_SITES)
		TAKE(h, sites, lo, hi);
	else if (type == NOTE_ITEMS)
		TAKE(h, items, lo, hi);
	else if (type == NOTE_TAGS)
		TAKE(h, tags, lo, hi);
	else
		TAKE(h, branches, lo, hi);
}

const struct vestige_item *object_items_next(const struct object_items *h,
					     const struct vestige_item *item,
					     enum vestige_item_kind kind)
{
	for (item = item ? item + 1 : h->items; item < h->items_end; item++)
		if (item->kind == (uint32_t)kind && item->bytes == sizeof(*item))
			return item;
	return NULL;
}

static void scan(struct object *o)
{
	struct object_items found = {.object = o}, *h;
	const struct items_reader *const *r;
	uint32_t level;

	object_each_note(o, read_note, &found);
	if (!found.sites && !found.items && !found.tags && !found.branches)
		return;
	h = heap_alloc(sizeof(*h));
	if (!h)
		return;
	*h = found;
	h->next = object_items;
	object_items = h;
	for (level = 0; level < ITEMS_LEVELS; level++)
		REGISTRY_EACH (vestige_items_readers, r)
			if ((*r)->level == level && (*r)->come)
				(*r)->come(h);
}

static void forget(struct object_items *h)
{
	const struct items_reader *const *r;
	uint32_t level;

	for (level = ITEMS_LEVELS; level--;)
		REGISTRY_EACH (vestige_items_readers, r)
			if ((*r)->level == level && (*r)->gone)
				(*r)->gone(h);
	heap_free(h);
}

static int is_known(const struct object *o)
{
	const struct object_items *h;

	for (h = object_items; h && h->object != o; h = h->next)
		;
	return h != NULL;
}

int object_items_ready(const void *address)
{
	uint64_t at = (uint64_t)address;
	uint32_t i;

	for (i = object_count(); i--;) {
		struct object *o = object_at(i);

		if (!o->loaded || at < object_row(o)->lo || at >= object_row(o)->hi)
			continue;
		if (is_known(o))
			return 0;
		scan(o);
		return 1;
	}
	return -ENOENT;
}

/* Objects may have been unloaded: forget those. */
static void follow(void)
{
	struct object_items **at = &object_items, *h;

	while ((h = *at)) {
		if (h->object->loaded) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		forget(h);
	}
}

static void start(const struct lifecycle_start *how)
{
	uint32_t i;

	(void)how;
	for (i = 0; i < object_count(); i++)
		scan(object_at(i));
}

LIFECYCLE(LIFECYCLE_PROGRAM, start, NULL, NULL);
OBJECT_FOLLOWER(OBJECT_FOLLOW_ITEMS, follow);
