/* SPDX-License-Identifier: MIT */
/*
 * The loaded objects of the process (the program, its shared objects), as rows of AREA_OBJECTS and
 * with what only this process needs of them. Constructor context.
 */
#ifndef VESTIGE_CORE_OBJECT_H
#define VESTIGE_CORE_OBJECT_H

#include <link.h>

#include "engine/core/area.h"
#include "engine/core/elf_file.h"

#define OBJECT_MAX 8192

struct object {
	uint32_t index; /* row in AREA_OBJECTS */
	const ElfW(Phdr) * phdr;
	uint32_t nr_phdr;
	const char *path;    /* to open its file; /proc/self/exe for the program */
	const char *name;    /* base name, for :mod: and messages */
	void *hook_data;     /* of the hook that patches it */
	uint32_t nr_callers; /* functions without a site, which call the engine */
	int words_said;	     /* hook/got.c's: what vestige_status has of it */
	int loaded;	     /* not removed by dlclose() */
	int seen;	     /* scratch of objects_update() */
};

/* How many there are, and the i-th in the loader's order; 0 is the program. */
uint32_t object_count(void);
struct object *object_at(uint32_t i);
static inline struct area_object *object_row(const struct object *o)
{
	return area_object(o->index);
}

/* Read the loader's list. Return: 0 or -ENOSPC, -ENOMEM. */
int objects_load(void);

/* In a fork's child, which has an area of its own now: their names are there. */
void objects_fork(void);

/*
 * objects_update() - the loader's list may have changed: add what is new, mark what is gone.
 * @first_new: the index of the first new one; object_count() if there is none.
 * @gone: called for each that is no longer mapped.
 * The loader's notification, under its lock. Return: 0 or -ENOSPC.
 */
int objects_update(uint32_t *first_new, void (*gone)(struct object *o));

#endif
