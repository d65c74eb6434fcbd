/* SPDX-License-Identifier: MIT */
/*
 * The sites of an object, and the memory near its text to which they lead: a slot (data) for each
 * function, and for sites of five bytes an island (code) that jumps through it. What changes while
 * other threads run is the first byte or two of a site:
 *
 *	6 bytes		function  ff 15 disp32	call *slot(%rip)
 *			graph	  ff 25 disp32	jmp *slot(%rip)
 *			off	  40 a9 disp32	test $disp32, %eax
 *	5 bytes		function  e8 disp32	call island
 *			graph	  e9 disp32	jmp island
 *			off	  a9 disp32	test $disp32, %eax
 *
 * The displacement stays, on or off, because the hook reads it: a thread that has made the call may
 * come to that after the site was switched off. A test with an immediate does nothing but set
 * flags, which are dead where a function begins. Where a slot leads changes only while its site is
 * off, and text_sync() has made sure that nobody is inside it. Six bytes whose first two straddle a
 * cache line are used as a NOP and five. A kept site (callee.h) is always a call: its slot says
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
#include "engine/core/calls.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/hook/callee.h"
#include "engine/hook/entry.h"
#include "engine/hook/graph.h"
#include "engine/hook/graph_avoid.h"
#include "engine/hook/island_rows.h"
#include "engine/hook/near_map.h"
#include "engine/core/text_patch.h"

/* What a struct object keeps for this hook. */
struct sites {
	uint64_t lo, hi;	 /* pages of text that hold sites */
	struct arch_slot *slots; /* one a function */
	uint8_t *islands;	 /* one a function; NULL if all sites have six bytes */
	size_t islands_bytes;
	uint64_t *ops;	 /* one bit a function: its slot leads to target_ops(); NULL: none does */
	uint32_t *stubs; /* one a function: its wrap stub + 1; NULL before the first graph */
	uint64_t *avoid; /* one bit a function: not to be wrapped; behind the stubs */
	enum record_kind kind; /* RECORD_FUNCTION or RECORD_ENTRY: what the sites that are on do */
	const struct hook_entries *aimed; /* where the slots lead */
	uint32_t aimed_args;		  /* function_args then */
	uint32_t nr_left;		  /* LEFT_ON */
};

/* area_function.enabled of a site that could not be switched off: somebody else has written there. */
#define LEFT_ON 2

#define ISLAND_BYTES 16u

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

static int is_kept(const struct area_function *f)
{
	return f->flags & AREA_FUNCTION_KEPT;
}

static int has_site(const struct area_function *f)
{
	return f->how != AREA_BY_CYG;
}

static int can_wrap(const struct area_function *f)
{
	return f->how != AREA_BY_MCOUNT && !is_kept(f);
}

/* Callbacks want the registers as they are where a function begins, and so do instances. */
static int wants_ops(const struct area_function *f, uint32_t id)
{
	return has_site(f) && can_wrap(f) &&
	       (ops_wanting(id) || calls_wanting(id) || calls_with_stack(id) || calls_by_c(id));
}

/* Where the slot of such a function leads. */
static uint64_t target_ops(uint32_t id)
{
	return (uint64_t)(ops_wanting(id) || calls_with_stack(id) ? hook_ops : hook_calls);
}

/* Where the slot of a function leads that makes RECORD_FUNCTION. */
static uint64_t target_on(const struct area_function *f)
{
	const struct hook_entries *e = entries;

	if (function_args) {
		if (f->how == AREA_BY_MCOUNT)
			return (uint64_t)(is_kept(f) ? e->kept_mcount_args : e->mcount_args);
		return (uint64_t)(is_kept(f) ? e->kept_fentry_args : e->function_args);
	}
	if (f->how == AREA_BY_MCOUNT)
		return (uint64_t)(is_kept(f) ? e->kept_mcount : e->mcount);
	return (uint64_t)(is_kept(f) ? e->kept_fentry : e->function);
}

