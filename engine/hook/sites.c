/* SPDX-License-Identifier: MIT */
/*
 * The sites of an object, and the memory near its text to which they lead: a slot (data) for each
 * function, and for short sites (ARCH_SITE_MIN bytes) two islands (code) that jump through it. A
 * full site (ARCH_SITE_FULL) calls or jumps through the slot itself; arch_patch.h has the bytes.
 * While other threads run, only the first one or two bytes of a site change.
 *
 * The displacement is the same on and off, because the hook reads it: a thread that has made the
 * call may read it after the site was switched off. The target of a slot changes only while its
 * site is off, and after text_sync() has made sure that no thread is inside the site. A thread may
 * stay on an island for any time, interrupted by a handler or waiting for a CPU. So calls and jumps
 * use two islands with a pointer each. Their displacements differ only in the lowest byte, which is
 * changed while the site is off; both islands have the word that the hook reads. A full site whose
 * first two bytes straddle a cache line is used as a NOP and a short site. A passed-on site
 * (callee.h) is always a call: its slot leads to a record first, or straight to the target of the
 * compiler's call.
 *
 * The compiler's NOPs stay until their function is first wanted, so pages of text without a wanted
 * site remain the file's own. A site that is wanted before main(), or while dlopen() loads the
 * object, gets one of the forms above (settle_quiet()), as no thread executes it yet. A site that
 * is wanted later becomes a short site with islands elsewhere (sites_late.c). Calls that the
 * compiler made are settled at once, since they cost time.
 *
 * Calls cannot be wrapped at a site behind the prologue, nor at a passed-on site: such functions
 * have no graph. fork: the child has the same text and the same memory. Costs: bench "start-up",
 * "switching". Tests: tests/engine/.
 */
#include "engine/hook/sites.h"

#include <errno.h>

#include "arch_late.h"
#include "arch_patch.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/mem.h"
#include "engine/core/function.h"
#include "engine/hook/callee.h"
#include "engine/hook/port.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/text/island_cfi.h"
#include "engine/hook/text/near_map.h"
#include "engine/hook/text/probe_points.h"
#include "engine/hook/sites_impl.h"
#include "engine/hook/sites_late.h"
#include "engine/core/text_patch.h"

/*
 * Value of area_function.enabled: the site could not be switched off because another tool has
 * written there.
 */
#define LEFT_ON 2

#define ISLAND_BYTES 48u /* the island for calls, and before or behind it the graph's */

/* For the process's way of reserving, and its clock. */
static const struct hook_entries *entries = &hook_entries_xadd_lsl;

void sites_choose_entry(int rseq, int tsc, int stamps)
{
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

/* The target of a passed-on site's slot while the site is off. */
static uint64_t target_passed_on(const struct area_function *f)
{
	return (uint64_t)(f->how == AREA_BY_MCOUNT ? hook_real_mcount : hook_real_fentry);
}

static struct site plain_site_of(const struct area_object *row, const struct area_function *f)
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

struct site sites_site_of(const struct object *o, uint32_t i)
{
	const struct area_object *row = object_row(o);
	const struct area_function *f = area_function(row->first_function + i);
	const struct sites *s = o->hook_data;

	if (s->redirects)
		return (struct site){.at = redirect_island(&s->moved, i), .bytes = ARCH_SITE_FULL};
	if (!s->late || !s->late[i].off)
		return plain_site_of(row, f);
	return (struct site){
		.at = (uint8_t *)(row->bias + f->offset + f->site + s->late[i].skip),
		.bytes = ARCH_LATE_BYTES,
		.late = &s->late[i],
	};
}

/* The address of the function's island. @wraps: the graph's. */
static uint8_t *island_of(const struct sites *s, uint32_t i, const struct site *site, int wraps)
{
	uint8_t *called = s->islands + (uint64_t)i * ISLAND_BYTES + ISLAND_BYTES / 3;
	uint8_t lowest = (uint8_t)(called - (site->at + site->bytes));

	if (!wraps)
		return called;
	return lowest + ISLAND_BYTES / 3 <= UINT8_MAX ? called + ISLAND_BYTES / 3
						      : called - ISLAND_BYTES / 3;
}

/*
 * Make both forms of a site. @i: the function's index in the object. @wraps: the call is wrapped.
 */
static void make_forms_as(const struct sites *s, uint32_t i, const struct site *site,
			  const struct area_function *f, int wraps, struct forms *forms)
{
	const uint8_t *end = site->at + site->bytes, *to;

	/* an object with late sites alone has no islands */
	if (site->late) {
		arch_late_make(site->late->off, site->late->disp[wraps], wraps, forms->on,
			       forms->off);
		return;
	}
	to = site->bytes == ARCH_SITE_FULL ? (uint8_t *)&s->slots[i] : island_of(s, i, site, wraps);
	arch_make_site(forms->on, site->bytes, wraps, (int32_t)(to - end));
	if (is_passed_on(f))
		memcpy(forms->off, forms->on, site->bytes);
	else
		arch_make_off(forms->off, forms->on, site->bytes);
}

void sites_make_forms(const struct sites *s, uint32_t i, const struct site *site,
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
		struct site site;
		struct forms forms;

		if (!is_settled(s, i))
			continue;
		site = sites_site_of(o, i);
		sites_make_forms(s, i, &site, f, &forms);
		fn(o, i, &site, &forms, arg);
	}
}

