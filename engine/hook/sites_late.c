/* SPDX-License-Identifier: MIT */
/*
 * Sites that are first used while the program runs. At the start, and while dlopen() loads an
 * object, no thread executes the compiler's NOPs, and any instruction can replace them (sites.c).
 * Later only some displacements are possible (arch_late.h), and the islands must be where those
 * lead. This file finds room for them, in blocks near the text. A function has two islands of 16
 * bytes: one for calls and one for jumps, whose displacement differs from the other's in one byte
 * (sites.c says why). The bytes may be written in any order: each mixture is harmless.
 *
 * Blocks are freed with the object. Control context, under the tree lock. fork: the child has the
 * same. Costs some microseconds for each function, once. Tests: tests/engine/fire/late,
 * tests/engine/hooks.
 */
#include "engine/hook/sites_late.h"

#include <errno.h>

#include "arch_late.h"
#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/text_patch.h"
#include "engine/hook/text/island_cfi.h"

#define BLOCK_BYTES  65536u
#define ISLAND_BYTES 16u
#define REACH	     UINT64_C(0x7fff0000)
#define LOWEST	     UINT64_C(0x20000)
#define MAX_TRIES    256u /* addresses that are tried for a new block */
#define MAX_PLACES   64u  /* places in a block that are tried for one site */
#define MAX_MISSES   16u /* sites in a row without a place in a block: then the block is given up */

/* A block begins with this struct; then come islands, and at its end their unwind rules. */
struct late_block {
	struct late_block *next;
	uint32_t misses;
	uint64_t taken[BLOCK_BYTES / 64]; /* a bit for each byte: islands may be at any address */
};

#define FIRST (sizeof(struct late_block))
#define LAST  (BLOCK_BYTES - ISLAND_ROWS_BYTES)

static int is_taken(const struct late_block *b, uint64_t at)
{
	uint64_t in = at - (uint64_t)b;

	return in < FIRST || in + ISLAND_BYTES > LAST || bitmap_run(b->taken, in, ISLAND_BYTES);
}

static void mark(struct late_block *b, uint64_t at, int taken)
{
	uint64_t in = at - (uint64_t)b;

	b = text_at(b);
	bitmap_put_run(b->taken, in, ISLAND_BYTES, taken);
}

static struct late_block *block_of(const struct sites *s, uint64_t at)
{
	struct late_block *b;

	for (b = s->blocks; b; b = b->next)
		if (at - (uint64_t)b < BLOCK_BYTES)
			return b;
	return NULL;
}

/* As block_of(), fast for nearby addresses one after the other. */
static struct late_block *block_again(const struct sites *s, uint64_t at, struct late_block **last)
{
	if (!*last || at - (uint64_t)*last >= BLOCK_BYTES)
		*last = block_of(s, at);
	return *last;
}

/*
 * Map a block that has room at @at, behind its head. Some sites can lead to only one place in 64
 * KiB.
 */
static struct late_block *add_block(struct sites *s, uint64_t at)
{
	uint64_t base = (at - FIRST) & ~UINT64_C(4095);
	struct late_block *b = (struct late_block *)base;
	long p;

