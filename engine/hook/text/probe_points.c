/* SPDX-License-Identifier: MIT */
/*
 * Probes at any instruction (core/text_probe.h). A `jmp rel32` replaces the instruction, and
 * nothing else. If the instruction is shorter than the jump, the rest of the displacement is the
 * bytes of the next instructions, and the island is put where the jump then leads (text_island.c).
 * So no other instruction changes, and threads, signal frames and branches may be about to run the
 * next ones. No thread is ever within the one that changes.
 *
 * If the jump's first bytes are in an aligned word, they are stored at once. Otherwise the first
 * two become a jump to itself, in which threads wait while the others are written. If the first two
 * straddle a cache line, only one byte is written. A probe that is not possible is refused with a
 * reason.
 *
 * Islands stay for ever, with their probe points: a thread may be in one, interrupted by a signal
 * handler, for any time. They are used again if the text is the same.
 *
 * If a redirect has moved the instruction, the jump replaces its copy on the redirect's island
 * (probe_moved.c). A jump does not rely on bytes that other code changes (sites of functions and
 * tracepoints). If another probe is added or removed in bytes on which a jump relies, that jump
 * gets another island. Under the tree lock, with all signals blocked while text is incomplete.
 * fork: the child has the same text and islands. Tests: tests/engine/events/inner.
 */
#include <errno.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/core/function.h"
#include "engine/process/heap.h"
#include "engine/process/libc.h"
#include "engine/core/text_patch.h"
#include "engine/hook/text/island_cfi.h"
#include "engine/hook/text/probe_points.h"
#include "engine/hook/text/redirect_island.h"
#include "engine/hook/text/text_alloc.h"

#define NR_CHAINS 256u
#define REACH	  UINT64_C(0x7fff0000)

static struct text_place *places[NR_CHAINS] BIG_ZEROS;
static const struct text_windows *windows;

static struct text_place **chain_of(uint64_t address)
{
	return &places[(address ^ address >> 8) % NR_CHAINS];
}

/* The executable segment that has @address, and how far it may be read. */
static int segment_of(const struct object *o, uint64_t address, uint64_t *lo, uint64_t *hi)
{
	uint64_t bias = object_row(o)->bias;
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++) {
		const ElfW(Phdr) *ph = &o->phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !(ph->p_flags & PF_R))
			continue;
		*lo = bias + ph->p_vaddr;
		*hi = *lo + ph->p_filesz;
		if (address >= *lo && address < *hi)
			return 0;
	}
	return -EINVAL;
}

static const struct object *object_of(uint64_t address, uint64_t *lo, uint64_t *hi)
{
	uint32_t i;

	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);

		if (o->loaded && !segment_of(o, address, lo, hi))
			return o;
	}
	return NULL;
}

#define MAX_PINNED TEXT_JUMP_READ

/* Whether an existing redirect has moved the instruction at @address. */
static int window_at(uint64_t address, struct text_window *w)
{
	uint64_t lo, hi;
	const struct object *o = object_of(address, &lo, &hi);

	return o && windows->at(o, address, w) && w->is_moved;
}

/* The bounds of the text that has a probe point, or of the island of a copy. */
static int bounds_of(const struct text_place *place, uint64_t *lo, uint64_t *hi)
{
	if (!place->of)
		return object_of(place->address, lo, hi) != NULL;
	*lo = place->address & ~(uint64_t)(REDIRECT_ISLAND_BYTES - 1);
	*hi = *lo + REDIRECT_ISLAND_BYTES;
	return 1;
}

struct text_place *probe_points_armed(uint64_t address)
{
	struct text_place *p;

	for (p = *chain_of(address); p; p = p->next)
		if (p->address == address && p->armed)
			return p;
	return NULL;
}

/* Read the text up to @hi; the rest is zeros. */
static void read_raw(uint64_t address, uint64_t hi, uint8_t *out, size_t n)
{
	memset(out, 0, n);
	memcpy(out, (const void *)address, hi - address < n ? hi - address : n);
}

