/* SPDX-License-Identifier: MIT */
/*
 * The registry of traceable functions and the filters on it. Names are looked up in the object's
 * file when a filter asks for them and are not kept: a program of 100,000 functions starts without
 * reading one. Runs in the constructor; nothing for fork (the child's text stays patched, its
 * records are refused by the ring). Tests: tests/engine/test_filter.py.
 */
#include "engine/core/function.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/glob.h"
#include "engine/base/mem.h"
#include "engine/core/calls.h"
#include "engine/core/function_pending.h"
#include "engine/core/function_word.h"
#include "engine/core/hook.h"
#include "engine/core/ops.h"
#include "engine/core/trace_array.h"

static const struct hook *hooks[4];
static uint32_t nr_hooks;
static enum record_kind last_kind = RECORD_FUNCTION; /* of what was armed last */

struct function_set graph_function = {.shown = AREA_FILTER_GRAPH, .ring = ring_top};
struct function_set graph_notrace = {.shown = AREA_FILTER_GRAPH_NOTRACE, .ring = ring_top};
uint32_t graph_max_depth;
uint64_t tracing_thresh_ns;
uint32_t function_args, graph_args, graph_retval;

void hook_register(const struct hook *hook)
{
	if (nr_hooks < ARRAY_SIZE(hooks))
		hooks[nr_hooks++] = hook;
}

uint32_t function_count(void)
{
	return area->tables[AREA_FUNCTIONS].count;
}

int function_add(struct object *o, const struct area_function *found)
{
	struct area_table *t = &area->tables[AREA_FUNCTIONS];
	struct area_object *row = object_row(o);
	struct area_function *f;
	uint32_t id = t->count;

	/* memory comes in steps, each for the functions of a 64 KiB piece of the table */
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
	t->count = id + 1;
	return 0;
}

void function_refuse(struct object *o, uint32_t offset, enum area_refusal why, uint32_t nop_bytes)
{
	struct area_table *t = &area->tables[AREA_REFUSED];
	struct area_refused *r;
	uint32_t i;

	/* tried anew at each switch, named once */
	for (i = 0; why == AREA_REFUSED_CHANGED && i < t->count; i++) {
		r = area_entry(AREA_REFUSED, i);
		if (r->object == o->index && r->offset == offset && r->reason == (uint32_t)why)
			return;
	}
	object_row(o)->nr_refused++;
	if (area_reserve(AREA_REFUSED, t->count + 1))
		return;
	r = area_entry(AREA_REFUSED, t->count++);
	*r = (struct area_refused){o->index, offset, why, nop_bytes};
}

static int scan_object(struct object *o)
{
	struct area_object *row = object_row(o);
	uint32_t h;
	int err, ret = 0;

	if (row->status != AREA_OBJECT_TRACED)
		return 0;
	for (h = 0; h < nr_hooks; h++) {
		err = hooks[h]->scan(o);
		if (err) {
			area_status("not scanned to its end", o->path, err);
			ret = err;
		}
	}
	if (!row->nr_functions && row->status == AREA_OBJECT_TRACED)
		row->status = AREA_OBJECT_NO_SITES;
	return ret;
}

int functions_scan(void)
{
	uint32_t i;
	int err, ret = 0;

	for (i = 0; i < object_count(); i++) {
		err = scan_object(object_at(i));
		ret = ret ? ret : err;
	}
	return ret;
}

uint32_t function_at(const struct object *o, uint64_t offset)
{
	const struct area_object *row = object_row(o);
	uint32_t lo = row->first_function, hi = lo + row->nr_functions;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (area_function(mid)->offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < row->first_function + row->nr_functions && area_function(lo)->offset == offset)
		return lo;
	return UINT32_MAX;
}

