/* SPDX-License-Identifier: MIT */
/*
 * The loaded objects of the process (the program, its shared objects), as rows of AREA_OBJECTS and
 * with data that only this process needs. Constructor context.
 */
#ifndef VESTIGE_PROCESS_OBJECT_H
#define VESTIGE_PROCESS_OBJECT_H

#include <link.h>

#include "engine/base/registry.h"
#include "engine/process/area.h"
#include "engine/process/elf_file.h"

#define OBJECT_MAX 8192

struct object {
	uint32_t index; /* row in AREA_OBJECTS */
	uint64_t bias;	/* as in its row, which a fork's child without an area does not have */
	const ElfW(Phdr) * phdr;
	uint32_t nr_phdr;
	const char *path;    /* to open its file; /proc/self/exe for the program */
	const char *name;    /* base name, for :mod: and messages */
	void *hook_data;     /* of the hook that patches it */
	uint32_t nr_callers; /* functions without a site, which call the engine */
	int words_said;	     /* hook/libc/got.c's: the reasons that vestige_status has already */
	int loaded;	     /* not removed by dlclose() */
	int named;	     /* core/function.c: a filter names it, `:mod:` */
	int fresh;	     /* dlopen() is loading it: no thread executes its code yet */
	int relocated;	     /* the loader had done so when it was first seen */
	int elsewhere;	     /* another thread was loading it when it was first seen */
	int seen;	     /* scratch of objects_update() */
	int starved;	     /* core/function.c: there was no memory to look for its functions */
};

/* How many there are, and the i-th in the loader's order; 0 is the program. */
uint32_t object_count(void);
struct object *object_at(uint32_t i);
static inline struct area_object *object_row(const struct object *o)
{
	return area_object(o->index);
}

/*
 * Open its file for reading. Return: a descriptor; -ENOENT: it has none (the vdso); what open()
 * says.
 */
int object_open(const struct object *o);

/*
 * A part that follows objects as they come and go registers here; the level says the order. Called
 * in the loader's notification, under its lock and the tree's, before new code is relocated or run.
 */
enum object_follow {
	OBJECT_FOLLOW_FUNCTIONS, /* objects are known, and their functions */
	OBJECT_FOLLOW_GRAPH,	 /* whether calls may be wrapped */
	OBJECT_FOLLOW_WORDS,	 /* calls into libc */
	OBJECT_FOLLOW_ITEMS,	 /* definitions in objects */
	OBJECT_FOLLOW_MARKERS,
	OBJECT_FOLLOW_PROBES,
	OBJECT_FOLLOW_INITIALISERS,
	OBJECT_FOLLOW_LEVELS
};
struct object_follower {
	uint8_t level;
	void (*changed)(void);
};
REGISTRY(vestige_object_followers, const struct object_follower);
#define OBJECT_FOLLOWER(level, changed)                                                            \
	static const struct object_follower object_follower = {level, changed};                    \
	REGISTRY_ADD(vestige_object_followers, object_follower)

/* Call them all. */
void objects_follow(void);

/*
 * The same for a thread that gave up system calls and loads: it may be anywhere in the loader, or in
 * the code of what it has loaded.
 */
void objects_follow_elsewhere(void);

/*
 * The same when the loader has finished with all new objects: for objects that the engine itself
 * has loaded.
 */
void objects_follow_relocated(void);

/* Read the loader's list. Return: 0 or -ENOSPC, -ENOMEM. */
int objects_load(void);

/*
 * objects_update() - the loader's list may have changed: add what is new, mark what is gone.
 * @first_new: the index of the first new one; object_count() if there is none.
 * @gone: called for each that is no longer mapped.
 * The loader's notification, under its lock. Return: 0 or -ENOSPC.
 */
int objects_update(uint32_t *first_new, void (*gone)(struct object *o));

#endif