/* Read the text as it is without jumps of probes and redirects. */
void probe_points_read(uint64_t address, uint64_t hi, uint8_t *out, size_t n)
{
	uint64_t a;
	size_t k;

	read_raw(address, hi, out, n);
	for (a = address - MAX_PINNED; a < address + n; a++) {
		const struct text_place *p = probe_points_armed(a);

		for (k = 0; p && k < p->way->written; k++)
			if (a + k >= address && a + k < address + n)
				out[a + k - address] = p->saved[k];
	}
	for (a = address; a < address + n && a < hi;) {
		struct text_window w;

		if (!window_at(a, &w)) {
			a++;
			continue;
		}
		for (; a < address + n && a < w.from + w.bytes; a++)
			out[a - address] = w.text[a - w.from];
	}
}

static int is_own(uint64_t address)
{
	uint64_t lo, hi;

	libc_own_text(&lo, &hi);
	return address >= lo && address < hi;
}

/*
 * The function whose site, which is switched on and off, has bytes in @lo .. @hi; NULL: there is
 * none.
 */
static const struct area_function *site_in(uint64_t lo, uint64_t hi, uint64_t *site)
{
	uint64_t text_lo, text_hi, end;
	const struct object *o = object_of(lo, &text_lo, &text_hi);
	const struct area_object *row = o ? object_row(o) : NULL;
	uint32_t a, i;

	functions_need();
	/* find the first function that begins at hi or later: sites are behind the beginnings */
	a = LOWER_BOUND(k, 0, row ? row->nr_functions : 0,
			row->bias + area_function(row->first_function + k)->offset < hi);
	for (i = a; row && i && i + 2 > a; i--) {
		const struct area_function *f = area_function(row->first_function + i - 1);

		*site = row->bias + f->offset + f->site;
		if (f->how == AREA_BY_CYG || f->how == AREA_BY_REDIRECT)
			continue;
		end = *site + f->nop_bytes;
		if (*site < hi && end > lo)
			return f;
	}
	return NULL;
}

static int sites_claim(uint64_t lo, uint64_t hi)
{
	uint64_t site, text_lo, text_hi;
	const struct object *o;

	if (site_in(lo, hi, &site))
		return 1;
	o = object_of(lo, &text_lo, &text_hi);
	return o && windows->claim(o, lo, hi);
}

/*
 * Read the instruction at @at. A site counts as one instruction, whatever bytes it has now. Return:
 * its length; 0: it is not known.
 */
static uint32_t insn_at(uint64_t at, uint64_t hi, int *movable)
{
	const struct area_function *f;
	uint8_t code[16];
	uint64_t site;

	f = site_in(at, at + 1, &site);
	if (f && site == at)
		return f->nop_bytes;
	probe_points_read(at, hi, code, sizeof(code));
	return text_insn_bytes(code, hi - at < sizeof(code) ? hi - at : sizeof(code), movable);
}

static int places_check(const struct object *o, uint64_t start, uint64_t address, const char **why)
{
	uint64_t lo, hi, at;
	int movable = 1;

	*why = "no probe outside of the program's code";
	if (segment_of(o, address, &lo, &hi) || start < lo || start > address)
		return -EINVAL;
	*why = "no probe in vestige's own code";
	if (is_own(address))
		return -EINVAL;
	*why = "no probe: what is before it is no code that is known";
	for (at = start; at <= address;) {
		uint32_t bytes = insn_at(at, hi, &movable);

		if (!bytes)
			return -EINVAL;
		if (at == address)
			break;
		at += bytes;
	}
	if (at != address)
		return -EILSEQ;
	*why = "no probe on an instruction that cannot run elsewhere";
	return movable ? 0 : -EINVAL;
}

/* How many bytes one store can write, so that no thread executes half of them. */
static uint32_t writable_bytes(const struct text_place *place)
{
	if (place->bytes < 2 || text_pair_in_line((const void *)place->address))
		return place->bytes;
	return (place->address & 7) + place->bytes <= 8 ? place->bytes : 1;
}

/*
 * Find a target for the jump, and put the island there; or only a jump to an island elsewhere.
 */
