/* SPDX-License-Identifier: MIT */
/*
 * Patching the sites of an object. Owns the memory near each text: slots (data, for sites of six
 * bytes or more) and islands (code, for those of five), 16 bytes a function each.
 *
 * Text is written through a view of the object's own range that is writable for as long as it takes
 * (mprotect). Everything here runs in the constructor, before any other thread can execute a site,
 * so bytes are simply stored; the bytes found are verified first, and a site that is not as we left
 * it is refused. fork: the child has the same text. Costs: bench "start-up". Tests:
 * tests/engine/test_scan.py, test_calls.py.
 */
#include "engine/hook/sites.h"

#include <errno.h>

#include "arch_patch.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/core/function.h"
#include "engine/hook/entry.h"
#include "engine/hook/near_map.h"

/* What a struct object keeps for this hook. */
struct sites {
	uint64_t lo, hi;	 /* pages of text that hold sites */
	struct arch_slot *slots; /* one a function; NULL if no site has six bytes */
	uint8_t *islands; /* a page with the pointer, then one a function; NULL if none has five */
	size_t islands_bytes;
};

#define ISLAND_BYTES   16u
#define ISLANDS_OFFSET 4096u

static void (*entry_function)(void) = hook_function_xadd_lsl;

void sites_choose_entry(int rseq, int tsc)
{
	if (!tsc)
		entry_function = hook_function_mono;
	else if (rseq)
		entry_function = hook_function_rseq;
	else
		entry_function =
			arch_has_rdpid() ? hook_function_xadd_rdpid : hook_function_xadd_lsl;
}

static uint8_t *site_of(const struct area_object *row, const struct area_function *f)
{
	uint32_t marker = f->flags & AREA_FUNCTION_ENDBR ? ARCH_MARKER_BYTES : 0;

	return (uint8_t *)(row->bias + f->offset + marker);
}

static uint32_t site_bytes(const struct area_function *f)
{
	return f->nop_bytes >= ARCH_SITE_FULL ? ARCH_SITE_FULL : ARCH_SITE_MIN;
}

static uint8_t *island_of(const struct sites *s, uint32_t i)
{
	return s->islands + ISLANDS_OFFSET + (uint64_t)i * ISLAND_BYTES;
}

static int open_text(const struct sites *s)
{
	return sys_mprotect((void *)s->lo, s->hi - s->lo, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void close_text(const struct sites *s)
{
	sys_mprotect((void *)s->lo, s->hi - s->lo, PROT_READ | PROT_EXEC);
}

static int map_near(struct sites *s, const struct area_object *row)
{
	uint32_t i, full = 0;

	for (i = 0; i < row->nr_functions; i++)
		full += area_function(row->first_function + i)->nop_bytes >= ARCH_SITE_FULL;
	if (full) {
		s->slots = near_map(s->lo, s->hi, (size_t)row->nr_functions * sizeof(*s->slots));
		if (!s->slots)
			return -ENOMEM;
	}
	if (full < row->nr_functions) {
		s->islands_bytes = ISLANDS_OFFSET + (size_t)row->nr_functions * ISLAND_BYTES;
		s->islands = near_map(s->lo, s->hi, s->islands_bytes);
		if (!s->islands)
			return -ENOMEM;
	}
	return 0;
}

static void make_nops(const struct sites *s, const struct area_object *row)
{
	uint32_t i;

	(void)s;
	for (i = 0; i < row->nr_functions; i++) {
		const struct area_function *f = area_function(row->first_function + i);

		arch_make_nops(site_of(row, f), f->nop_bytes);
	}
}

int sites_prepare(struct object *o)
{
	struct area_object *row = object_row(o);
	const struct area_function *first = area_function(row->first_function);
	const struct area_function *last = first + row->nr_functions - 1;
	struct sites *s;
	long p;
	int err;

	p = sys_mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(p))
		return (int)p;
	s = (void *)p;
	s->lo = (uint64_t)site_of(row, first) & ~UINT64_C(4095);
	s->hi = ((uint64_t)site_of(row, last) + last->nop_bytes + 4095) & ~UINT64_C(4095);
	err = open_text(s);
	if (err) {
		row->status = AREA_OBJECT_NOT_WRITABLE;
	} else {
		make_nops(s, row);
		close_text(s);
		err = map_near(s, row);
		if (err)
			row->status = AREA_OBJECT_NO_ISLANDS;
	}
	if (err) {
		row->errno_value = (uint32_t)-err;
		area_status(row->status == AREA_OBJECT_NO_ISLANDS
				    ? "no free address range within 2 GiB of its text"
				    : "its text cannot be made writable",
			    o->path, err);
		sys_munmap(s, sizeof(*s));
		return err;
	}
	o->hook_data = s;
	return 0;
}

/* The bytes of a site while it is on. */
static void make_call(const struct sites *s, uint32_t i, const uint8_t *site, uint32_t n,
		      uint8_t *bytes)
{
	if (n == ARCH_SITE_FULL)
		arch_make_call_slot(bytes, (int32_t)((uint8_t *)&s->slots[i] - (site + n)));
	else
		arch_make_call_island(bytes, (int32_t)(island_of(s, i) - (site + n)));
}

static void fill_near(struct sites *s, const struct area_object *row, enum record_kind kind)
{
	uint64_t target = (uint64_t)entry_function;
	uint32_t i;

	if (s->islands)
		memcpy(s->islands, &target, sizeof(target));
	for (i = 0; i < row->nr_functions; i++) {
		uint32_t id = row->first_function + i;
		uint64_t word = (uint64_t)kind << RECORD_KIND_SHIFT | (uint64_t)id
									      << RECORD_ID_SHIFT;

		if (site_bytes(area_function(id)) == ARCH_SITE_FULL)
			s->slots[i] = (struct arch_slot){target, word};
		else
			arch_make_island(island_of(s, i),
					 (int32_t)(s->islands - (island_of(s, i) + 6)), word);
	}
}

static void switch_site(const struct object *o, const struct sites *s, uint32_t i, int on)
{
	const struct area_object *row = object_row(o);
	struct area_function *f = area_function(row->first_function + i);
	uint8_t *site = site_of(row, f);
	uint32_t n = site_bytes(f);
	uint8_t call[ARCH_SITE_FULL], nops[ARCH_SITE_FULL];

	make_call(s, i, site, n, call);
	arch_make_nops(nops, n);
	if (memcmp(site, on ? nops : call, n)) {
		function_refuse((struct object *)o, f->offset, AREA_REFUSED_CHANGED, n);
		return;
	}
	memcpy(site, on ? call : nops, n);
	f->enabled = (uint8_t)on;
}

int sites_arm(struct object *o, const uint64_t *want, enum record_kind kind)
{
	const struct area_object *row = object_row(o);
	struct sites *s = o->hook_data;
	uint32_t i;
	int err;

	if (!s)
		return -(int)row->errno_value;
	if (kind != RECORD_VOID) {
		if (s->islands &&
		    sys_mprotect(s->islands, s->islands_bytes, PROT_READ | PROT_WRITE))
			return -EACCES;
		fill_near(s, row, kind);
		if (s->islands) {
			err = sys_mprotect(s->islands, s->islands_bytes, PROT_READ | PROT_EXEC);
			if (err)
				return err;
		}
	}
	err = open_text(s);
	if (err)
		return err;
	for (i = 0; i < row->nr_functions; i++) {
		int on = want[i / 64] >> (i % 64) & 1;

		if (area_function(row->first_function + i)->enabled != on)
			switch_site(o, s, i, on);
	}
	close_text(s);
	return 0;
}
