/* SPDX-License-Identifier: MIT */
/* Of sites.c (bytes of text) and sites_target.c (where sites lead) alone. */
#ifndef VESTIGE_HOOK_SITES_IMPL_H
#define VESTIGE_HOOK_SITES_IMPL_H

#include "arch_patch.h"
#include "engine/base/bitmap.h"
#include "engine/process/area.h"
#include "engine/hook/redirect.h"
#include "engine/hook/sites.h"

/* A site that was first used while the program ran: sites_late.c. */
struct late_site {
	int32_t disp[2]; /* of its call and its jump */
	uint8_t skip;	 /* NOPs of the function before it */
	uint8_t off;	 /* its first byte while it is off; 0: it is no such site */
};

struct late_block;

/* The data that a struct object keeps for this hook. */
struct sites {
	size_t bytes;		   /* of this and what follows it */
	uint64_t lo, hi;	   /* pages that hold sites: of the text, or islands of redirects */
	uint64_t text_lo, text_hi; /* pages that redirects change */
	struct redirect *redirects; /* one a function; NULL: they have sites in the text */
	struct redirect_map moved;  /* of those: islands, each with its site, and the slots */
	struct arch_slot *slots;    /* one a function */
	uint8_t *islands; /* ISLAND_BYTES a function; NULL if all sites are ARCH_SITE_FULL */
	size_t islands_bytes;
	uint64_t *by_c;	 /* one bit a function: its slot leads to C; in this mapping */
	uint32_t *stubs; /* one a function: its wrap stub + 1; NULL before the first graph */
	uint64_t *avoid; /* one bit a function: not to be wrapped; behind the stubs */
	enum record_kind
		kind; /* RECORD_FUNCTION or RECORD_ENTRY: the records of the sites that are on */
	const struct hook_entries *aimed; /* where the slots lead */
	uint32_t aimed_args;		  /* function_args then */
	uint32_t nr_left;		  /* LEFT_ON */
	struct late_site *late;		  /* one a function; NULL before the first */
	struct late_block *blocks;	  /* their islands */
	uint64_t reach_lo, reach_hi;	  /* where those can be */
	struct {
		int32_t disp[2];
		struct late_block *block[2]; /* NULL: there is none yet */
	} last;				     /* of the site that was settled last */
	uint64_t settled[]; /* one bit a function: its site is ours, the compiler's NOPs are gone */
};

/* Where a function's site is and how long: ARCH_SITE_FULL or ARCH_SITE_MIN bytes. */
struct site {
	uint8_t *at;
	uint32_t bytes;
	const struct late_site *late; /* or NULL */
};

/* The bytes of a site, on and off. */
struct forms {
	uint8_t on[ARCH_SITE_FULL];
	uint8_t off[ARCH_SITE_FULL];
};

struct site sites_site_of(const struct object *o, uint32_t i);

/*
 * Call back for each function of the object whose site is settled, with its site and both forms of
 * it.
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

/* Whether the site jumps to a stub when it is on; else it calls. */
static inline int sites_wraps(const struct sites *s, uint32_t i, const struct area_function *f)
{
	return s->kind == RECORD_ENTRY && can_wrap(f) && !is_by_c(s, i);
}

/* Both forms of its bytes, as it is aimed now. */
void sites_make_forms(const struct sites *s, uint32_t i, const struct site *site,
		      const struct area_function *f, struct forms *forms);

/* The words that the entry points find in its slot and islands: the record's head without a stamp. */
void sites_fill(struct object *o, uint32_t i, const struct site *site);

/* Note why the function has no site. Return: 0. */
int sites_refuse(struct object *o, uint32_t i, enum area_refusal why);

/* Whether its site is to be settled: it is wanted (@how NULL: urgent) and is not yet. */
int sites_is_due(const struct object *o, uint32_t i, const uint8_t *how);

/*
 * sites_redirect_quiet() - settle a function that was built without a site, in an object whose code
 * no thread executes yet. Return: whether it could be.
 */
int sites_redirect_quiet(struct object *o, uint32_t i);

/* Before the first of them: all pages that they will write, while these are writable. */
void sites_redirect_back(const struct object *o, const uint8_t *how);

/*
 * sites_redirect_live() - settle all sites that are due while threads run. Sites that cannot be
 * settled are refused, named, and taken out of @how. Return: 0 or -errno: nothing was done.
 */
int sites_redirect_live(struct object *o, uint8_t *how);

/*
 * sites_redirect_rest() - put back the program's own first instructions where a site is off; its
 * island stays. Return: how many jumps had to stay; -errno: all did. Agent context.
 */
int sites_redirect_rest(struct object *o);

/* Where the slot of a function leads that makes RECORD_FUNCTION. */
uint64_t sites_target_on(const struct area_function *f);

/*
 * The kind changes, while all sites are off and no thread is inside one: lead the slots elsewhere.
 * For the graph, only slots of wanted functions change; a wanted function that can have no stub is
 * dropped from @how, and counted. Return: 0 or -errno.
 */
int sites_aim(struct object *o, uint8_t *how, enum record_kind kind);

/* Note which functions' slots are to lead to C from now on. Return: 0 or -errno. */
int sites_aim_by_c(struct object *o, const uint8_t *how);

/* Slots lead to C, which then does what the tracers want of the calls. Return: 0 or -errno. */
int sites_chain_by_c(struct object *o, const uint8_t *how);

/* The mapping of sites.stubs, and where the bits behind them begin. */
size_t sites_stub_table_bytes(const struct object *o, size_t *stubs);

/* A function's record head without its stamp. */
static inline uint64_t sites_word(uint64_t id)
{
	return (uint64_t)RECORD_FUNCTION << RECORD_KIND_SHIFT | id << RECORD_ID_SHIFT;
}

/* The word that a site's jump goes through; a full site's call goes through it, too. */
static inline uint64_t *sites_graph_pointer(const struct sites *s, uint32_t i,
					    const struct site *site)
{
	struct arch_slot *slot = &s->slots[i];

	return site->bytes == ARCH_SITE_FULL ? &slot->target : &slot->word;
}

#endif