static int find_room(struct text_way *w, const struct text_jump *j, uint64_t text_lo,
		     uint64_t text_hi)
{
	uint64_t far, lo, hi;

	if (j->hi - j->lo >= TEXT_ROOMY) {
		w->island = text_alloc_get(j->lo, j->hi, TEXT_ISLAND_BYTES, text_lo, text_hi);
		w->landing = w->island;
		return w->island ? 0 : -ENOMEM;
	}
	/* the next bytes are often alike, so other islands will be near */
	w->landing = text_alloc_get(j->lo, j->hi, TEXT_LANDING_BYTES, text_lo, text_hi);
	if (!w->landing)
		return -ENOMEM;
	/* an island within reach of both */
	far = w->landing > text_hi ? w->landing : text_hi;
	lo = far > REACH ? far - REACH : 0;
	hi = (w->landing < text_lo ? w->landing : text_lo) + REACH;
	w->island = text_alloc_get(lo, hi, TEXT_ISLAND_BYTES, text_lo, text_hi);
	if (!w->island)
		text_alloc_put(w->landing);
	return w->island ? 0 : -ENOMEM;
}

static int has_landing(const struct text_way *w)
{
	return w->landing != w->island;
}

static int write_island(struct text_way *w, struct text_place *place)
{
	uint8_t island[TEXT_ISLAND_BYTES], landing[TEXT_LANDING_BYTES];
	int64_t disp = (int64_t)(w->island - w->landing - TEXT_LANDING_BYTES);
	int err = text_island_make(place->saved, place, w->island, has_landing(w) ? w->landing : 0,
				   island);

	if (err >= 0) {
		w->back_at = (uint8_t)err;
		err = text_alloc_write(w->island, island, sizeof(island));
	}
	if (err || !has_landing(w))
		return err;
	if (disp != (int32_t)disp)
		return -ERANGE;
	arch_make_jump(landing, (int32_t)disp);
	return text_alloc_write(w->landing, landing, sizeof(landing));
}

static void give_room(const struct text_way *w)
{
	text_alloc_put(w->island);
	if (has_landing(w))
		text_alloc_put(w->landing);
}

static int fill_way(struct text_way *w, struct text_place *place, const struct text_jump *j,
		    uint64_t text_lo, uint64_t text_hi)
{
	const void *rows;
	int err = find_room(w, j, text_lo, text_hi);

	if (err)
		return err;
	err = write_island(w, place);
	if (err) {
		give_room(w);
		return err;
	}
	w->written = (uint8_t)j->written;
	w->pinned = (uint8_t)j->pinned;
	text_jump_make(j, place->address, w->landing, w->patched);
	rows = (const void *)(w->island + TEXT_ISLAND_CODE);
	island_cfi_add(w->island, (uint64_t)rows, rows);
	if (has_landing(w))
		island_cfi_add(w->landing, w->landing + TEXT_LANDING_BYTES, rows);
	return 0;
}

/* Try each way of jumping. @now: the current text. */
static int make_way(struct text_place *place, const uint8_t *now, uint64_t lo, uint64_t hi,
		    const char **why)
{
	struct text_way *w = heap_alloc(sizeof(*w));
	struct text_jump j;
	uint32_t i;
	int err = -EINVAL;

	if (!w)
		return -ENOMEM;
	memcpy(w->text, now, sizeof(w->text));
	*why = "no probe: what follows its short instruction is switched by others";
	for (i = 0; !text_jump_nth(i, now, place->address, writable_bytes(place), &j); i++) {
		/*
		 * the segment may end with the page; behind a copy's island is the site of another
		 * one
		 */
		if (place->address + j.pinned >
			    (place->of ? hi : ((hi + 4095) & ~UINT64_C(4095))) ||
		    text_is_claimed(place->address, place->address + j.pinned))
			continue;
		*why = "no probe: there is no room where a jump from its short instruction leads";
		err = fill_way(w, place, &j, lo, hi);
		if (!err) {
			w->next = place->ways;
			place->ways = place->way = w;
			return 0;
		}
		if (err != -ENOMEM && err != -ERANGE)
			break;
		err = -EINVAL;
	}
	heap_free(w);
	return err;
}

struct text_place *probe_points_find(uint64_t address)
{
	struct text_place *p;

	for (p = *chain_of(address); p; p = p->next)
		if (p->address == address && !p->gone)
			return p;
	return NULL;
}

