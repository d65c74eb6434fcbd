/* SPDX-License-Identifier: MIT */
/*
 * The sites of an object, and the memory near its text to which they lead: slots (data, for sites
 * of six bytes) and islands (code, for those of five). Slots and islands are filled once, while
 * only one thread runs, and never change; what changes is the first byte or two of a site:
 *
 *	6 bytes		on  ff 15 disp32	call *slot(%rip)
 *			off 40 a9 disp32	test $disp32, %eax
 *	5 bytes		on  e8 disp32		call island
 *			off a9 disp32		test $disp32, %eax
 *
 * The displacement stays, on or off, because the hook reads it: a thread that has made the call may
 * come to that after the site was switched off. A test with an immediate does nothing but set
 * flags, which are dead where a function begins. Six bytes whose first two straddle a cache line
 * are used as a NOP and five. fork: the child has the same text and the same memory. Costs: bench
 * "start-up", "switching". Tests: tests/engine/.
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
#include "engine/hook/text_patch.h"

/* What a struct object keeps for this hook. */
struct sites {
	uint64_t lo, hi;	 /* pages of text that hold sites */
	struct arch_slot *slots; /* one a function; NULL if no site has six bytes */
	uint8_t *islands; /* a page with the pointer, one a function, then the aligned ones */
	size_t islands_bytes;
	uint8_t *aligned; /* inside islands: a cell for each straddling site, in their order */
	uint32_t nr_full, nr_straddling;
	uint64_t *todo; /* one bit a function: what the current change touches */
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

/* Where a function's site is and how long: six bytes or five. */
struct site {
	uint8_t *at;
	uint32_t bytes;
};

static struct site site_of(const struct area_object *row, const struct area_function *f)
{
	uint32_t marker = f->flags & AREA_FUNCTION_ENDBR ? ARCH_MARKER_BYTES : 0;
	struct site s = {.at = (uint8_t *)(row->bias + f->offset + marker), .bytes = f->nop_bytes};

