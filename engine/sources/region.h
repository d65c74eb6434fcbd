/* SPDX-License-Identifier: MIT */
/*
 * Memory of which each access is seen. While there is a listener, the program cannot reach the
 * pages of these shared mappings, so each access faults, and is done through a second mapping of
 * the same memory.
 */
#ifndef VESTIGE_SOURCES_REGION_H
#define VESTIGE_SOURCES_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/seq_buf.h"
#include "engine/sources/source.h"

#define REGION_MAX	  16u
#define REGION_NAME_BYTES 64u

struct region {
	uint64_t from, to; /* the watched bytes */
	uint64_t lo, hi;   /* its pages */
	uint64_t offset;   /* of @from in the mapped file */
	uint64_t alias;	   /* of @lo; 0: none */
	uint64_t refused;  /* the instruction that could not be followed, which ended it; or 0 */
	uint32_t state;	   /* of region.c */
	uint32_t prot;	   /* of the program */
	int has_waits;	   /* threads may wait for words of it */
	int is_programs;   /* region_remove_all() leaves it */
	char name[REGION_NAME_BYTES];
};

/*
 * @bytes, at most 8, at @at were read or written by the instruction at @pc; @i: the region's row.
 * Any context.
 */
struct region_listener {
	struct source_link link;
	void (*access)(uint32_t i, uint64_t at, uint32_t bytes, int is_write, uint64_t value,
		       uint64_t pc);
	/* One comes (@on) or goes while there are listeners. */
	void (*map)(uint32_t i, const struct region *r, int on);
};
extern struct source region_accesses;

/*
 * region_add() - watch memory. @name: at most REGION_NAME_BYTES - 1 bytes are kept. Under the
 * tree's lock. @is_programs: the program asked for it (vestige_watch()). Return: 0; -EINVAL: no
 * bytes, or they are not in one mapping that is shared and can be read, and that is not watched
 * yet; -ENOSPC: there are REGION_MAX; -ENOMEM; -errno of mmap.
 */
int region_add(uint64_t at, uint64_t bytes, const char *name, int is_programs);

/* As region_add(), a whole mapping: the first that is shared, by its path or the end of that. */
int region_add_named(const char *name);

/* No longer: by its name or where it begins. -EINVAL: there is none. Under the tree's lock. */
int region_remove(const char *name, uint64_t at);
void region_remove_all(void);

/* Call @each with every region whose accesses are seen now. Under the tree's lock. */
void region_each(void (*each)(uint32_t i, const struct region *r));

/* A line for each. */
void region_show(struct seq_buf *s);

#endif