int probe_points_in(uint64_t lo, uint64_t hi)
{
	const struct text_place *p;
	uint32_t i;

	for (i = 0; i < NR_CHAINS; i++)
		for (p = places[i]; p; p = p->next)
			if (p->ways && !p->gone && p->address >= lo && p->address < hi)
				return 1;
	return 0;
}

struct text_place *probe_points_get(uint64_t address)
{
	struct text_place *p = probe_points_find(address);

	if (p)
		return p;
	p = heap_alloc(sizeof(*p));
	if (!p)
		return NULL;
	p->address = address;
	p->next = *chain_of(address);
	*chain_of(address) = p;
	return p;
}

static int places_get(uint64_t address, struct text_place **out, const char **why)
{
	uint64_t lo, hi;

	*why = "no probe outside of the program's code";
	if (!object_of(address, &lo, &hi))
		return -EINVAL;
	*out = probe_points_get(address);
	return *out ? 0 : -ENOMEM;
}

/* Store up to eight bytes at once, if they are in an aligned word. */
static void store_word(uint64_t address, const uint8_t *bytes, uint32_t n)
{
	uint64_t *word = text_at((void *)(address & ~UINT64_C(7)));
	uint64_t value = *word;

	memcpy((uint8_t *)&value + (address & 7), bytes, n);
	*(volatile uint64_t *)word = value;
}

static int write_text(uint64_t at, const uint8_t *bytes, uint32_t n)
{
	volatile uint16_t *first = text_at((void *)at);
	int err = 0;

	if (n == 1) {
		*(volatile uint8_t *)first = bytes[0];
	} else if (n == 2) {
		*first = (uint16_t)(bytes[0] | bytes[1] << 8);
	} else if ((at & 7) + n <= 8) {
		store_word(at, bytes, n);
	} else {
		*first = TEXT_STAY;
		err = text_sync();
		memcpy(text_at((void *)(at + 2)), bytes + 2, n - 2);
		if (!err)
			err = text_sync();
		*first = (uint16_t)(bytes[0] | bytes[1] << 8);
	}
	return err ? err : text_sync();
}

/* If the text is as expected, write the new bytes. */
static int replace(const struct text_place *place, const uint8_t *was, const uint8_t *bytes)
{
	uint32_t n = place->way->written;
	uint64_t at = place->address, lo = at & ~UINT64_C(4095);
	uint64_t hi = (at + n + 4095) & ~UINT64_C(4095), signals;
	int err;

	if (memcmp((const void *)at, was, n))
		return -EBUSY;
	signals = sys_set_signals(UINT64_MAX);
	err = text_open(lo, hi);
	if (!err) {
		err = write_text(at, bytes, n);
		text_close(lo, hi);
	}
	sys_set_signals(signals);
	return err;
}

/* Use an earlier way again if the text is as it was then. */
static int find_way(struct text_place *place, const uint8_t *now)
{
	struct text_way *w;

	for (w = place->ways; w; w = w->next) {
		if (w->leads_away || memcmp(w->text, now, w->pinned) ||
		    text_is_claimed(place->address, place->address + w->pinned))
			continue;
		place->way = w;
		return 1;
	}
	return 0;
}

static int arm_one(struct text_place *place, const char **why)
{
	uint8_t now[sizeof(place->saved)];
	uint64_t lo, hi;
	int err = 0, movable;

	*why = "no probe outside of the program's code";
	if (!bounds_of(place, &lo, &hi))
		return -EINVAL;
	read_raw(place->address, hi, now, sizeof(now));
	memcpy(place->saved, now, sizeof(now));
	place->bytes = (uint8_t)text_insn_bytes(now, sizeof(now), &movable);
	*why = "no probe on an instruction that cannot run elsewhere";
	if (!place->bytes || !movable)
		return -EINVAL;
	if (!find_way(place, now))
		err = make_way(place, now, lo, hi, why);
	if (err)
		return err;
	*why = "no probe: the text cannot be written";
	err = replace(place, place->saved, place->way->patched);
	place->armed = !err;
	return err;
}

static int disarm_one(struct text_place *place)
{
	int err = replace(place, place->way->patched, place->saved);

	place->armed = err != 0;
	return err;
}

