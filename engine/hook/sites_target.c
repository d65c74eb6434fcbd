/* SPDX-License-Identifier: MIT */
/*
 * The targets of an object's slots, which core/ops.h chooses for each function: the function
 * tracer's entry point, a wrap stub, or C; see sites.c. fork, dlclose: see there.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/mem.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/core/text_patch.h"
#include "engine/hook/port.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_copiers.h"
#include "engine/hook/graph/graph_notrace.h"
#include "engine/hook/sites_impl.h"

uint64_t sites_target_on(const struct area_function *f)
{
	const struct hook_entries *e = sites_entries();

	if (function_args) {
		if (f->how == AREA_BY_MCOUNT)
			return (uint64_t)(is_passed_on(f) ? e->passed_on_mcount_args
							  : e->mcount_args);
		return (uint64_t)(is_passed_on(f) ? e->passed_on_fentry_args : e->function_args);
	}
	if (f->how == AREA_BY_MCOUNT)
		return (uint64_t)(is_passed_on(f) ? e->passed_on_mcount : e->mcount);
	return (uint64_t)(is_passed_on(f) ? e->passed_on_fentry : e->function);
}

/* The function's wrap stub; -ENOSPC: it has none. */
static int stub_of(struct object *o, uint32_t i, const struct site *site)
{
	struct sites *s = o->hook_data;
	uint32_t id = object_row(o)->first_function + i;
	int stub;

	if (bitmap_has(s->avoid, i) || graph_is_refused())
		return -EOPNOTSUPP;
	if (!s->stubs[i]) {
		stub = graph_stub_take((uint64_t)site->at + site->bytes, id);
		if (stub < 0)
			return stub;
		s->stubs[i] = (uint32_t)stub + 1;
	}
	return (int)s->stubs[i] - 1;
}

/* Make a slot lead to the function's wrap stub. A function that can have none is not traced. */
static int aim_at_stub(struct object *o, uint32_t i, const struct site *site)
{
	struct sites *s = o->hook_data;
	int stub = stub_of(o, i, site);

	if (stub < 0)
		return stub;
	*sites_graph_pointer(s, i, site) = graph_stub_address((uint32_t)stub);
	return 0;
}

/* One mapping has the stubs, then a bit for each function that must not be wrapped. */
size_t sites_stub_table_bytes(const struct object *o, size_t *stubs)
{
	*stubs = ((size_t)object_row(o)->nr_functions * sizeof(uint32_t) + 7) & ~(size_t)7;
	return *stubs + (size_t)object_row(o)->nr_functions / 8 + 8;
}

static int make_stub_table(struct object *o)
{
	struct sites *s = o->hook_data;
	size_t stubs, bytes = sites_stub_table_bytes(o, &stubs);
	uint32_t avoided;

	if (s->stubs)
		return 0;
	s->stubs = sys_map_anon(bytes);
	if (!s->stubs)
		return -ENOMEM;
	s->avoid = (uint64_t *)((uint8_t *)s->stubs + stubs);
	avoided = graph_notrace_find(o, s->avoid);
	if (avoided)
		area_status("functions are left out of the graph: they return twice, use their "
			    "return address, or pass it on (dlsym, dlopen, vfork)",
			    o->path, 0);
	return 0;
}

