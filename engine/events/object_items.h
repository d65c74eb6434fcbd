/* SPDX-License-Identifier: MIT */
/*
 * The items that the program's objects have for the engine in sections of their own: tracepoints,
 * their places in the text, events, names of numbers, tags. The code for one kind of item registers
 * a reader. Under the tree's lock.
 */
#ifndef VESTIGE_EVENTS_OBJECT_ITEMS_H
#define VESTIGE_EVENTS_OBJECT_ITEMS_H

#include <stddef.h>

#include "engine/base/registry.h"
#include "engine/process/object.h"
#include "vestige/tracepoint.h"

/* A place of a tag (atrace.h), in section vestige_tags. */
struct atrace_place {
	uint8_t *code; /* as vestige_site's */
	const char *tag;
};

struct branch_site;

/* Of one object, where it is mapped. */
struct object_items {
	struct object_items *next;
	const struct object *object;
	const struct vestige_site *sites, *sites_end;
	const struct vestige_item *items, *items_end;
	const struct atrace_place *tags, *tags_end;
	const struct branch_site *branches, *branches_end;
};

/* Of all objects that are mapped, the newest first. */
extern struct object_items *object_items;

/* The turn of a reader: events hang on tracepoints, and their formats need the names. */
enum items_level {
	ITEMS_TRACEPOINTS,
	ITEMS_NAMES,
	ITEMS_EVENTS,
	ITEMS_SITES, /* places of what other objects have defined */
	ITEMS_TAGS,
	ITEMS_BRANCHES,
	ITEMS_PROBES,
	ITEMS_LEVELS
};

/* @come: an object is there and relocated. @gone: it is not mapped any more, nothing of it may be
 * touched; in the other order. NULL: nothing to do. */
struct items_reader {
	uint8_t level;
	void (*come)(const struct object_items *h);
	void (*gone)(const struct object_items *h);
};
REGISTRY(vestige_items_readers, const struct items_reader);
#define ITEMS_READER(level, come, gone)                                                            \
	static const struct items_reader items_reader = {level, come, gone};                       \
	REGISTRY_ADD(vestige_items_readers, items_reader)

/* The item of that kind behind @item; NULL: the first one, or there is no more. */
const struct vestige_item *object_items_next(const struct object_items *h,
					     const struct vestige_item *item,
					     enum vestige_item_kind kind);

/*
 * object_items_ready() - the object with @address in it is relocated by now: read its items.
 * Objects that are there at start are read then. Return: 1; 0: it was known; -ENOENT: there is no
 * such object.
 */
int object_items_ready(const void *address);

#endif