/* Where that of a kept site leads when it is off. */
static uint64_t target_kept(const struct area_function *f)
{
	return (uint64_t)(f->how == AREA_BY_MCOUNT ? hook_real_mcount : hook_real_fentry);
}

/* Where a function's site is and how long: six bytes or five. */
struct site {
	uint8_t *at;
	uint32_t bytes;
};

static struct site site_of(const struct area_object *row, const struct area_function *f)
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

static uint8_t *island_of(const struct sites *s, uint32_t i)
{
	return s->islands + (uint64_t)i * ISLAND_BYTES;
}

static int has_ops(const struct sites *s, uint32_t i)
{
	return s->ops && (s->ops[i / 64] >> (i % 64) & 1);
}

/* The bytes of a site, on and off. */
struct forms {
	uint8_t on[ARCH_SITE_FULL];
	uint8_t off[ARCH_SITE_FULL];
};

/* @i: the function's index in the object. @wraps: the call is wrapped. */
static void make_forms_as(const struct sites *s, uint32_t i, const struct site *site,
			  const struct area_function *f, int wraps, struct forms *forms)
{
	const uint8_t *end = site->at + site->bytes;
	const uint8_t *to =
		site->bytes == ARCH_SITE_FULL ? (uint8_t *)&s->slots[i] : island_of(s, i);

	arch_make_site(forms->on, site->bytes, wraps, (int32_t)(to - end));
	if (is_kept(f))
		memcpy(forms->off, forms->on, site->bytes);
	else
		arch_make_off(forms->off, forms->on, site->bytes);
}

static void make_forms(const struct sites *s, uint32_t i, const struct site *site,
		       const struct area_function *f, struct forms *forms)
{
	make_forms_as(s, i, site, f, s->kind == RECORD_ENTRY && can_wrap(f) && !has_ops(s, i),
		      forms);
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
		const struct area_function *f = area_function(row->first_function + i);
		struct site site = site_of(row, f);
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
	uint8_t *island = island_of(s, i);

	(void)forms;
	(void)arg;
	s->slots[i] = (struct arch_slot){is_kept(f) ? target_kept(f) : target_on(f), word};
	if (site->bytes != ARCH_SITE_FULL)
		arch_make_island(island, (int32_t)((uint8_t *)&s->slots[i] - (island + 6)), word);
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
		nr_full += site_of(row, area_function(row->first_function + i)).bytes ==
			   ARCH_SITE_FULL;
	if (nr_full == row->nr_functions)
		return 0;
	s->islands_bytes = (size_t)row->nr_functions * ISLAND_BYTES;
	s->islands = near_map(s->lo, s->hi, s->islands_bytes + ISLAND_ROWS_BYTES);
	if (!s->islands)
		return -ENOMEM;
	island_rows_make(s->islands, s->islands_bytes);
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
	each_site(o, take_back, NULL);
	text_close(s->lo, s->hi);
	return text_sync();
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
		*(volatile uint64_t *)&s->slots[i].target = on ? target_on(f) : target_kept(f);
	else
		text_switch(site->at, on ? forms->on : forms->off, site->bytes);
	f->enabled = (uint8_t)on;
	if (on)
		f->flags |= AREA_FUNCTION_TOUCHED;
}

/* The function's wrap stub, or -ENOSPC: it has none. */
static int stub_of(struct object *o, uint32_t i, const struct site *site)
{
	struct sites *s = o->hook_data;
	uint32_t id = object_row(o)->first_function + i;
	int stub;

	if (s->avoid[i / 64] >> (i % 64) & 1)
		return -EOPNOTSUPP;
	if (!s->stubs[i]) {
		stub = graph_stub_take((uint64_t)site->at + site->bytes, id);
		if (stub < 0)
			return stub;
		s->stubs[i] = (uint32_t)stub + 1;
	}
	return (int)s->stubs[i] - 1;
}

