/* SPDX-License-Identifier: MIT */
/*
 * Watched memory: each access to it is seen. While there is a listener, the program cannot access
 * the pages of these shared mappings, so each access faults, and is done through a second mapping
 * (alias) of the same memory.
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
	uint64_t lo, hi;   /* bounds of its pages */
	uint64_t offset;   /* of @from in the mapped file */
	uint64_t alias;	   /* of @lo; 0: there is none */
	/* the instruction that could not be executed on the alias, and ended the region; or 0 */
	uint64_t refused;
	uint32_t state;	 /* enum in region.c */
	uint32_t prot;	 /* the program's protection */
	int has_waits;	 /* threads may wait (futex) for words in it */
	int is_programs; /* vestige_watch() added it: region_remove_all() leaves it */
	char name[REGION_NAME_BYTES];
};

/*
 * The instruction at @pc read or wrote @bytes (at most 8) at @at; @i: the region's row. Any
 * context.
 */
struct region_listener {
	struct source_link link;
	void (*access)(uint32_t i, uint64_t at, uint32_t bytes, int is_write, uint64_t value,
		       uint64_t pc);
	/* A region is added (@on) or removed while there are listeners. */
	void (*map)(uint32_t i, const struct region *r, int on);
};
extern struct source region_accesses;

/*
 * region_add() - watch memory. @name: at most REGION_NAME_BYTES - 1 bytes are kept. @is_programs:
 * vestige_watch() asks for it. Under the tree lock. Return: 0; -EINVAL: no bytes, or they are not
 * in one shared and readable mapping that is not watched yet; -ENOSPC: there are REGION_MAX
 * regions; -ENOMEM; -errno of mmap.
 */
int region_add(uint64_t at, uint64_t bytes, const char *name, int is_programs);

/*
 * As region_add(), for a whole mapping: the first shared one whose path is @name or ends with it.
 */
int region_add_named(const char *name);

/*
 * Stop watching a region, by its name or the address where it begins. Return: 0; -EINVAL: there is
 * none. Under the tree lock.
 */
int region_remove(const char *name, uint64_t at);
void region_remove_all(void);

/* Call @each for every region whose accesses are seen now. Under the tree lock. */
void region_each(void (*each)(uint32_t i, const struct region *r));

/* Put a line for each region. */
void region_show(struct seq_buf *s);

#endif
