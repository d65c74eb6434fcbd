/* SPDX-License-Identifier: MIT */
/* What sites.c (bytes of text) and sites_aim.c (where they lead) share. Nobody else includes it. */
#ifndef VESTIGE_HOOK_SITES_IMPL_H
#define VESTIGE_HOOK_SITES_IMPL_H

#include "arch_patch.h"
#include "engine/core/area.h"
#include "engine/hook/sites.h"

/* What a struct object keeps for this hook. */
struct sites {
	uint64_t lo, hi;	 /* pages of text that hold sites */
	struct arch_slot *slots; /* one a function */
	uint8_t *islands;	 /* ISLAND_BYTES a function; NULL if all sites have six bytes */
	size_t islands_bytes;
	uint64_t *ops;	 /* one bit a function: its slot leads to target_ops(); NULL: none does */
	uint32_t *stubs; /* one a function: its wrap stub + 1; NULL before the first graph */
	uint64_t *avoid; /* one bit a function: not to be wrapped; behind the stubs */
	enum record_kind kind; /* RECORD_FUNCTION or RECORD_ENTRY: what the sites that are on do */
	const struct hook_entries *aimed; /* where the slots lead */
	uint32_t aimed_args;		  /* function_args then */
	uint32_t nr_left;		  /* LEFT_ON */
};

/* Where a function's site is and how long: six bytes or five. */
struct site {
	uint8_t *at;
	uint32_t bytes;
};

/* The bytes of a site, on and off. */
struct forms {
	uint8_t on[ARCH_SITE_FULL];
	uint8_t off[ARCH_SITE_FULL];
};

struct site sites_site_of(const struct area_object *row, const struct area_function *f);

/* Call back for each function of the object with its site and both forms of it. */
typedef void site_fn(const struct object *o, uint32_t i, const struct site *site,
		     const struct forms *forms, void *arg);
void sites_each(const struct object *o, site_fn *fn, void *arg);

static inline int is_kept(const struct area_function *f)
{
	return f->flags & AREA_FUNCTION_KEPT;
}

static inline int has_site(const struct area_function *f)
{
	return f->how != AREA_BY_CYG;
}

static inline int can_wrap(const struct area_function *f)
{
	return f->how != AREA_BY_MCOUNT && !is_kept(f);
}

static inline int has_ops(const struct sites *s, uint32_t i)
{
	return s->ops && (s->ops[i / 64] >> (i % 64) & 1);
}

/* Whether the site jumps to a stub when it is on; else it calls. */
static inline int sites_wraps(const struct sites *s, uint32_t i, const struct area_function *f)
{
	return s->kind == RECORD_ENTRY && can_wrap(f) && !has_ops(s, i);
}

/* Where the slot of a function leads that makes RECORD_FUNCTION. */
uint64_t sites_target_on(const struct area_function *f);

/*
 * All sites are off when the kind changes, and nobody is inside them: let the slots lead elsewhere.
 * For the graph those of functions that are wanted; what is wanted and can have no stub is dropped
 * from @want, and counted. Return: 0 or -errno.
 */
int sites_aim(struct object *o, uint64_t *want, enum record_kind kind);

/* Note which functions' slots are to lead to callbacks from now on. Return: 0 or -errno. */
int sites_aim_ops(struct object *o);

/*
 * Functions with callbacks are wanted, and what the tracers want of them comes behind those.
 * Return: 0 or -errno.
 */
int sites_chain_ops(struct object *o, uint64_t *want, enum record_kind kind);

/* The mapping of sites.stubs, and where the bits behind them begin. */
size_t sites_stub_table_bytes(const struct object *o, size_t *stubs);

/* What a site's jump goes through. For that of six bytes it is what its call goes through too. */
static inline uint64_t *sites_graph_pointer(const struct sites *s, uint32_t i,
					    const struct site *site)
{
	struct arch_slot *slot = &s->slots[i];

	return site->bytes == ARCH_SITE_FULL ? &slot->target : &slot->word;
}

#endif
