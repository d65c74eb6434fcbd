/* SPDX-License-Identifier: MIT */
/*
 * Shared by sites.c (bytes of text), sites_target.c (targets of sites) and the other sites_*.c
 * alone.
 */
#ifndef VESTIGE_HOOK_SITES_IMPL_H
#define VESTIGE_HOOK_SITES_IMPL_H

#include "arch_patch.h"
#include "engine/base/bitmap.h"
#include "engine/process/area.h"
#include "engine/hook/redirect.h"
#include "engine/hook/sites.h"

/* A site that was first used while the program ran: sites_late.c. */
struct late_site {
	int32_t disp[2]; /* displacements of its call and its jump */
	uint8_t skip;	 /* bytes of the function's NOPs before it */
	uint8_t off;	 /* its first byte while it is off; 0: the site is not late */
};

struct late_block;

/* This hook's data of a struct object. */
struct sites {
	size_t bytes;		   /* size of this struct and what follows it */
	uint64_t lo, hi;	   /* pages that have sites: of the text, or islands of redirects */
	uint64_t text_lo, text_hi; /* pages that redirects change */
	/* one for each function; NULL: the functions have sites in the text */
	struct redirect *redirects;
	struct redirect_map moved; /* of redirects: islands, each with its site, and the slots */
	struct arch_slot *slots;   /* one for each function */
	uint8_t *islands; /* ISLAND_BYTES for each function; NULL: all sites are ARCH_SITE_FULL */
	size_t islands_bytes;
	uint64_t *by_c;	 /* a bit for each function: its slot leads to C; in this mapping */
	uint32_t *stubs; /* for each function its wrap stub + 1; NULL before the first graph */
	uint64_t *avoid; /* a bit for each function: it must not be wrapped; behind the stubs */
	enum record_kind
		kind; /* RECORD_FUNCTION or RECORD_ENTRY: records of the sites that are on */
	const struct hook_entries *aimed; /* entry points to which the slots lead */
	uint32_t aimed_args;		  /* value of function_args at that time */
	uint32_t nr_left;		  /* sites in state LEFT_ON */
	struct late_site *late;		  /* one for each function; NULL before the first one */
	struct late_block *blocks;	  /* blocks of their islands */
	uint64_t reach_lo, reach_hi;	  /* addresses at which these may be */
	struct {
		int32_t disp[2];
		struct late_block *block[2]; /* NULL: none yet */
	} last;				     /* of the last settled site */
	/* a bit for each function: the site is the engine's, the compiler's NOPs are gone */
	uint64_t settled[];
};

/* A function's site: its address and length, ARCH_SITE_FULL or ARCH_SITE_MIN bytes. */
struct site {
	uint8_t *at;
	uint32_t bytes;
	const struct late_site *late; /* or NULL */
};

/* A site's bytes when it is on, and when it is off. */
struct forms {
	uint8_t on[ARCH_SITE_FULL];
	uint8_t off[ARCH_SITE_FULL];
};

struct site sites_site_of(const struct object *o, uint32_t i);

/*
 * Called for each function of the object whose site is settled, with its site and both forms.
 */
typedef void site_fn(const struct object *o, uint32_t i, const struct site *site,
		     const struct forms *forms, void *arg);
void sites_each(const struct object *o, site_fn *fn, void *arg);

static inline int is_passed_on(const struct area_function *f)
{
	return f->flags & AREA_FUNCTION_PASSED_ON;
}

static inline int has_site(const struct area_function *f)
{
	return f->how != AREA_BY_CYG;
}

static inline int can_wrap(const struct area_function *f)
{
	return f->how != AREA_BY_MCOUNT && !is_passed_on(f);
}

static inline int is_settled(const struct sites *s, uint32_t i)
{
	return bitmap_has(s->settled, i);
}

/* Whether the function's slot leads to C. */
static inline int is_by_c(const struct sites *s, uint32_t i)
{
	return bitmap_has(s->by_c, i);
}

/* Whether the site jumps to a stub when it is on; otherwise it calls. */
static inline int sites_wraps(const struct sites *s, uint32_t i, const struct area_function *f)
{
	return s->kind == RECORD_ENTRY && can_wrap(f) && !is_by_c(s, i);
}

/* Make both forms of a site, for its current target. */
void sites_make_forms(const struct sites *s, uint32_t i, const struct site *site,
		      const struct area_function *f, struct forms *forms);

/*
 * Set the words that the entry points read in its slot and islands: the record's head without a
 * stamp.
 */
void sites_fill(struct object *o, uint32_t i, const struct site *site);

/* Store why the function has no site. Return: 0. */
int sites_refuse(struct object *o, uint32_t i, enum area_refusal why);

/*
 * Whether a function's site must be settled: it is wanted (@how NULL: urgent) and is not settled
 * yet.
 */
int sites_is_due(const struct object *o, uint32_t i, const uint8_t *how);

/*
 * sites_redirect_quiet() - settle a function that was built without a site, in an object whose code
 * no thread executes yet. Return: whether it was settled.
 */
int sites_redirect_quiet(struct object *o, uint32_t i);

/*
 * Before the first sites_redirect_quiet(): back all pages that will be written, while they are
 * writable.
 */
void sites_redirect_back(const struct object *o, const uint8_t *how);

/*
 * sites_redirect_live() - settle all sites that are due while threads run. Sites that cannot be
 * settled are refused, reported, and removed from @how. Return: 0; -errno: nothing was done.
 */
int sites_redirect_live(struct object *o, uint8_t *how);

/*
 * sites_redirect_rest() - restore the program's own first instructions where a site is off; its
 * island stays. Return: how many jumps had to stay; -errno: all did. Agent context.
 */
int sites_redirect_rest(struct object *o);

/* The target of a function's slot when it makes RECORD_FUNCTION. */
uint64_t sites_target_on(const struct area_function *f);

/*
 * sites_aim() - change the slots' targets to @kind, while all sites are off and no thread is inside
 * one. For the graph, only slots of wanted functions change. A wanted function that can have no
 * stub is removed from @how, and counted. Return: 0 or -errno.
 */
int sites_aim(struct object *o, uint8_t *how, enum record_kind kind);

/* Store which functions' slots lead to C from now on. Return: 0 or -errno. */
int sites_aim_by_c(struct object *o, const uint8_t *how);

/* Make slots lead to C, which then does what the tracers want of the calls. Return: 0 or -errno. */
int sites_chain_by_c(struct object *o, const uint8_t *how);

/* Size of the mapping of sites.stubs; *@stubs: offset of the bits behind the stubs. */
size_t sites_stub_table_bytes(const struct object *o, size_t *stubs);

/* The head word of a function's record, without its stamp. */
static inline uint64_t sites_word(uint64_t id)
{
	return (uint64_t)RECORD_FUNCTION << RECORD_KIND_SHIFT | id << RECORD_ID_SHIFT;
}

/* The word through which a site's jump goes; a full site's call goes through it, too. */
static inline uint64_t *sites_graph_pointer(const struct sites *s, uint32_t i,
					    const struct site *site)
{
	struct arch_slot *slot = &s->slots[i];

	return site->bytes == ARCH_SITE_FULL ? &slot->target : &slot->word;
}

#endif
