/* SPDX-License-Identifier: MIT */
/*
 * The sites of an object, and the memory near its text to which they lead: a slot (data) for each
 * function, and for sites of five bytes two islands (code) that jump through it. What changes while
 * other threads run is the first byte or two of a site:
 *
 *	6 bytes		function  ff 15 disp32	call *slot(%rip)
 *			graph	  ff 25 disp32	jmp *slot(%rip)
 *			off	  40 a9 disp32	test $disp32, %eax
 *	5 bytes		function  e8 disp32	call island
 *			graph	  e9 disp32	jmp graph island
 *			off	  a9 disp32	test $disp32, %eax
 *
 * The displacement stays, on or off, because the hook reads it: a thread that has made the call may
 * come to that after the site was switched off. A test with an immediate does nothing but set
 * flags, which are dead where a function begins. Where a slot leads changes only while its site is
 * off, and text_sync() has made sure that nobody is inside it. A thread may stand on an island for
 * any time, below a handler or without a CPU, having called or jumped there: so what is called and
 * what is jumped to are two islands with a pointer each. They differ in the displacement's lowest
 * byte alone, which is changed while the site is off, and both have the word that the hook looks for.
 * Six bytes whose first two straddle a cache line are used as a NOP and five. A kept site (callee.h) is always a call: its slot says
 * whether it leads to a record first or straight to where the compiler's call went.
 *
 * Calls cannot be wrapped at a site behind the prologue, nor at a kept one: those have no graph.
 * fork: the child has the same text and the same memory. Costs: bench "start-up", "switching". Tests: tests/engine/.
 */
#include "engine/hook/sites.h"

#include <errno.h>

#include "arch_patch.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/core/function.h"
#include "engine/hook/callee.h"
#include "engine/hook/entry.h"
#include "engine/hook/graph.h"
#include "engine/hook/island_rows.h"
#include "engine/hook/near_map.h"
#include "engine/hook/sites_impl.h"
#include "engine/core/text_patch.h"

/* area_function.enabled of a site that could not be switched off: somebody else has written there. */
#define LEFT_ON 2

#define ISLAND_BYTES 48u /* the one that is called, and before or behind it the graph's */

/* By what the process has: how it reserves, and its clock. */
static const struct hook_entries *entries = &hook_entries_xadd_lsl;

void sites_choose_entry(int rseq, int tsc, int stamps)
{
	ops_entry_start();
	if (!stamps)
		entries = rseq ? &hook_entries_none_rseq : &hook_entries_none_xadd;
	else if (!tsc)
		entries = &hook_entries_mono;
	else if (rseq)
		entries = &hook_entries_rseq;
	else
		entries = arch_has_rdpid() ? &hook_entries_xadd_rdpid : &hook_entries_xadd_lsl;
}

const struct hook_entries *sites_entries(void)
{
	return entries;
}

/* Where that of a kept site leads when it is off. */
static uint64_t target_kept(const struct area_function *f)
{
	return (uint64_t)(f->how == AREA_BY_MCOUNT ? hook_real_mcount : hook_real_fentry);
}

struct site sites_site_of(const struct area_object *row, const struct area_function *f)
{
	struct site s = {.at = (uint8_t *)(row->bias + f->offset + f->site), .bytes = f->nop_bytes};

	if (s.bytes > ARCH_SITE_MIN && !text_pair_in_line(s.at)) {
		s.at++;
		s.bytes--;
	}
	if (s.bytes > ARCH_SITE_FULL)
		s.bytes = ARCH_SITE_FULL;
	return s;
}

/* @wraps: the graph's island. */
static uint8_t *island_of(const struct sites *s, uint32_t i, const struct site *site, int wraps)
{
	uint8_t *called = s->islands + (uint64_t)i * ISLAND_BYTES + ISLAND_BYTES / 3;
	uint8_t lowest = (uint8_t)(called - (site->at + site->bytes));

	if (!wraps)
		return called;
	return lowest + ISLAND_BYTES / 3 <= UINT8_MAX ? called + ISLAND_BYTES / 3
						      : called - ISLAND_BYTES / 3;
}

/* @i: the function's index in the object. @wraps: the call is wrapped. */
static void make_forms_as(const struct sites *s, uint32_t i, const struct site *site,
			  const struct area_function *f, int wraps, struct forms *forms)
{
	const uint8_t *end = site->at + site->bytes;
	const uint8_t *to = site->bytes == ARCH_SITE_FULL ? (uint8_t *)&s->slots[i]
							  : island_of(s, i, site, wraps);

	arch_make_site(forms->on, site->bytes, wraps, (int32_t)(to - end));
	if (is_kept(f))
		memcpy(forms->off, forms->on, site->bytes);
	else
		arch_make_off(forms->off, forms->on, site->bytes);
}