int sites_aim(struct object *o, uint8_t *how, enum record_kind kind)
{
	const struct area_object *row = object_row(o);
	struct sites *s = o->hook_data;
	uint32_t i, left_out = 0, no_graph = 0;
	int err = 0;

	if (kind == RECORD_ENTRY)
		err = make_stub_table(o);
	if (err || (kind == RECORD_FUNCTION && s->kind == kind && s->aimed == sites_entries() &&
		    s->aimed_args == function_args))
		return err;
	for (i = 0; i < row->nr_functions; i++) {
		struct area_function *f = area_function(row->first_function + i);
		struct site site = sites_site_of(o, i);

		if (kind == RECORD_ENTRY && !is_by_c(s, i) && graph_is_refused())
			how[i] = 0;
		if (f->enabled || !has_site(f) || !is_settled(s, i) || is_by_c(s, i))
			continue;
		if (kind == RECORD_FUNCTION) {
			/* the slot of a passed-on site is its switch */
			if (!is_passed_on(f))
				s->slots[i].target = sites_target_on(f);
		} else if (!can_wrap(f)) {
			if (how[i]) {
				how[i] = 0;
				no_graph++;
			}
		} else if (how[i]) {
			err = aim_at_stub(o, i, &site);
			if (err)
				how[i] = 0;
			left_out += err == -ENOSPC;
		}
	}
	s->kind = kind;
	s->aimed = sites_entries();
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
 * A site whose calls start or stop going through C is switched off first if the graph's jump must
 * become a call, or a call the jump. Sites of the function tracer are calls already, so they lose
 * no record.
 */
static void leave_jump(const struct object *o, uint32_t i, const struct site *site,
		       const struct forms *forms, void *arg)
{
	const struct sites *s = o->hook_data;
	struct area_function *f = area_function(object_row(o)->first_function + i);
	const uint8_t *how = arg;

	if (!f->enabled || s->kind != RECORD_ENTRY || is_by_c(s, i) == !!(how[i] & OPS_C) ||
	    memcmp(site->at, forms->on, site->bytes))
		return;
	text_switch(site->at, forms->off, site->bytes);
	f->enabled = 0;
}

int sites_aim_by_c(struct object *o, const uint8_t *how)
{
	const struct area_object *row = object_row(o);
	struct sites *s = o->hook_data;
	uint32_t i;
	int err;

	for (i = 0; i < row->nr_functions && is_by_c(s, i) == !!(how[i] & OPS_C); i++)
		;
	if (i == row->nr_functions)
		return 0;
	err = text_open(s->lo, s->hi);
	if (err)
		return err;
	sites_each(o, leave_jump, (void *)how);
	text_close(s->lo, s->hi);
	err = text_sync();
	for (i = 0; i < row->nr_functions && !err; i++) {
		const struct area_function *f = area_function(row->first_function + i);

		if ((f->enabled && s->kind == RECORD_ENTRY) || is_by_c(s, i) == !!(how[i] & OPS_C))
			continue;
		bitmap_flip(s->by_c, i);
		if (!is_by_c(s, i) && is_settled(s, i))
			*(volatile uint64_t *)&s->slots[i].target = sites_target_on(f);
	}
	return err;
}

/* The target of a call after C, for the tracers. */
static uint64_t next_of(struct object *o, uint32_t i, uint8_t how)
{
	uint64_t next = how & OPS_RECORD ? OPS_RECORD : OPS_GO_ON;
	struct site site = sites_site_of(o, i);
	int stub;

	if (how & OPS_GRAPH) {
		stub = stub_of(o, i, &site);
		if (stub >= 0)
			next |= graph_stub_address((uint32_t)stub);
	}
	return next;
}

int sites_chain_by_c(struct object *o, const uint8_t *how)
{
	const struct area_object *row = object_row(o);
	struct sites *s = o->hook_data;
	uint32_t i;
	int err = ops_any_graph() ? make_stub_table(o) : 0;

	for (i = 0; i < row->nr_functions && !err; i++) {
		uint32_t id = row->first_function + i;

		if (!is_by_c(s, i) || !is_settled(s, i))
			continue;
		err = ops_set_next(id, next_of(o, i, how[i]));
		if (err)
			break;
		if (how[i] & OPS_SAVE_ALL)
			ops_entry_start();
		/* the site may be on, with its slot leading to the tracer's own entry point */
		*(volatile uint64_t *)&s->slots[i].target =
			(uint64_t)(how[i] & OPS_SAVE_ALL ? hook_ops : hook_calls);
	}
	return err;
}
