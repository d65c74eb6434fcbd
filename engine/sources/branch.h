/* SPDX-License-Identifier: MIT */
/* The sites of vestige/branch.h, their counts, and listeners. */
#ifndef VESTIGE_SOURCES_BRANCH_H
#define VESTIGE_SOURCES_BRANCH_H

#include "engine/process/object.h"
#include "engine/sources/source.h"
#include "vestige/branch.h"

/* A branch site in the text, in section vestige_branch_sites. */
struct branch_site {
	uint8_t *code; /* as vestige_site's */
	struct vestige_branch *branch;
};

/*
 * likely() or unlikely() ran. @right: the condition was as expected. @constant: the compiler knew
 * it.
 */
struct branch_listener {
	struct source_link link;
	void (*call)(const struct vestige_branch *b, int right, int constant);
};

/* While this source has a listener, the sites call branch_ran() and are counted. */
extern struct source branch_hits;

/*
 * Called by the program's code: a site that is on ran, and its condition was @value. Any context.
 */
void branch_ran(struct vestige_branch *b, int value, int constant);

/* Add an object's sites, or remove them: they are no longer mapped. Under the tree lock. */
void branch_sites_add(const struct object *o, const struct branch_site *sites,
		      const struct branch_site *end);
void branch_sites_forget(const struct object *o);

/*
 * branch_list() - list each branch of the source of a kind once, sorted by address. @to: room for
 * @room of them; NULL: only count. Return: how many. Under the tree lock.
 */
uint32_t branch_list(enum vestige_branch_kind kind, struct vestige_branch **to, uint32_t room);

#endif