/* Set the words that the entry points read: the record's head without its stamp. */
void sites_fill(struct object *o, uint32_t i, const struct site *site)
{
	struct sites *s = o->hook_data;
	uint64_t id = object_row(o)->first_function + i;
	uint64_t word = sites_word(id);
	const struct area_function *f = area_function((uint32_t)id);
	uint64_t *pointer = &s->slots[i].target;
	int wraps;

	s->slots[i] = (struct arch_slot){is_passed_on(f) ? target_passed_on(f) : sites_target_on(f),
					 word};
	for (wraps = 0; wraps < 2 && site->bytes != ARCH_SITE_FULL; wraps++) {
		uint8_t *island = island_of(s, i, site, wraps);

		if (wraps)
			pointer = sites_graph_pointer(s, i, site);
		arch_make_island(island, (int32_t)((uint8_t *)pointer - (island + 6)), word);
	}
}

/* Replace the compiler's NOPs, or its call, by the site's off form. */
static void write_off(const struct object *o, uint32_t i, const struct site *site)
{
	const struct area_object *row = object_row(o);
	const struct area_function *f = area_function(row->first_function + i);
	uint8_t *first = (uint8_t *)(row->bias + f->offset + f->site);
	uint8_t *end = first + f->nop_bytes, *rest = site->at + site->bytes;
	struct forms forms;

	sites_make_forms(o->hook_data, i, site, f, &forms);
	if (first < site->at)
		*(uint8_t *)text_at(first) = arch_one_nop;
	memcpy(text_at(site->at), forms.off, site->bytes);
	if (rest < end)
		arch_make_nops(text_at(rest), (uint32_t)(end - rest));
}

/* Whether at least the first five bytes are NOPs. A debugger's breakpoint is not one. */
static int has_nops(const struct area_object *row, const struct area_function *f)
{
	const uint8_t *first = (const uint8_t *)(row->bias + f->offset + f->site);

	return f->how != AREA_BY_NOPS || arch_nop_bytes(first, f->nop_bytes) == f->nop_bytes;
}

int sites_refuse(struct object *o, uint32_t i, enum area_refusal why)
{
	const struct area_function *f = area_function(object_row(o)->first_function + i);

	function_refuse(o, f->offset, why, f->nop_bytes);
	return 0;
}

/* Settle a site in an object whose code no thread executes yet. */
static int settle_quiet(struct object *o, uint32_t i)
{
	const struct area_object *row = object_row(o);
	struct site site = sites_site_of(o, i);

	if (!has_nops(row, area_function(row->first_function + i)))
		return sites_refuse(o, i, AREA_REFUSED_CHANGED);
	sites_fill(o, i, &site);
	write_off(o, i, &site);
	return 1;
}