/* A slot leads to the function's wrap stub; a function that can have none is not traced. */
static int aim_at_stub(struct object *o, uint32_t i, const struct site *site)
{
	struct sites *s = o->hook_data;
	int stub = stub_of(o, i, site);

	if (stub < 0)
		return stub;
	s->slots[i].target = graph_stub_address((uint32_t)stub);
	return 0;
}

/* In one mapping: the stubs, then the bits of those that are to be avoided. */
static size_t stub_table_bytes(const struct object *o, size_t *stubs)
{
	*stubs = ((size_t)object_row(o)->nr_functions * sizeof(uint32_t) + 7) & ~(size_t)7;
	return *stubs + (size_t)object_row(o)->nr_functions / 8 + 8;
}

static int make_stub_table(struct object *o)
{
	struct sites *s = o->hook_data;
	size_t stubs, bytes = stub_table_bytes(o, &stubs);
	uint32_t avoided;
	long p;

	if (s->stubs)
		return 0;
	p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(p))
		return (int)p;
	s->stubs = (uint32_t *)p;
	s->avoid = (uint64_t *)((uint8_t *)p + stubs);
	avoided = graph_avoid_find(o, s->avoid);
	if (avoided)
		area_status("functions are left out of the graph: they return twice, or pass on "
			    "their caller's address (dlsym, dlopen, vfork)",
			    o->path, 0);
	return 0;
}

/*
 * All sites are off when the kind changes, and nobody is inside them: let the slots lead elsewhere.
 * For the graph those of functions that are wanted; what is wanted and can have no stub is dropped
 * from @want, and counted.
 */
static int aim(struct object *o, uint64_t *want, enum record_kind kind)
{
	const struct area_object *row = object_row(o);
	struct sites *s = o->hook_data;
	uint32_t i, left_out = 0, no_graph = 0;
	int err = 0;

	if (kind == RECORD_ENTRY)
		err = make_stub_table(o);
	if (err || (kind == RECORD_FUNCTION && s->kind == kind && s->aimed == entries &&
		    s->aimed_args == function_args))
		return err;
	for (i = 0; i < row->nr_functions; i++) {
		struct area_function *f = area_function(row->first_function + i);
		struct site site = site_of(row, f);

		if (f->enabled || !has_site(f) || has_ops(s, i))
			continue;
		if (kind == RECORD_FUNCTION) {
			/* a kept one's says whether it is on */
			if (!is_kept(f))
				s->slots[i].target = target_on(f);
		} else if (!can_wrap(f)) {
			if (want[i / 64] >> (i % 64) & 1) {
				want[i / 64] &= ~(UINT64_C(1) << (i % 64));
				no_graph++;
			}
		} else if (want[i / 64] >> (i % 64) & 1) {
			err = aim_at_stub(o, i, &site);
			if (err)
				want[i / 64] &= ~(UINT64_C(1) << (i % 64));
			left_out += err == -ENOSPC;
		}
	}
	s->kind = kind;
	s->aimed = entries;
	s->aimed_args = function_args;
	if (left_out)
		area_status("functions are left out of the graph: there are no more stubs", o->path,
			    0);
	if (no_graph)
		area_status("functions are left out of the graph: -pg without -mfentry, or "
			    "profiled by gmon",
			    o->path, 0);
	return 0;
}

/*
 * Sites that callbacks or instances have begun or ceased to want are switched off where the graph's
 * jump has to become a call, or the other way round. Those of the function tracer are calls already:
 * nothing of theirs is lost.
 */
static void leave_ops(const struct object *o, uint32_t i, const struct site *site,
		      const struct forms *forms, void *arg)
{
	const struct sites *s = o->hook_data;
	struct area_function *f = area_function(object_row(o)->first_function + i);

	(void)arg;
	if (!f->enabled || s->kind != RECORD_ENTRY ||
	    has_ops(s, i) == wants_ops(f, object_row(o)->first_function + i) ||
	    memcmp(site->at, forms->on, site->bytes))
		return;
	text_switch(site->at, forms->off, site->bytes);
	f->enabled = 0;
}