static int set_reserve(struct function_set *set)
{
	uint32_t n = function_count();
	long p;

	if (set->nr >= n && set->bits)
		return 0;
	p = sys_mmap(NULL, (size_t)n / 8 + 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (sys_failed(p))
		return -ENOMEM;
	if (set->bits) {
		memcpy((void *)p, set->bits, set->nr / 8 + 8);
		sys_munmap(set->bits, (size_t)set->nr / 8 + 16);
	}
	set->bits = (void *)p;
	set->nr = n;
	return 0;
}

int function_set_has(const struct function_set *set, uint32_t id)
{
	return set->bits && id < set->nr && (set->bits[id / 64] >> (id % 64) & 1);
}

static void set_change(struct function_set *set, uint32_t id, int add)
{
	uint64_t bit = UINT64_C(1) << (id % 64);

	if (function_set_has(set, id) == add)
		return;
	set->bits[id / 64] ^= bit;
	if (set->ring)
		area_function_in(set->ring->area, id)->filter ^= set->shown;
	set->count += add ? 1u : UINT32_MAX;
}

void function_set_clear(struct function_set *set)
{
	uint32_t id;

	pending_clear(set);
	for (id = 0; id < set->nr && set->count; id++)
		if (function_set_has(set, id))
			set_change(set, id, 0);
}

void function_set_free(struct function_set *set)
{
	if (set->bits)
		sys_munmap(set->bits, (size_t)set->nr / 8 + 16);
	set->bits = NULL;
	set->nr = set->count = 0;
}

/* What is not in the set cannot be taken out of the graph's, in the kernel's words. */
static int may_change(const struct function_set *set, uint32_t id, int add)
{
	return add || !(set->shown & (AREA_FILTER_GRAPH | AREA_FILTER_GRAPH_NOTRACE)) ||
	       function_set_has(set, id);
}

int function_set_put(struct function_set *set, uint32_t id, int add)
{
	if (set_reserve(set))
		return -ENOMEM;
	if (id < set->nr)
		set_change(set, id, add);
	return 0;
}

struct match {
	struct function_set *set;
	const struct object *o;
	const char *glob;
	size_t n;
	int add;
	int found;
};

static int match_symbol(void *arg, uint64_t value, const char *name)
{
	struct match *m = arg;
	uint32_t id;

	if (!glob_match(m->glob, m->n, name))
		return 0;
	id = function_at(m->o, value);
	if (id != UINT32_MAX && may_change(m->set, id, m->add)) {
		m->found = 1;
		set_change(m->set, id, m->add);
	}
	return 0;
}

static void match_object(struct match *m)
{
	struct elf_file f;
	const struct area_object *row = object_row(m->o);
	uint32_t id;

	if (m->n == 1 && *m->glob == '*') {
		for (id = row->first_function; id < row->first_function + row->nr_functions; id++) {
			m->found |= may_change(m->set, id, m->add);
			set_change(m->set, id, m->add);
		}
		return;
	}
	if (elf_file_open(&f, m->o->path, m->o->phdr, m->o->nr_phdr))
		return;
	elf_file_symbols(&f, match_symbol, m);
	elf_file_close(&f);
}

/* `libfoo` names libfoo.so.1 too: base names count without version. */
static int module_matches(const struct object *o, const char *glob, size_t n)
{
	char name[256];
	size_t i;

	if (!n || glob_match(glob, n, o->name))
		return 1;
	str_copy(name, sizeof(name), o->name);
	for (i = 0; name[i]; i++) {
		if (str_starts(name + i, ".so")) {
			name[i] = 0;
			return glob_match(glob, n, name);
		}
	}
	return 0;
}

int function_set_apply(struct function_set *set, const char *word, size_t n)
{
	struct function_word w;
	struct match m;
	uint32_t i;
	int err;

	if (set_reserve(set))
		return -ENOMEM;
	err = function_word_parse(word, n, &w);
	if (err || w.command)
		return err ? err : -EINVAL;
	if (w.is_number) {
		if (!w.number || w.number > function_count())
			return -EINVAL;
		set_change(set, (uint32_t)w.number - 1, w.add);
		return 0;
	}
	m = (struct match){.set = set, .glob = w.glob, .n = w.n, .add = w.add};
	for (i = 0; i < object_count(); i++) {
		m.o = object_at(i);
		if (object_row(m.o)->nr_functions && m.o->loaded &&
		    (!w.module || module_matches(m.o, w.module, w.module_bytes)))
			match_object(&m);
	}
	if (!m.found && w.module)
		return pending_change(set, &w);
	return m.found ? 0 : -EINVAL;
}

struct arrival {
	struct function_set *set;
	const struct object *o;
};

/* A word that waited for an object of its name. */
static int take_pending(void *arg, const char *word, size_t n)
{
	const struct arrival *a = arg;
	struct match m = {.set = a->set, .o = a->o, .add = 1};
	struct function_word w;

	if (function_word_parse(word, n, &w) || !w.module ||
	    !module_matches(a->o, w.module, w.module_bytes) || set_reserve(a->set))
		return 0;
	m.glob = w.glob;
	m.n = w.n;
	match_object(&m);
	return m.found;
}

static void apply_pending(const struct object *o)
{
	struct trace_array *tr;
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		if (!tr)
			continue;
		pending_apply(&tr->filter, take_pending, &(struct arrival){&tr->filter, o});
		pending_apply(&tr->notrace, take_pending, &(struct arrival){&tr->notrace, o});
	}
}