/*
 * Find the probe points below whose jumps rely on the bytes of @place, and those that rely on these
 * in turn. Return: the lowest one; `above` leads from it to the others.
 */
static struct text_place *find_below(const struct text_place *place)
{
	uint64_t lowest = place->address, a;
	struct text_place *list = NULL, *p;

	for (a = lowest - 1; a >= lowest - MAX_PINNED; a--) {
		p = probe_points_armed(a);
		if (!p || a + p->way->pinned <= lowest)
			continue;
		p->above = list;
		list = p;
		lowest = a;
	}
	return list;
}

/*
 * Disarm the lowest one first, as it relies on the next. Return: 0; -errno: those from the failed
 * one on are unchanged.
 */
static int disarm_list(struct text_place *list)
{
	int err = 0;

	for (; list && !err; list = list->above)
		if (list->armed)
			err = disarm_one(list);
	return err;
}

/* Arm the highest one first. */
static int arm_list(struct text_place *list, const char **why)
{
	int err;

	if (!list)
		return 0;
	err = arm_list(list->above, why);
	return err || list->armed ? err : arm_one(list, why);
}

/*
 * Change a probe point, and those below that rely on its bytes: these are disarmed meanwhile, and
 * then jump in another way. If that is not possible, all is undone, and each keeps its former
 * island.
 */
int probe_points_change(struct text_place *place, int on, const char **why)
{
	struct text_place *below = find_below(place);
	const char *ignored;
	int err = disarm_list(below);

	if (!err)
		err = on ? arm_one(place, why) : disarm_one(place);
	if (!err) {
		err = arm_list(below, why);
		if (!err)
			return 0;
		disarm_list(below);
		if (on)
			disarm_one(place);
		else
			arm_one(place, &ignored);
	}
	arm_list(below, &ignored);
	return err;
}

static int places_arm(struct text_place *place, const char **why)
{
	struct text_window w;
	struct text_place *p = place;
	int err = 0;

	/* change it at the address where it runs */
	if (window_at(place->address, &w)) {
		p = probe_moved_copy(place, &w);
		if (!p)
			return -ENOMEM;
	}
	if (!p->armed)
		err = probe_points_change(p, 1, why);
	place->on = !err;
	return err;
}

static int has_probes(const struct text_place *place)
{
	return (place->of ? place->of : place)->probes != NULL;
}

static int disarm_here(struct text_place *place)
{
	const char *ignored;
	uint64_t a;
	int err = place->armed ? probe_points_change(place, 0, &ignored) : 0;

	/*
	 * one below may have a way of jumping only while this one is armed: then this one stays,
	 * without a probe; others above may have stayed for this one
	 */
	if (err)
		return place->armed && err != -EBUSY ? 0 : err;
	for (a = place->address + 1; a < place->address + MAX_PINNED; a++) {
		struct text_place *p = probe_points_armed(a);

		if (p && !has_probes(p))
			disarm_here(p);
	}
	return 0;
}

static int places_disarm(struct text_place *place)
{
	int err = disarm_here(place), at_copy = place->copy ? disarm_here(place->copy) : 0;

	place->on = 0;
	return err ? err : at_copy;
}

static const struct text_probe_hook places_hook = {
	.check = places_check,
	.get = places_get,
	.arm = places_arm,
	.disarm = places_disarm,
	.read = probe_points_read,
};

uint64_t probe_points_copy(const struct text_window *w, uint64_t address)
{
	return windows->copy(w, address);
}

void probe_points_register(const struct text_windows *redirects)
{
	windows = redirects;
	text_probe_register(&places_hook);
	text_probe_claim(sites_claim);
}

void probe_points_forget(const struct object *o)
{
	const struct area_object *row = object_row(o);
	struct text_place *p;
	struct text_way *w;
	uint32_t i;

	for (i = 0; i < NR_CHAINS; i++) {
		for (p = places[i]; p; p = p->next) {
			uint64_t address = p->of ? p->of->address : p->address;

			if (p->gone || address < row->lo || address >= row->hi)
				continue;
			text_place_gone(p);
			for (w = p->ways; w; w = w->next) {
				island_cfi_forget((const uint8_t *)w->island);
				island_cfi_forget((const uint8_t *)w->landing);
				give_room(w);
			}
		}
	}
}
