/* SPDX-License-Identifier: MIT */
/*
 * The items that the program's objects have for the engine, in sections of their own: tracepoints,
 * their sites in the text, events, names of numbers, tags. The code for one kind of item registers
 * a reader. Under the tree lock.
 */
#ifndef VESTIGE_EVENTS_OBJECT_ITEMS_H
#define VESTIGE_EVENTS_OBJECT_ITEMS_H

#include <stddef.h>

#include "engine/base/registry.h"
#include "engine/process/object.h"
#include "vestige/tracepoint.h"

/* A site of a tag (atrace.h), in section vestige_tags. */
struct atrace_place {
	uint8_t *code; /* as vestige_site's */
	const char *tag;
};

struct branch_site;

/* The items of one object, where they are mapped. */
struct object_items {
	struct object_items *next;
	const struct object *object;
	const struct vestige_site *sites, *sites_end;
	const struct vestige_item *items, *items_end;
	const struct atrace_place *tags, *tags_end;
	const struct branch_site *branches, *branches_end;
};

/* The items of all mapped objects, newest first. */
extern struct object_items *object_items;

/* The order of readers: events need tracepoints, and their formats need the names. */
enum items_level {
	ITEMS_TRACEPOINTS,
	ITEMS_NAMES,
	ITEMS_EVENTS,
	ITEMS_SITES, /* sites of tracepoints that other objects define */
	ITEMS_TAGS,
	ITEMS_BRANCHES,
	ITEMS_PROBES,
	ITEMS_LEVELS
};

/*
 * @come: an object is mapped and relocated. @gone: it is no longer mapped, and nothing of it may be
 * accessed; called in the opposite order. NULL: nothing to do.
 */
struct items_reader {
	uint8_t level;
	void (*come)(const struct object_items *h);
	void (*gone)(const struct object_items *h);
};
REGISTRY(vestige_items_readers, const struct items_reader);
#define ITEMS_READER(level, come, gone)                                                            \
	static const struct items_reader items_reader = {level, come, gone};                       \
	REGISTRY_ADD(vestige_items_readers, items_reader)

/*
 * The next item of that kind behind @item; NULL as @item: the first one. Returns NULL behind the
 * last.
 */
const struct vestige_item *object_items_next(const struct object_items *h,
					     const struct vestige_item *item,
					     enum vestige_item_kind kind);

/*
 * object_items_ready() - read the items of the object that has @address; it is relocated by now.
 * Objects that are loaded at the start are read then. Return: 1; 0: they were read before; -ENOENT:
 * there is no such object.
 */
int object_items_ready(const void *address);

#endif