/* One object's part of the wanted set; bit 0 is its first function. */
static int arm_object(struct object *o, uint64_t *want)
{
	const struct area_object *row = object_row(o);
	enum record_kind kind = global_trace.ops ? global_trace.ops->kind : last_kind;
	uint32_t i, h;
	int err, ret = 0;

	memset(want, 0, (size_t)row->nr_functions / 8 + 8);
	for (i = 0; i < row->nr_functions; i++)
		if (trace_array_wants(&global_trace, row->first_function + i))
			want[i / 64] |= UINT64_C(1) << (i % 64);
	for (h = 0; h < nr_hooks; h++) {
		err = hooks[h]->arm(o, want, kind);
		if (err) {
			area_status("functions of this object cannot be patched", o->path, err);
			ret = err;
		}
	}
	return ret;
}

/* Bring the text of all objects up to date. */
static int arm_all(void)
{
	size_t bytes = (size_t)function_count() / 8 + 16;
	uint32_t i, done = 0, failed = 0;
	int err, last = 0;
	long p;

	p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(p))
		return -ENOMEM;
	for (i = 0; i < object_count(); i++) {
		if (!object_row(object_at(i))->nr_functions || !object_at(i)->loaded)
			continue;
		err = arm_object(object_at(i), (uint64_t *)p);
		if (err) {
			failed++;
			last = err;
		} else {
			done++;
		}
	}
	sys_munmap((void *)p, bytes);
	return failed && !done ? last : 0;
}

/* Who wants graphs may have changed. */
static int settle(void)
{
	uint32_t h;
	int err = 0;

	for (h = 0; h < nr_hooks && !err; h++)
		if (hooks[h]->settle)
			err = hooks[h]->settle();
	return err;
}

int ftrace_update(void)
{
	struct call_list *old;
	int err;

	if (!function_count())
		return 0;
	err = calls_update(&old);
	if (err)
		return err;
	err = settle();
	if (!err)
		err = arm_all();
	calls_free(old);
	return err;
}

static int prepare(enum record_kind kind)
{
	uint32_t h;
	int err = 0;

	for (h = 0; h < nr_hooks && !err; h++)
		if (hooks[h]->prepare)
			err = hooks[h]->prepare(kind);
	return err;
}

static void finish(enum record_kind kind)
{
	uint32_t h;

	for (h = 0; h < nr_hooks; h++)
		if (hooks[h]->finish)
			hooks[h]->finish(kind);
}

int ftrace_graph_update(void)
{
	return ftrace_top_graph() ? prepare(RECORD_ENTRY) : settle();
}

int ftrace_top_graph(void)
{
	return global_trace.ops && global_trace.ops->kind == RECORD_ENTRY;
}

static void unregister(struct trace_array *tr)
{
	enum record_kind kind = tr->ops->kind;

	tr->ops = NULL;
	ftrace_update();
	if (trace_array_is_top(tr))
		finish(kind);
}

/* What instances cannot have: only at a function's first instruction can one call serve several. */
static void tell_left_out(const struct trace_array *tr)
{
	static int told;
	uint32_t id;

	for (id = 0; !told && id < function_count(); id++) {
		const struct area_function *f = area_function(id);

		if ((f->how == AREA_BY_MCOUNT || f->how == AREA_BY_CYG ||
		     f->flags & AREA_FUNCTION_KEPT) &&
		    trace_array_wants(tr, id)) {
			area_status("functions of -pg without -mfentry and of "
				    "-finstrument-functions are traced in the top instance alone",
				    NULL, 0);
			told = 1;
		}
	}
}

int ftrace_register_ops(struct trace_array *tr, const struct tracer_ops *ops)
{
	int err = 0;

	if (tr->ops)
		return -EBUSY;
	tr->ops = ops;
	if (trace_array_is_top(tr)) {
		err = prepare(ops->kind);
		if (err) {
			tr->ops = NULL;
			return err;
		}
		last_kind = ops->kind;
	} else {
		tell_left_out(tr);
	}
	err = ftrace_update();
	if (err)
		unregister(tr);
	return err;
}

void ftrace_unregister_ops(struct trace_array *tr, const struct tracer_ops *ops)
{
	if (tr->ops == ops)
		unregister(tr);
}

static void forget_object(struct object *o)
{
	uint32_t h;

	for (h = 0; h < nr_hooks; h++)
		hooks[h]->forget(o);
	o->hook_data = NULL;
}

void functions_update(void)
{
	uint32_t i, first_new;
	int scanned = 0;

	if (objects_update(&first_new, forget_object))
		area_status("not all loaded objects are known: the table is full", NULL, 0);
	for (i = first_new; i < object_count(); i++) {
		scan_object(object_at(i));
		scanned |= object_row(object_at(i))->nr_functions > 0;
		if (object_row(object_at(i))->nr_functions)
			apply_pending(object_at(i));
	}
	if (scanned && (global_trace.ops || ops_any() || calls_any()))
		ftrace_update();
	trace_arrays_sync();
}