static void make_forms(const struct sites *s, uint32_t i, const struct site *site,
		       const struct area_function *f, struct forms *forms)
{
	make_forms_as(s, i, site, f, sites_wraps(s, i, f), forms);
}

void sites_each(const struct object *o, site_fn *fn, void *arg)
{
	const struct area_object *row = object_row(o);
	const struct sites *s = o->hook_data;
	uint32_t i;

	for (i = 0; i < row->nr_functions; i++) {
		const struct area_function *f = area_function(row->first_function + i);
		struct site site = sites_site_of(row, f);
		struct forms forms;

		if (!has_site(f))
			continue;
		make_forms(s, i, &site, f, &forms);
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
	const struct area_function *f = area_function((uint32_t)id);
	uint64_t *pointer = &s->slots[i].target;
	int wraps;

	(void)forms;
	(void)arg;
	s->slots[i] = (struct arch_slot){is_kept(f) ? target_kept(f) : sites_target_on(f), word};
	for (wraps = 0; wraps < 2 && site->bytes != ARCH_SITE_FULL; wraps++) {
		uint8_t *island = island_of(s, i, site, wraps);

		if (wraps)
			pointer = sites_graph_pointer(s, i, site);
		arch_make_island(island, (int32_t)((uint8_t *)pointer - (island + 6)), word);
	}
}

/* Nothing else runs yet: the compiler's NOPs become the site's off form. */
static void settle_one(const struct object *o, uint32_t i, const struct site *site,
		       const struct forms *forms, void *arg)
{
	const struct area_object *row = object_row(o);
	const struct area_function *f = area_function(row->first_function + i);
	uint8_t *first = (uint8_t *)(row->bias + f->offset + f->site);
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
	uint32_t i, nr_full = 0;

	s->slots = near_map(s->lo, s->hi, (size_t)row->nr_functions * sizeof(*s->slots));
	if (!s->slots)
		return -ENOMEM;
	for (i = 0; i < row->nr_functions; i++)
		nr_full += sites_site_of(row, area_function(row->first_function + i)).bytes ==
			   ARCH_SITE_FULL;
	if (nr_full == row->nr_functions)
		return 0;
	s->islands_bytes = (size_t)row->nr_functions * ISLAND_BYTES;
	s->islands = near_map(s->lo, s->hi, s->islands_bytes + ISLAND_ROWS_BYTES);
	if (!s->islands)
		return -ENOMEM;
	island_rows_make(s->islands, s->islands_bytes, island_called_rules,
			 sizeof(island_called_rules));
	s->islands_bytes += ISLAND_ROWS_BYTES;
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
	sites_each(o, fill_one, NULL);
	if (s->islands)
		err = sys_mprotect(s->islands, s->islands_bytes, PROT_READ | PROT_EXEC);
	if (!err)
		err = text_open(s->lo, s->hi);
	if (err) {
		row->status = AREA_OBJECT_NOT_WRITABLE;
		return err;
	}
	sites_each(o, settle_one, NULL);
	text_close(s->lo, s->hi);
	return 0;
}

/* The pages that hold sites. Return: whether there are any. */
static int find_bounds(struct sites *s, const struct area_object *row)
{
	uint32_t i;

	s->lo = UINT64_MAX;
	for (i = 0; i < row->nr_functions; i++) {
		const struct area_function *f = area_function(row->first_function + i);
		uint64_t at = row->bias + f->offset + f->site;

		if (!has_site(f))
			continue;
		if (at < s->lo)
			s->lo = at & ~UINT64_C(4095);
		if (at + f->nop_bytes > s->hi)
			s->hi = (at + f->nop_bytes + 4095) & ~UINT64_C(4095);
	}
	return s->hi != 0;
}

int sites_prepare(struct object *o)
{
	struct area_object *row = object_row(o);
	struct sites bounds = {0}, *s;
	long p;
	int err;

	if (!find_bounds(&bounds, row))
		return 0;
	p = sys_mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(p))
		return (int)p;
	s = (struct sites *)p;
	*s = bounds;
	s->kind = RECORD_FUNCTION;
	s->aimed = entries;
	s->aimed_args = function_args;
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

/*
 * Those that were left on and are as we left them by now, whatever was recorded there then: off. A
 * kept site is the same on and off, its slot tells.
 */
static void take_back(const struct object *o, uint32_t i, const struct site *site,
		      const struct forms *forms, void *arg)
{
	struct area_function *f = area_function(object_row(o)->first_function + i);
	struct sites *s = o->hook_data;
	struct forms was;
	int wraps;

	(void)forms;
	(void)arg;
	if (f->enabled != LEFT_ON)
		return;
	for (wraps = 0; wraps < 2; wraps++) {
		make_forms_as(s, i, site, f, wraps, &was);
		if (memcmp(site->at, was.on, site->bytes))
			continue;
		if (is_kept(f))
			*(volatile uint64_t *)&s->slots[i].target = target_kept(f);
		else
			text_switch(site->at, was.off, site->bytes);
		f->enabled = 0;
		s->nr_left--;
		return;
	}
}

static int take_all_back(struct object *o)
{
	const struct sites *s = o->hook_data;
	int err = s->nr_left ? text_open(s->lo, s->hi) : 0;

	if (err || !s->nr_left)
		return err;
	sites_each(o, take_back, NULL);
	text_close(s->lo, s->hi);
	return text_sync();
}

/* A site of five bytes that is off, and is to lead to the other island when it is on. */
static void turn_one(const struct object *o, uint32_t i, const struct site *site,
		     const struct forms *forms, void *arg)
{
	const struct area_function *f = area_function(object_row(o)->first_function + i);
	const struct sites *s = o->hook_data;
	const uint64_t *want = arg;
	struct forms was;

	if (f->enabled || !(want[i / 64] >> (i % 64) & 1) || site->bytes == ARCH_SITE_FULL)
		return;
	make_forms_as(s, i, site, f, !sites_wraps(s, i, f), &was);
	if (!memcmp(site->at, was.off, site->bytes))
		*(volatile uint8_t *)(site->at + 1) = forms->off[1];
}

/* A site that is not as we left it (a debugger's INT3, another tool) is refused, and named. */
static void switch_one(const struct object *o, uint32_t i, const struct site *site,
		       const struct forms *forms, void *arg)
{
	struct area_function *f = area_function(object_row(o)->first_function + i);
	struct sites *s = o->hook_data;
	const uint64_t *want = arg;
	int on = (int)(want[i / 64] >> (i % 64) & 1);

	if (f->enabled == on || f->enabled == LEFT_ON)
		return;
	if (memcmp(site->at, on ? forms->off : forms->on, site->bytes)) {
		function_refuse((struct object *)o, f->offset, AREA_REFUSED_CHANGED, site->bytes);
		if (!on) {
			f->enabled = LEFT_ON;
			s->nr_left++;
		}
		return;
	}
	if (is_kept(f))
		*(volatile uint64_t *)&s->slots[i].target =
			on ? sites_target_on(f) : target_kept(f);
	else
		text_switch(site->at, on ? forms->on : forms->off, site->bytes);
	f->enabled = (uint8_t)on;
	if (on)
		f->flags |= AREA_FUNCTION_TOUCHED;
}

int sites_arm(struct object *o, uint64_t *want, enum record_kind kind)
{
	const struct sites *s = o->hook_data;
	int err;

	if (!s) /* no site at all, or none that can be reached */
		return -(int)object_row(o)->errno_value;
	err = take_all_back(o);
	if (!err)
		err = sites_aim_ops(o);
	if (!err)
		err = sites_aim(o, want, kind);
	if (!err)
		err = sites_chain_ops(o, want, kind);
	if (!err)
		err = text_open(s->lo, s->hi);
	if (err)
		return err;
	sites_each(o, turn_one, want);
	err = s->islands ? text_sync() : 0;
	if (!err)
		sites_each(o, switch_one, want);
	text_close(s->lo, s->hi);
	return err ? err : text_sync();
}

void sites_forget(struct object *o)
{
	struct sites *s = o->hook_data;

	if (!s)
		return;
	if (s->stubs) {
		size_t stubs;
		uint32_t i;

		for (i = 0; i < object_row(o)->nr_functions; i++)
			if (s->stubs[i])
				graph_stub_give(s->stubs[i] - 1);
		sys_munmap(s->stubs, sites_stub_table_bytes(o, &stubs));
	}
	if (s->ops)
		sys_munmap(s->ops, object_row(o)->nr_functions / 8 + 8);
	if (s->slots)
		sys_munmap(s->slots, object_row(o)->nr_functions * sizeof(*s->slots));
	if (s->islands) {
		island_rows_forget(s->islands);
		sys_munmap(s->islands, s->islands_bytes);
	}
	sys_munmap(s, sizeof(*s));
}