/* Note which functions' slots are to lead to target_ops() from now on. */
static int aim_ops(struct object *o)
{
	const struct area_object *row = object_row(o);
	struct sites *s = o->hook_data;
	uint32_t i;
	int err;
	long p;

	if (!s->ops && !ops_any() && !calls_any() && !calls_any_by_c())
		return 0;
	if (!s->ops) {
		p = sys_mmap(NULL, row->nr_functions / 8 + 8, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (sys_failed(p))
			return (int)p;
		s->ops = (uint64_t *)p;
	}
	err = text_open(s->lo, s->hi);
	if (err)
		return err;
	each_site(o, leave_ops, NULL);
	text_close(s->lo, s->hi);
	err = text_sync();
	for (i = 0; i < row->nr_functions && !err; i++) {
		const struct area_function *f = area_function(row->first_function + i);

		if ((f->enabled && s->kind == RECORD_ENTRY) ||
		    has_ops(s, i) == wants_ops(f, row->first_function + i))
			continue;
		s->ops[i / 64] ^= UINT64_C(1) << (i % 64);
		if (!has_ops(s, i))
			*(volatile uint64_t *)&s->slots[i].target = target_on(f);
	}
	return err;
}

/* What the tracers want of a function behind callbacks and instances' records. */
static uint64_t next_of(struct object *o, uint32_t i, int traced, enum record_kind kind)
{
	uint32_t id = object_row(o)->first_function + i;
	uint64_t next = traced && kind == RECORD_FUNCTION ? OPS_RECORD : OPS_GO_ON;
	struct site site = site_of(object_row(o), area_function(id));
	int stub;

	if ((traced && kind == RECORD_ENTRY) || calls_graph_wanting(id)) {
		stub = stub_of(o, i, &site);
		if (stub >= 0)
			next |= graph_stub_address((uint32_t)stub);
	}
	return next;
}

/* Functions with callbacks are wanted, and what the tracers want of them comes behind those. */
static int chain_ops(struct object *o, uint64_t *want, enum record_kind kind)
{
	const struct area_object *row = object_row(o);
	struct sites *s = o->hook_data;
	uint32_t i;
	int err = calls_graph_any() ? make_stub_table(o) : 0;

	for (i = 0; i < row->nr_functions && !err; i++) {
		uint32_t id = row->first_function + i;
		struct area_function *f = area_function(id);
		int traced = (int)(want[i / 64] >> (i % 64) & 1);

		f->callbacks = (uint8_t)traced;
		if (!has_ops(s, i))
			continue;
		f->callbacks += (uint8_t)(ops_wanting(id) + (uint32_t)calls_wanting(id));
		err = ops_set_next(id, next_of(o, i, traced, kind));
		if (err)
			break;
		/* the site may be on, and its slot lead to what the tracer alone wanted */
		*(volatile uint64_t *)&s->slots[i].target = target_ops(id);
		want[i / 64] |= UINT64_C(1) << (i % 64);
	}
	return err;
}

int sites_arm(struct object *o, uint64_t *want, enum record_kind kind)
{
	const struct sites *s = o->hook_data;
	int err;

	if (!s) /* no site at all, or none that can be reached */
		return -(int)object_row(o)->errno_value;
	err = take_all_back(o);
	if (!err)
		err = aim_ops(o);
	if (!err)
		err = aim(o, want, kind);
	if (!err)
		err = chain_ops(o, want, kind);
	if (!err)
		err = text_open(s->lo, s->hi);
	if (err)
		return err;
	each_site(o, switch_one, want);
	text_close(s->lo, s->hi);
	return text_sync();
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
		sys_munmap(s->stubs, stub_table_bytes(o, &stubs));
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
