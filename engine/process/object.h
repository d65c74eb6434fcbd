/* SPDX-License-Identifier: MIT */
/*
 * The loaded objects of the process (the program, its shared objects), as rows of AREA_OBJECTS with
 * data that only this process needs. Constructor context.
 */
#ifndef VESTIGE_PROCESS_OBJECT_H
#define VESTIGE_PROCESS_OBJECT_H

#include <link.h>

#include "engine/base/registry.h"
#include "engine/process/area.h"
#include "engine/process/elf_file.h"

#define OBJECT_MAX 8192

struct object {
	uint32_t index; /* index of its row in AREA_OBJECTS */
	uint64_t bias;	/* as in the row, which a fork's child without an area does not have */
	const ElfW(Phdr) * phdr;
	uint32_t nr_phdr;
	const char *path;    /* path for opening its file; /proc/self/exe for the program */
	const char *name;    /* base name, for :mod: and messages */
	void *hook_data;     /* data of the hook that patches it */
	uint32_t nr_callers; /* functions without a site, which call the engine instead */
	int words_said;	     /* of hook/libc/got.c: messages that vestige_status has already */
	int loaded;	     /* not removed by dlclose() */
	int named;	     /* of core/function.c: a filter names it, `:mod:` */
	int fresh;	     /* dlopen() is loading it: no thread executes its code yet */
	int relocated;	     /* the loader had relocated it when it was first seen */
	int elsewhere;	     /* another thread was loading it when it was first seen */
	int seen;	     /* used within objects_update() */
	int starved;	     /* of core/function.c: there was no memory to find its functions */
};

/* The number of objects, and the @i-th in the loader's order; 0 is the program. */
uint32_t object_count(void);
struct object *object_at(uint32_t i);
static inline struct area_object *object_row(const struct object *o)
{
	return area_object(o->index);
}

/*
 * Whether the memory that a program header names can be read: a changed or packed file may name any
 * address. The loader has mapped PT_LOAD alone, and looks at few others.
 */
int object_is_mapped(const struct object *o, const ElfW(Phdr) * ph);

/*
 * The object's header of the unwinding tables (.eh_frame_hdr), see eh_table.h. @bytes: gets its
 * size. Return: NULL: it has none, or none that is mapped.
 */
const uint8_t *object_eh_header(const struct object *o, uint64_t *bytes);

/*
 * Open an object's file for reading. Return: a descriptor; -ENOENT: it has none (the vDSO); -errno
 * of open().
 */
int object_open(const struct object *o);

/*
 * A part of the engine that keeps a list of objects registers here; the level is the order. It is
 * called in the loader's notification, under the loader's lock and the tree lock, before new code
 * is relocated or run.
 */
enum object_follow {
	OBJECT_FOLLOW_FUNCTIONS, /* objects and their functions are known */
	OBJECT_FOLLOW_GRAPH,	 /* find out whether calls may be wrapped */
	OBJECT_FOLLOW_WORDS,	 /* words by which objects call libc */
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

/* Call all registered parts. */
void objects_follow(void);

/*
 * As objects_follow(), for an object that a thread without system calls loads: that thread may be
 * anywhere in the loader, or in the loaded code.
 */
void objects_follow_elsewhere(void);

/*
 * As objects_follow(), after the loader has finished with all new objects: for objects that the
 * engine itself has loaded.
 */
void objects_follow_relocated(void);

/* Read the loader's list. Return: 0 or -ENOSPC, -ENOMEM. */
int objects_load(void);

/*
 * objects_update() - read the loader's list again: add new objects, and mark those that were
 * unloaded. @first_new: the index of the first new object; object_count(): there is none. @gone:
 * called for each object that is no longer mapped. In the loader's notification, under its lock.
 * Return: 0 or -ENOSPC.
 */
int objects_update(uint32_t *first_new, void (*gone)(struct object *o));

#endif
