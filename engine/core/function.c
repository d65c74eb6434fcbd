/* SPDX-License-Identifier: MIT */
/*
 * The registry of traceable functions. Objects are scanned when functions are first needed. Runs in
 * the constructor, later under the tree lock; nothing for fork (the child's text stays patched; the
 * ring refuses its records). Costs: bench "start". Tests: tests/engine/fire/late,
 * tests/engine/fire/control.
 */
#include "engine/core/function.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/core/hook.h"
#include "engine/core/symbol_names.h"

static const struct hook *hooks[4];
static uint32_t nr_hooks;

void hook_register(const struct hook *hook)
{
	if (nr_hooks < ARRAY_SIZE(hooks))
		hooks[nr_hooks++] = hook;
}

const struct hook *hook_at(uint32_t i)
{
	return i < nr_hooks ? hooks[i] : NULL;
}

static uint32_t nr_waiting; /* objects in state AREA_OBJECT_WAITING */
static int needed;	    /* functions_need() was called */
static int starved;	    /* there was no memory to scan an object, which still waits */
static uint32_t nr_found;   /* rows of AREA_FUNCTIONS, with the object that is being scanned */

uint32_t function_count_known(void)
{
	return area->tables[AREA_FUNCTIONS].count;
}

uint32_t function_count(void)
{
	functions_need();
	return function_count_known();
}

int function_add(struct object *o, const struct area_function *found)
{
	struct area_table *t = &area->tables[AREA_FUNCTIONS];
	struct area_object *row = object_row(o);
	struct area_function *f;
	uint32_t id = nr_found;

	/* back memory in steps, one for each 64 KiB of the table */
	if ((id & 4095) == 0 || !row->nr_functions) {
		uint32_t to = (id | 4095) + 1;

		if (area_reserve(AREA_FUNCTIONS, to < t->capacity ? to : t->capacity))
			return -ENOSPC;
	}
	if (id >= t->capacity || id > RECORD_ID_MAX)
		return -ENOSPC;
	f = area_function(id);
	*f = *found;
	f->object = o->index;
	if (!row->nr_functions)
		row->first_function = id;
	row->nr_functions++;
	if (f->flags & AREA_FUNCTION_TABLE)
		row->nr_from_table++;
	else
		row->nr_from_scan++;
	nr_found = id + 1;
	return 0;
}

#define MAX_NAMED 32u /* a name costs a look into the object's file */

/* Name a function in vestige_status whose code is not the engine's any more. */
static void report_changed(const struct object *o, uint32_t offset)
{
	struct symbol_name name = {.address = object_row(o)->bias + offset + 1};
	struct seq_buf s;
	char text[64];

	symbol_names(&name, 1);
	seq_init(&s, text, sizeof(text) - 1);
	seq_puts(&s, name.start ? name.name : o->name);
	if (!name.start) {
		seq_puts(&s, "+0x");
		seq_putx(&s, offset);
	}
	text[s.len] = 0;
	area_status("a debugger or another tool has changed its first bytes, so it is not switched",
		    text, 0);
}

void function_refuse(struct object *o, uint32_t offset, enum area_refusal why, uint32_t nop_bytes)
{
	struct area_table *t = &area->tables[AREA_REFUSED];
	struct area_refused *r;
	uint32_t i, nr = 0;

	/* a refusal is tried again at each switch, but reported once */
	for (i = 0; why == AREA_REFUSED_CHANGED && i < t->count; i++) {
		r = area_entry(AREA_REFUSED, i);
		if (r->object == o->index && r->offset == offset && r->reason == (uint32_t)why)
			return;
		nr += r->reason == (uint32_t)why;
	}
	if (why == AREA_REFUSED_CHANGED && nr < MAX_NAMED)
		report_changed(o, offset);
	object_row(o)->nr_refused++;
	if (area_reserve(AREA_REFUSED, t->count + 1))
		return;
	r = area_entry(AREA_REFUSED, t->count++);
	*r = (struct area_refused){o->index, offset, why, nop_bytes};
}

static int is_urgent(struct object *o)
{
	uint32_t h;

	for (h = 0; h < nr_hooks; h++)
		if (hooks[h]->urgent && hooks[h]->urgent(o))
			return 1;
	return 0;
}