	p = sys_mmap(b, BLOCK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (sys_failed(p))
		return NULL;
	if ((uint64_t)p != base) { /* a kernel before 4.17 takes the address as a hint */
		sys_munmap((void *)p, BLOCK_BYTES);
		return NULL;
	}
	island_cfi_make((uint8_t *)b, LAST, island_called_rules, sizeof(island_called_rules));
	b->next = s->blocks;
	s->blocks = b;
	return b;
}

/* Find a place in the block to which the site can lead; 0: none. */
static uint64_t place_in(const struct late_block *b, const struct arch_late *late, uint64_t end)
{
	uint64_t at = (uint64_t)b + FIRST, last = (uint64_t)b + LAST - ISLAND_BYTES;
	uint32_t tries;

	for (tries = 0; tries < MAX_PLACES; tries++, at++) {
		at = arch_late_next(late, end, at, last);
		if (!at || !is_taken(b, at))
			return at;
	}
	return 0;
}

/* The @k-th displacement that differs from @disp only in the @i-th byte, the nearest ones first. */
static uint32_t varied(uint32_t disp, uint32_t i, uint32_t k)
{
	uint32_t step = k & 1 ? (k + 1) / 2 : UINT32_MAX - k / 2 + 1;

	return (disp & ~(UINT32_C(0xff) << (8 * i))) | (((disp >> (8 * i)) + step) & 0xff)
							       << (8 * i);
}

/*
 * Find a place for the second island of the site whose first one is at @first, in any block or a
 * new one. The third byte is varied first: then the two islands are in different blocks, and the
 * islands of the next sites can have the same distances (take_again()) without collisions.
 */
static uint64_t place_beside(struct sites *s, const struct arch_late *late, uint64_t end,
			     uint64_t first, int may_add)
{
	static const uint8_t order[] = {2, 0, 1, 3};
	uint32_t disp = (uint32_t)(first - end), tries = 0, i, k, nr;

	for (nr = 0; nr < ARRAY_SIZE(order); nr++) {
		i = order[nr];
		for (k = 1; k < 256; k++) {
			uint32_t other = varied(disp, i, k);
			uint64_t at = end + (uint64_t)(int64_t)(int32_t)other;
			struct late_block *b;

			if (!arch_late_byte(late, i, (uint8_t)(other >> (8 * i))) || at < LOWEST ||
			    at - s->reach_lo > s->reach_hi - s->reach_lo)
				continue;
			b = block_of(s, at);
			if (!b && may_add && tries++ < MAX_TRIES)
				b = add_block(s, at);
			if (b && !is_taken(b, at))
				return at;
		}
	}
	return 0;
}

static int take_pair(struct sites *s, struct late_block *b, const struct arch_late *late,
		     uint64_t end, int may_add, uint64_t at[2])
{
	at[0] = place_in(b, late, end);
	if (!at[0])
		return 0;
	mark(b, at[0], 1);
	at[1] = place_beside(s, late, end, at[0], may_add);
	if (!at[1]) {
		mark(b, at[0], 0);
		return 0;
	}
	mark(block_of(s, at[1]), at[1], 1);
	return 1;
}

/* Map a new block, from @lo on, to which the site can lead. */
static int take_in_new(struct sites *s, const struct arch_late *late, uint64_t end, uint64_t lo,
		       uint64_t hi, uint64_t at[2])
{
	struct late_block *b;
	uint32_t tries;

	if (lo < s->reach_lo)
		lo = s->reach_lo;
	if (hi > s->reach_hi)
		hi = s->reach_hi;
	for (tries = 0; tries < MAX_TRIES && lo < hi; tries++) {
		lo = arch_late_next(late, end, lo, hi);
		if (!lo)
			return 0;
		b = block_of(s, lo) ? NULL : add_block(s, lo);
		if (b && take_pair(s, b, late, end, 1, at))
			return 1;
		lo = (lo | (BLOCK_BYTES - 1)) + 1;
	}
	return 0;
}

#define NEAR  UINT64_C(0x0b100000) /* below the text, tried first: above a program is its heap */
#define ABOVE UINT64_C(0x20000000)

/*
 * Try the same distance as for the site before this one: functions follow each other, so their
 * islands follow each other without a search.
 */
static int take_again(struct sites *s, const struct arch_late *late, uint64_t end, uint64_t at[2])
{
	struct late_block *b[2];
	uint32_t k, i;

	for (k = 0; k < 2; k++) {
		uint32_t disp = (uint32_t)s->last.disp[k];

		if (!s->last.block[k])
			return 0;
		for (i = 0; i < 4; i++)
			if (!arch_late_byte(late, i, (uint8_t)(disp >> (8 * i))))
				return 0;
		at[k] = end + (uint64_t)(int64_t)s->last.disp[k];
		b[k] = block_again(s, at[k], &s->last.block[k]);
		if (!b[k] || is_taken(b[k], at[k]))
			return 0;
	}
	if (at[0] - at[1] + ISLAND_BYTES - 1 < 2 * ISLAND_BYTES - 1)
		return 0;
	mark(b[0], at[0], 1);
	mark(b[1], at[1], 1);
	return 1;
}

static int find_islands(struct sites *s, const struct arch_late *late, uint64_t end, uint64_t at[2])
{
	struct late_block *b;

	if (take_again(s, late, end, at))
		return 0;
	for (b = s->blocks; b; b = b->next) {
		if (b->misses > MAX_MISSES)
			continue;
		if (take_pair(s, b, late, end, 0, at)) {
			((struct late_block *)text_at(b))->misses = 0;
			return 0;
		}
		((struct late_block *)text_at(b))->misses++;
	}
	if (take_in_new(s, late, end, s->lo > NEAR ? s->lo - NEAR : LOWEST, s->lo, at) ||
	    take_in_new(s, late, end, s->hi + ABOVE, UINT64_MAX, at) ||
	    take_in_new(s, late, end, 0, s->lo, at))
		return 0;
	return -ERANGE;
}

/* Compute the addresses from which an island reaches the slots, and which the sites reach. */
static void find_reach(struct sites *s, const struct object *o)
{
	uint64_t lo = (uint64_t)s->slots, hi = lo + object_row(o)->nr_functions * sizeof(*s->slots);

	if (s->reach_hi)
		return;
	lo = lo < s->lo ? lo : s->lo;
	hi = hi > s->hi ? hi : s->hi;
	s->reach_lo = hi > REACH + LOWEST ? hi - REACH : LOWEST;
	s->reach_hi = lo + REACH;
}

static int make_table(struct object *o, struct sites *s)
{
	find_reach(s, o);
	if (s->late)
		return 0;
	s->late = sys_map_table(object_row(o)->nr_functions * sizeof(*s->late));
	return s->late ? 0 : -ENOMEM;
}

static void write_byte(uint8_t *at, uint8_t value)
{
	if (*at != value)
		*(volatile uint8_t *)text_at(at) = value;
}

static void write_site(uint8_t *first, const struct arch_late *late, const struct late_site *site)
{
	uint8_t on[ARCH_LATE_BYTES], off[ARCH_LATE_BYTES], *at = first + late->skip;
	uint32_t k;

	for (k = 0; k < late->skip; k++)
		write_byte(first + k, arch_one_nop);
	arch_late_make(late->off, site->disp[0], 0, on, off);
	for (k = 0; k < ARCH_LATE_BYTES; k++)
		write_byte(at + k, off[k]);
	for (k = 0; k < late->nr_tail; k++)
		write_byte(at + ARCH_LATE_BYTES + k, late->tail[k]);
}

int sites_late_settle(struct object *o, uint32_t i, uint64_t word)
{
	const struct area_object *row = object_row(o);
	const struct area_function *f = area_function(row->first_function + i);
	uint8_t *first = (uint8_t *)(row->bias + f->offset + f->site);
	uint64_t *pointer[2], end, at[2];
	struct sites *s = o->hook_data;
	struct arch_late late;
	uint32_t k;
	int err;

	if (f->how != AREA_BY_NOPS || !arch_late_read(first, f->nop_bytes, &late))
		return -EINVAL;
	err = make_table(o, s);
	if (err)
		return err;
	end = (uint64_t)first + late.skip + ARCH_LATE_BYTES;
	err = find_islands(s, &late, end, at);
	if (err)
		return err;
	pointer[0] = &s->slots[i].target;
	pointer[1] = &s->slots[i].word;
	for (k = 0; k < 2; k++) {
		s->last.disp[k] = (int32_t)(at[k] - end);
		s->last.block[k] = block_again(s, at[k], &s->last.block[k]);
		arch_make_island(text_at((void *)at[k]),
				 (int32_t)((uint64_t)pointer[k] - (at[k] + 6)), word);
	}
	s->late[i] = (struct late_site){
		.disp = {s->last.disp[0], s->last.disp[1]},
		.skip = late.skip,
		.off = late.off,
	};
	write_site(first, &late, &s->late[i]);
	return 0;
}

int sites_late_open(struct sites *s)
{
	struct late_block *b;
	int err = 0;

	for (b = s->blocks; b && !err; b = b->next)
		err = text_open((uint64_t)b, (uint64_t)b + BLOCK_BYTES);
	return err;
}

void sites_late_close(struct sites *s)
{
	struct late_block *b;

	for (b = s->blocks; b; b = b->next)
		text_seal(b, BLOCK_BYTES);
}

void sites_late_forget(struct sites *s, uint32_t nr)
{
	struct late_block *b, *next;

	if (s->late)
		sys_munmap(s->late, nr * sizeof(*s->late));
	for (b = s->blocks; b; b = next) {
		next = b->next;
		island_cfi_forget((uint8_t *)b);
		sys_munmap(b, BLOCK_BYTES);
	}
}