static int settle_late(struct object *o, uint32_t i)
{
	const struct area_object *row = object_row(o);
	uint32_t id = row->first_function + i;
	const struct area_function *f = area_function(id);
	struct sites *s = o->hook_data;
	int err = -EINVAL;

	if (!has_nops(row, f))
		return sites_refuse(o, i, AREA_REFUSED_CHANGED);
	s->slots[i] = (struct arch_slot){sites_target_on(f), sites_word(id)};
	err = sites_late_settle(o, i, sites_word(id));
	if (err)
		return sites_refuse(o, i,
				    err == -EINVAL ? AREA_REFUSED_RUNNING : AREA_REFUSED_RANGE);
	return 1;
}

static int is_quiet(const struct object *o)
{
	return !text_is_live() || o->fresh;
}

static int open_all(struct sites *s, int quiet)
{
	int err = text_open(s->lo, s->hi);

	if (!err && quiet && s->redirects)
		err = text_open(s->text_lo, s->text_hi);
	if (!err && quiet && s->islands)
		err = sys_mprotect(s->islands, s->islands_bytes, PROT_READ | PROT_WRITE);
	if (!err && !quiet)
		err = sites_late_open(s);
	return err;
}

static void close_all(struct sites *s, int quiet)
{
	if (quiet && s->islands)
		text_seal(s->islands, s->islands_bytes);
	if (!quiet)
		sites_late_close(s);
	if (quiet && s->redirects)
		text_close(s->text_lo, s->text_hi);
	text_close(s->lo, s->hi);
}

/*
 * Whether to settle it at once: a call that the compiler made costs time while it is there, and
 * some sites cannot be settled later.
 */
static int is_urgent(const struct area_object *row, const struct area_function *f)
{
	const uint8_t *first = (const uint8_t *)(row->bias + f->offset + f->site);
	struct arch_late late;

	if (f->how == AREA_BY_REDIRECT)
		return redirect_all();
	return f->how != AREA_BY_NOPS || !arch_late_read(first, f->nop_bytes, &late) ||
	       (late.plain && row->lo <= INT32_MAX);
}

/*
 * Whether a function's site must be settled: it is wanted (@how NULL: urgent) and is not settled
 * yet.
 */
int sites_is_due(const struct object *o, uint32_t i, const uint8_t *how)
{
	const struct area_object *row = object_row(o);
	const struct area_function *f = area_function(row->first_function + i);
	const struct sites *s = o->hook_data;

	/* if its jump was removed at the detach, the island is still there */
	if (!has_site(f) ||
	    (is_settled(s, i) && !(how && s->redirects && !(f->flags & AREA_FUNCTION_REDIRECTED))))
		return 0;
	return how ? how[i] : is_urgent(row, f);
}

static int settle_one(struct object *o, uint32_t i, int quiet)
{
	const struct sites *s = o->hook_data;

	if (!quiet)
		return settle_late(o, i);
	return s->redirects ? sites_redirect_quiet(o, i) : settle_quiet(o, i);
}

/*
 * Settle the sites that are due. Those that cannot be settled are refused, reported, and removed
 * from @how. Return: 0; -errno: nothing was done.
 */
static int settle(struct object *o, uint8_t *how)
{
	const struct area_object *row = object_row(o);
	struct sites *s = o->hook_data;
	int quiet = is_quiet(o), err;
	uint32_t i;

	for (i = 0; i < row->nr_functions && !sites_is_due(o, i, how); i++)
		;
	if (i == row->nr_functions)
		return 0;
	if (s->redirects && (!quiet || probe_points_in(s->text_lo, s->text_hi)))
		return sites_redirect_live(o, how);
	err = open_all(s, quiet);
	if (!err && s->redirects)
		sites_redirect_back(o, how);
	for (; i < row->nr_functions && !err; i++) {
		if (!sites_is_due(o, i, how))
			continue;
		if (settle_one(o, i, quiet))
			bitmap_set(s->settled, i);
		else if (how)
			how[i] = 0;
	}
	close_all(s, quiet);
	return err ? err : text_sync();
}

/* Map the sites and slots of redirects, which are in one mapping. */
static int map_redirects(struct sites *s, const struct area_object *row)
{
	int err = redirect_map(&s->moved, s->text_lo, s->text_hi, row->nr_functions,
			       sizeof(*s->slots));

	if (err)
		return err;
	s->slots = s->moved.slots;
	s->lo = (uint64_t)s->moved.islands;
	s->hi = s->lo + s->moved.code_bytes;
	return 0;
}