static int scan_object(struct object *o)
{
	struct area_object *row = object_row(o);
	uint32_t h;
	int err, ret = 0;

	if (row->status == AREA_OBJECT_WAITING) {
		nr_waiting--;
		row->status = AREA_OBJECT_TRACED;
	}
	if (row->status != AREA_OBJECT_TRACED)
		return 0;
	nr_found = function_count_known();
	for (h = 0; h < nr_hooks; h++) {
		err = hooks[h]->scan(o);
		if (err) {
			if (!o->starved)
				area_status("not scanned to its end", o->path, err);
			ret = err;
		}
	}
	if (ret == -ENOMEM && !row->nr_functions) {
		starved = 1;
		o->starved = 1;
		row->status = AREA_OBJECT_WAITING;
		nr_waiting++;
		return ret;
	}
	o->starved = 0;
	/* a reader sees all of an object's rows at once */
	store_release(&area->tables[AREA_FUNCTIONS].count, nr_found);
	if (!row->nr_functions && row->status == AREA_OBJECT_TRACED)
		row->status = AREA_OBJECT_NO_SITES;
	return ret;
}

static int meet_object(struct object *o, int scan)
{
	struct area_object *row = object_row(o);

	if (scan || needed || row->status != AREA_OBJECT_TRACED || is_urgent(o))
		return scan_object(o);
	row->status = AREA_OBJECT_WAITING;
	nr_waiting++;
	return 0;
}

/* Without an agent, which would scan at its first request, scan now. */
static void start_functions(const struct lifecycle_start *how)
{
	uint32_t i;

	for (i = 0; i < object_count(); i++)
		meet_object(object_at(i), !how->with_agent);
}

int functions_wait(void)
{
	return load_relaxed(&nr_waiting) && !load_relaxed(&starved);
}

static void tell_found(void)
{
	const struct functions_found *const *found;

	REGISTRY_EACH (vestige_functions_found, found)
		(*found)->call();
}

int functions_need(void)
{
	uint32_t i;
	int err, ret = 0;

	needed = 1;
	if (!nr_waiting)
		return 0;
	if (starved) /* a try reads all of the text, so ftrace_register() makes the next one */
		return -ENOMEM;
	for (i = 0; i < object_count(); i++) {
		if (object_row(object_at(i))->status != AREA_OBJECT_WAITING)
			continue;
		err = scan_object(object_at(i));
		ret = ret ? ret : err;
	}
	tell_found();
	return ret;
}

/* Forget the refused functions of an object that is scanned again. */
static void forget_refused(struct object *o)
{
	struct area_table *t = &area->tables[AREA_REFUSED];
	uint32_t i, left = 0;

	if (!object_row(o)->nr_refused)
		return;
	for (i = 0; i < t->count; i++) {
		const struct area_refused *r = area_entry(AREA_REFUSED, i);

		if (r->object != o->index)
			*(struct area_refused *)area_entry(AREA_REFUSED, left++) = *r;
	}
	t->count = left;
	object_row(o)->nr_refused = 0;
}

int functions_name(struct object *o)
{
	int err, was = o->named;

	o->named = 1;
	if (was || object_row(o)->status != AREA_OBJECT_NO_SITES || !o->loaded)
		return 0;
	forget_refused(o);
	object_row(o)->status = AREA_OBJECT_TRACED;
	err = scan_object(o);
	tell_found();
	return err;
}

int functions_need_again(void)
{
	starved = 0;
	return functions_need();
}

uint64_t function_ip(uint32_t id)
{
	const struct area_function *f = area_function(id);

	return area_object(f->object)->bias + f->offset;
}

uint32_t function_at(const struct object *o, uint64_t offset)
{
	const struct area_object *row = object_row(o);
	uint32_t end, at;

	functions_need();
	end = row->first_function + row->nr_functions;
	at = LOWER_BOUND(i, row->first_function, end, area_function(i)->offset < offset);
	return at < end && area_function(at)->offset == offset ? at : UINT32_MAX;
}

void functions_meet(struct object *o)
{
	meet_object(o, 0);
}

void functions_forget(struct object *o)
{
	uint32_t h;

	/* the object waited: nothing of it was ever traced, so it need not be scanned any more */
	if (object_row(o)->status == AREA_OBJECT_WAITING) {
		object_row(o)->status = AREA_OBJECT_NO_SITES;
		nr_waiting--;
	}
	for (h = 0; h < nr_hooks; h++)
		hooks[h]->forget(o);
	o->hook_data = NULL;
}

LIFECYCLE(LIFECYCLE_CORE, start_functions, NULL, NULL);