	if (s.bytes > ARCH_SITE_MIN && !text_pair_in_line(s.at)) {
		s.at++;
		s.bytes--;
	}
	if (s.bytes > ARCH_SITE_FULL)
		s.bytes = ARCH_SITE_FULL;
	return s;
}

static uint8_t *island_of(const struct sites *s, uint32_t i)
{
	return s->islands + ISLANDS_OFFSET + (uint64_t)i * ISLAND_BYTES;
}

/* The bytes of a site, on and off. */
struct forms {
	uint8_t on[ARCH_SITE_FULL];
	uint8_t off[ARCH_SITE_FULL];
};

/* @i: the function's index in the object. */
static void make_forms(const struct sites *s, uint32_t i, const struct site *site, struct forms *f)
{
	const uint8_t *end = site->at + site->bytes;

	if (site->bytes == ARCH_SITE_FULL)
		arch_make_call_slot(f->on, (int32_t)((uint8_t *)&s->slots[i] - end));
	else
		arch_make_call_island(f->on, (int32_t)(island_of(s, i) - end));
	arch_make_off(f->off, f->on, site->bytes);
}

/* Call back for each function of the object with its site and both forms of it. */
typedef void site_fn(const struct object *o, uint32_t i, const struct site *site,
		     const struct forms *forms, void *arg);

static void each_site(const struct object *o, site_fn *fn, void *arg)
{
	const struct area_object *row = object_row(o);
	const struct sites *s = o->hook_data;
	uint32_t i;

	for (i = 0; i < row->nr_functions; i++) {
		struct site site = site_of(row, area_function(row->first_function + i));
		struct forms forms;

		make_forms(s, i, &site, &forms);
		fn(o, i, &site, &forms, arg);
	}
}

/* The words that the entry points find: the record's head without its stamp. */
static void fill_one(const struct object *o, uint32_t i, const struct site *site,
		     const struct forms *forms, void *arg)
{
	struct sites *s = o->hook_data;
	uint64_t id = object_row(o)->first_function + i;
	uint64_t word = (uint64_t)RECORD_FUNCTION << RECORD_KIND_SHIFT | id << RECORD_ID_SHIFT;
	uint8_t *island = island_of(s, i);

	(void)forms;
	(void)arg;
	if (site->bytes == ARCH_SITE_FULL)
		s->slots[i] = (struct arch_slot){(uint64_t)entry_function, word};
	else
		arch_make_island(island, (int32_t)(s->islands - (island + 6)), word);
}

/* Nothing else runs yet: the compiler's NOPs become the site's off form. */
static void settle_one(const struct object *o, uint32_t i, const struct site *site,
		       const struct forms *forms, void *arg)
{
	const struct area_object *row = object_row(o);
	const struct area_function *f = area_function(row->first_function + i);
	uint32_t marker = f->flags & AREA_FUNCTION_ENDBR ? ARCH_MARKER_BYTES : 0;
	uint8_t *first = (uint8_t *)(row->bias + f->offset + marker);
	uint8_t *end = first + f->nop_bytes, *rest = site->at + site->bytes;

	(void)arg;
	if (first < site->at)
		*first = arch_one_nop;
	memcpy(site->at, forms->off, site->bytes);
	if (rest < end)
		arch_make_nops(rest, (uint32_t)(end - rest));
}

static int map_near(struct sites *s, const struct area_object *row)
{
	uint64_t target = (uint64_t)entry_function;
	uint32_t i, nr_full = 0;

	for (i = 0; i < row->nr_functions; i++)
		nr_full += site_of(row, area_function(row->first_function + i)).bytes ==
			   ARCH_SITE_FULL;
	if (nr_full) {
		s->slots = near_map(s->lo, s->hi, (size_t)row->nr_functions * sizeof(*s->slots));
		if (!s->slots)
			return -ENOMEM;
	}
	if (nr_full < row->nr_functions) {
		s->islands_bytes = ISLANDS_OFFSET + (size_t)row->nr_functions * ISLAND_BYTES;
		s->islands = near_map(s->lo, s->hi, s->islands_bytes);
		if (!s->islands)
			return -ENOMEM;
		memcpy(s->islands, &target, sizeof(target));
	}
	return 0;
}

static int settle(struct object *o, struct sites *s)
{
	struct area_object *row = object_row(o);
	int err;

	err = map_near(s, row);
	if (err) {
		row->status = AREA_OBJECT_NO_ISLANDS;
		return err;
	}
	each_site(o, fill_one, NULL);
	if (s->islands)
		err = sys_mprotect(s->islands, s->islands_bytes, PROT_READ | PROT_EXEC);
	if (!err)
		err = text_open(s->lo, s->hi);
	if (err) {
		row->status = AREA_OBJECT_NOT_WRITABLE;
		return err;
	}
	each_site(o, settle_one, NULL);
	text_close(s->lo, s->hi);
	return 0;
}

int sites_prepare(struct object *o)
{
	struct area_object *row = object_row(o);
	const struct area_function *last =
		area_function(row->first_function + row->nr_functions - 1);
	struct sites *s;
	long p = sys_mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	int err;

	if (sys_failed(p))
		return (int)p;
	s = (struct sites *)p;
	s->lo = (uint64_t)site_of(row, area_function(row->first_function)).at & ~UINT64_C(4095);
	s->hi = (row->bias + last->offset + ARCH_MARKER_BYTES + last->nop_bytes + 4095) &
		~UINT64_C(4095);
	o->hook_data = s;
	err = settle(o, s);
	if (!err)
		return 0;
	o->hook_data = NULL;
	row->errno_value = (uint32_t)-err;
	area_status(row->status == AREA_OBJECT_NO_ISLANDS
			    ? "no free address range within 2 GiB of its text"
			    : "its text cannot be made writable",
		    o->path, err);
	return err;
}

/* A site that is not as we left it (a debugger's INT3, another tool) is refused, and named. */
static void switch_one(const struct object *o, uint32_t i, const struct site *site,
		       const struct forms *forms, void *arg)
{
	struct area_function *f = area_function(object_row(o)->first_function + i);
	const uint64_t *want = arg;
	int on = (int)(want[i / 64] >> (i % 64) & 1);

	if (f->enabled == on)
		return;
	if (memcmp(site->at, on ? forms->off : forms->on, site->bytes)) {
		function_refuse((struct object *)o, f->offset, AREA_REFUSED_CHANGED, site->bytes);
		return;
	}
	text_switch(site->at, on ? forms->on : forms->off, site->bytes);
	f->enabled = (uint8_t)on;
}

int sites_arm(struct object *o, const uint64_t *want)
{
	const struct sites *s = o->hook_data;
	int err;

	if (!s)
		return -(int)object_row(o)->errno_value;
	err = text_open(s->lo, s->hi);
	if (err)
		return err;
	each_site(o, switch_one, (void *)(uintptr_t)want);
	text_close(s->lo, s->hi);
	return text_sync();
}

void sites_forget(struct object *o)
{
	struct sites *s = o->hook_data;

	if (!s)
		return;
	if (s->slots)
		sys_munmap(s->slots, object_row(o)->nr_functions * sizeof(*s->slots));
	if (s->islands)
		sys_munmap(s->islands, s->islands_bytes);
	sys_munmap(s, sizeof(*s));
}