static int map_near(struct sites *s, const struct area_object *row)
{
	uint32_t i, nr_full = 0;

	if (s->redirects)
		return map_redirects(s, row);

	s->slots = near_map(s->lo, s->hi, (size_t)row->nr_functions * sizeof(*s->slots));
	if (!s->slots)
		return -ENOMEM;
	for (i = 0; i < row->nr_functions; i++)
		nr_full += plain_site_of(row, area_function(row->first_function + i)).bytes ==
			   ARCH_SITE_FULL;
	if (nr_full == row->nr_functions)
		return 0;
	s->islands_bytes = (size_t)row->nr_functions * ISLAND_BYTES;
	s->islands = near_map(s->lo, s->hi, s->islands_bytes + ISLAND_ROWS_BYTES);
	if (!s->islands)
		return -ENOMEM;
	island_cfi_make(s->islands, s->islands_bytes, island_called_rules,
			sizeof(island_called_rules));
	s->islands_bytes += ISLAND_ROWS_BYTES;
	return text_seal(s->islands, s->islands_bytes);
}

/* Check in advance that there is room near the text, and that the text can be changed. */
static int prepare(struct object *o, struct sites *s)
{
	struct area_object *row = object_row(o);
	int err = map_near(s, row);

	if (err) {
		/* the memory was mapped, so it is making it executable that was refused */
		row->status = err == -EACCES || err == -EPERM ? AREA_OBJECT_NOT_WRITABLE
							      : AREA_OBJECT_NO_ISLANDS;
		return err;
	}
	err = s->redirects ? text_try(s->text_lo, s->text_hi) : text_try(s->lo, s->hi);
	if (!err && is_quiet(o))
		err = settle(o, NULL);
	if (err)
		row->status = AREA_OBJECT_NOT_WRITABLE;
	return err;
}

/* Find the pages that have sites. Return: whether there are any. */
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

int sites_prepare(struct object *o, struct redirect *redirects)
{
	struct area_object *row = object_row(o);
	struct sites bounds = {0}, *s;
	size_t words;
	int err;

	if (!find_bounds(&bounds, row))
		return 0;
	words = row->nr_functions / 64 + 1;
	bounds.bytes = sizeof(*s) + 2 * words * 8;
	s = sys_map_anon(bounds.bytes);
	if (!s) {
		if (redirects)
			redirect_free(redirects, row->nr_functions);
		row->errno_value = ENOMEM; /* sites_arm() returns it */
		area_status("no memory for its sites", o->path, -ENOMEM);
		return -ENOMEM;
	}
	*s = bounds;
	s->redirects = redirects;
	s->text_lo = bounds.lo;
	s->text_hi = bounds.hi;
	s->by_c = s->settled + words;
	s->kind = RECORD_FUNCTION;
	s->aimed = entries;
	s->aimed_args = function_args;
	o->hook_data = s;
	err = prepare(o, s);
	if (!err)
		return 0;
	o->hook_data = NULL;
	row->errno_value = (uint32_t)-err;
	area_status(row->status == AREA_OBJECT_NO_ISLANDS
			    ? "no free address range within 2 GiB of its text"
			    : "its text cannot be made writable (PR_SET_MDWE, a unit's "
			      "MemoryDenyWriteExecute=, a security module), and a copy of it in a "
			      "memfd cannot be executed: no function is switched on",
		    o->path, err);
	return err;
}

/*
 * A uprobe of the kernel, when it is removed, puts back the byte that the object's file has at a
 * site's beginning: the NOP's first byte, with the engine's bytes behind it. That is the engine's
 * site, and one store makes it whole. The other bytes stay, so a thread that has executed the NOP
 * goes on as before.
 */
struct mending {
	int writes; /* 0: only count */
	uint32_t nr;
};

