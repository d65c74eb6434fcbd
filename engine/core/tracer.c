/* SPDX-License-Identifier: MIT */
/*
 * The list of tracers, and the current one. Tracers register through a linker section, so a new
 * tracer needs only a new file. The area shows the name of the current one. Nothing for fork.
 * Tests: tests/unit/test_tracer.c, tests/engine/fire/control.
 */
#include "engine/core/tracer.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/ring/ring.h"

static int name_less(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (unsigned char)*a < (unsigned char)*b;
}

const struct tracer *tracer_next(const struct tracer *before)
{
	const struct tracer *const *t, *next = NULL;

	REGISTRY_EACH (vestige_tracers, t)
		if ((!before || name_less(before->name, (*t)->name)) &&
		    (!next || name_less((*t)->name, next->name)))
			next = *t;
	return next;
}

static const struct tracer *find_tracer(const char *name, size_t n)
{
	const struct tracer *const *t;

	if (n == 6 && !memcmp(name, "ftrace", n)) { /* its name in the first kernels */
		name = "function";
		n = 8;
	}
	REGISTRY_EACH (vestige_tracers, t)
		if (strlen((*t)->name) == n && !memcmp((*t)->name, name, n))
			return *t;
	return NULL;
}

const struct tracer *tracer_with_option(int option)
{
	const struct tracer *const *t;

	REGISTRY_EACH (vestige_tracers, t)
		if ((*t)->options >> option & 1)
			return *t;
	return NULL;
}

int tracer_is_allowed(const struct tracer *t, const struct trace_array *tr)
{
	return (t->allow_instances || trace_array_is_top(tr)) && !(t->absent && t->absent());
}

static void show_current(const struct trace_array *tr)
{
	struct area_buffer *buffer = trace_array_buffer(tr);

	str_copy(buffer->tracer, sizeof(buffer->tracer), tr->current ? tr->current->name : "nop");
}

/* Whether `trace` and `snapshot` show the stretch that the tracer keeps. */
static void show_max(struct trace_array *tr, int on)
{
	struct area_buffer *buffer = trace_array_buffer(tr);

	if (on)
		__atomic_fetch_or(&buffer->flags, AREA_BUFFER_PRINT_MAX, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&buffer->flags, ~(uint32_t)AREA_BUFFER_PRINT_MAX,
				   __ATOMIC_RELAXED);
}

static void drop_max(struct trace_array *tr)
{
	ring_snapshot_free(tr->ring);
	show_max(tr, 0);
}

int tracer_set(struct trace_array *tr, const char *name, size_t n)
{
	const struct tracer *t = find_tracer(name, n), *was = tr->current;
	int err = 0;

	if (!t || !tracer_is_allowed(t, tr))
		return -EINVAL;
	if (t == was)
		return 0;
	if (t->use_max_tr)
		err = trace_array_alloc_snapshot(tr);
	if (err)
		return err;
	if (was && was->reset)
		was->reset(tr);
	store_release(&tr->current, NULL);
	if (was && was->use_max_tr && !t->use_max_tr)
		drop_max(tr);
	else if (t->use_max_tr)
		show_max(tr, 1);
	/*
	 * the kernel empties the buffer here; the engine keeps records that a recorder has not
	 * fetched yet
	 */
	if (!trace_array_area(tr)->recorder)
		ring_clear(tr->ring, UINT32_MAX);
	if (t->init)
		err = t->init(tr);
	if (err)
		area_status("the tracer could not start", t->name, err);
	if (err && t->use_max_tr)
		drop_max(tr);
	store_release(&tr->current, err ? find_tracer("nop", 3) : t);
	show_current(tr);
	return err;
}

void tracing_set(struct trace_array *tr, int on)
{
	const struct tracer *t = load_acquire(&tr->current);

	if (ring_is_on(tr->ring) == !!on)
		return;
	if (on && t && t->start)
		t->start(tr);
	ring_set_on(tr->ring, !!on);
	if (!on && t && t->stop)
		t->stop(tr);
}

int tracer_snapshot(struct trace_array *tr, uint32_t cpu)
{
	const struct tracer *t = load_acquire(&tr->current);

	return t && t->use_max_tr ? -EBUSY : ring_snapshot(tr->ring, cpu);
}
