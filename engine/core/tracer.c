/* SPDX-License-Identifier: MIT */
/*
 * Which tracers there are and which one is current. They register through a linker section, so
 * that adding one is adding a file. Constructor context; the area shows the current one's name.
 * Nothing for fork. Tests: tests/engine/test_boot.py.
 */
#include "engine/core/tracer.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/core/area.h"
#include "engine/ring/ring.h"

extern const struct tracer *const __start_vestige_tracers[] __attribute__((visibility("hidden")));
extern const struct tracer *const __stop_vestige_tracers[] __attribute__((visibility("hidden")));

static int name_less(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (unsigned char)*a < (unsigned char)*b;
}

/* The i-th smallest name: a handful of tracers need no sorted copy. */
const struct tracer *tracer_at(uint32_t i)
{
	const struct tracer *const *t, *const *u;

	for (t = __start_vestige_tracers; t < __stop_vestige_tracers; t++) {
		uint32_t before = 0;

		for (u = __start_vestige_tracers; u < __stop_vestige_tracers; u++)
			before += (uint32_t)name_less((*u)->name, (*t)->name);
		if (before == i)
			return *t;
	}
	return NULL;
}

static const struct tracer *find_tracer(const char *name, size_t n)
{
	const struct tracer *t;
	uint32_t i;

	if (n == 6 && !memcmp(name, "ftrace", n)) { /* its name in the first kernels that had it */
		name = "function";
		n = 8;
	}
	for (i = 0; (t = tracer_at(i)); i++)
		if (strlen(t->name) == n && !memcmp(t->name, name, n))
			return t;
	return NULL;
}

int tracer_option_is(const char *name, const char *option)
{
	return str_equal(name, option);
}

int tracer_has_option(const struct tracer *t, const char *name)
{
	const struct tracer_option *o;

	for (o = t->options; o && o->name; o++)
		if (str_equal(o->name, name))
			return 1;
	return 0;
}

const struct tracer *tracer_with_option(const char *name)
{
	const struct tracer *const *t;

	for (t = __start_vestige_tracers; t < __stop_vestige_tracers; t++)
		if (tracer_has_option(*t, name))
			return *t;
	return NULL;
}

static void show_current(const struct trace_array *tr)
{
	struct area_buffer *buffer = trace_array_buffer(tr);

	str_copy(buffer->tracer, sizeof(buffer->tracer), tr->current ? tr->current->name : "nop");
}

int tracer_set(struct trace_array *tr, const char *name, size_t n)
{
	const struct tracer *t = find_tracer(name, n);
	int err = 0;

	if (!t)
		return -EINVAL;
	if (t == tr->current)
		return 0;
	if (tr->current && tr->current->reset)
		tr->current->reset(tr);
	tr->current = NULL;
	/* the kernel empties the buffer here; what a recorder has not fetched yet stays */
	if (!trace_array_area(tr)->recorder)
		ring_clear(tr->ring, UINT32_MAX);
	if (t->init)
		err = t->init(tr);
	if (err)
		area_status("the tracer could not start", t->name, err);
	tr->current = err ? find_tracer("nop", 3) : t;
	show_current(tr);
	return err;
}

void tracing_set(struct trace_array *tr, int on)
{
	int was = ring_is_on(tr->ring);

	if (was == on)
		return;
	if (on && tr->current && tr->current->start)
		tr->current->start(tr);
	ring_set_on(tr->ring, on);
	if (!on && tr->current && tr->current->stop)
		tr->current->stop(tr);
}