static void mend_one(const struct object *o, uint32_t i, const struct site *site,
		     const struct forms *forms, void *arg)
{
	const struct area_function *f = area_function(object_row(o)->first_function + i);
	struct mending *m = arg;
	struct forms was;
	int wraps;

	(void)forms;
	if (f->how != AREA_BY_NOPS || !arch_may_be_site(*site->at))
		return;
	for (wraps = 0; wraps < 2; wraps++) {
		const uint8_t *right;

		make_forms_as(o->hook_data, i, site, f, wraps, &was);
		right = f->enabled ? was.on : was.off;
		if (*site->at == *right || memcmp(site->at + 1, right + 1, site->bytes - 1))
			continue;
		m->nr++;
		if (m->writes)
			*(volatile uint8_t *)text_at(site->at) = *right;
		return;
	}
}

static int mend_all(struct object *o)
{
	const struct sites *s = o->hook_data;
	struct mending m = {0};
	int err;

	sites_each(o, mend_one, &m);
	err = m.nr ? text_open(s->lo, s->hi) : 0;
	if (err || !m.nr)
		return err;
	m.writes = 1;
	sites_each(o, mend_one, &m);
	text_close(s->lo, s->hi);
	return text_sync();
}

/*
 * Switch off the sites that could not be switched off before, if they have the engine's bytes
 * again. A passed-on site has the same bytes on and off; its slot makes the difference.
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
		if (is_passed_on(f))
			*(volatile uint64_t *)&s->slots[i].target = target_passed_on(f);
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

/* Make a five-byte site that is off lead to the other island. */
static void turn_one(const struct object *o, uint32_t i, const struct site *site,
		     const struct forms *forms, void *arg)
{
	const struct area_function *f = area_function(object_row(o)->first_function + i);
	const struct sites *s = o->hook_data;
	const uint8_t *how = arg;
	struct forms was;

	uint32_t k;

	if (f->enabled || !how[i] || site->bytes == ARCH_SITE_FULL)
		return;
	make_forms_as(s, i, site, f, !sites_wraps(s, i, f), &was);
	/* both forms differ in one byte of the displacement */
	for (k = 1; k < site->bytes && !memcmp(site->at, was.off, site->bytes); k++)
		if (was.off[k] != forms->off[k])
			*(volatile uint8_t *)text_at(site->at + k) = forms->off[k];
}

/*
 * Switch a site. If another tool (a debugger's INT3) has changed its bytes, it is refused and
 * reported.
 */
static void switch_one(const struct object *o, uint32_t i, const struct site *site,
		       const struct forms *forms, void *arg)
{
	struct area_function *f = area_function(object_row(o)->first_function + i);
	struct sites *s = o->hook_data;
	const uint8_t *how = arg;
	int on = how[i] != 0;

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
	if (is_passed_on(f))
		*(volatile uint64_t *)&s->slots[i].target =
			on ? sites_target_on(f) : target_passed_on(f);
	else
		text_switch(site->at, on ? forms->on : forms->off, site->bytes);
	f->enabled = (uint8_t)on;
	if (on)
		f->flags |= AREA_FUNCTION_TOUCHED;
}

int sites_arm(struct object *o, uint8_t *how, enum record_kind kind)
{
	struct sites *s = o->hook_data;
	int err;

	if (!s) /* the object has no sites, or none that can be reached */
		return -(int)object_row(o)->errno_value;
	err = mend_all(o);
	if (!err)
		err = take_all_back(o);
	if (!err)
		err = sites_aim_by_c(o, how);
	if (!err)
		err = settle(o, how);
	if (!err)
		err = sites_aim(o, how, kind);
	if (!err)
		err = sites_chain_by_c(o, how);
	if (!err)
		err = text_open(s->lo, s->hi);
	if (err)
		return err;
	sites_each(o, turn_one, how);
	err = s->islands || s->late ? text_sync() : 0;
	if (!err)
		sites_each(o, switch_one, how);
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
	if (s->redirects) {
		redirect_unmap(&s->moved, sizeof(*s->slots));
		redirect_free(s->redirects, object_row(o)->nr_functions);
	} else if (s->slots) {
		sys_munmap(s->slots, object_row(o)->nr_functions * sizeof(*s->slots));
	}
	if (s->islands) {
		island_cfi_forget(s->islands);
		sys_munmap(s->islands, s->islands_bytes);
	}
	sites_late_forget(s, object_row(o)->nr_functions);
	sys_munmap(s, s->bytes);
}
