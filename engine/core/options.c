/* SPDX-License-Identifier: MIT */
/*
 * Options that have an effect inside the process are carried out here; the others only control how
 * the tools print. The bits are in the area, so that a dead process's trace is printed as its
 * options say. fork: the child's area begins with the parent's. Tests: tests/engine/fire/control.
 */
#include "engine/core/options.h"

#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/core/context.h"
#include "engine/core/stack.h"
#include "engine/core/tracer.h"

#define ROW(NAME, name, bit, first) {name, bit},
static const struct {
	const char *name;
	int bit;
} options[] = {AREA_OPTIONS_GLOBAL(ROW) AREA_OPTIONS_FUNCTION(ROW) AREA_OPTIONS_GRAPH(ROW)
		       AREA_OPTIONS_NOP(ROW)};
#undef ROW

const char *option_at(uint32_t i, int *bit)
{
	if (i >= ARRAY_SIZE(options))
		return NULL;
	*bit = options[i].bit;
	return options[i].name;
}

int option_exists(int bit)
{
	return area_option_is_global(bit) || tracer_with_option(bit);
}

int option_find(const char *name, size_t n)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (strlen(options[i].name) == n && !memcmp(options[i].name, name, n) &&
		    option_exists(options[i].bit))
			return options[i].bit;
	return -ENOENT;
}

int option_is_on(const struct trace_array *tr, int bit)
{
	/* NULL: the instance is being removed */
	const struct ring *r = __atomic_load_n(&tr->ring, __ATOMIC_RELAXED);

	return r && area_option_on(r->buffer->options, (enum area_option)bit);
}

int option_listed(const struct trace_array *tr, int bit)
{
	const struct tracer *t;

	if (area_option_is_global(bit))
		return 1;
	t = tracer_with_option(bit);
	/* before the first tracer is set, nop is current */
	return t && (tr->current ? t == tr->current : str_equal(t->name, "nop"));
}

static void flip(struct trace_array *tr, int bit)
{
	struct area_buffer *b = trace_array_buffer(tr);

	__atomic_fetch_xor(&b->options, UINT64_C(1) << bit, __ATOMIC_RELAXED);
}

/*
 * Only one instance has trace_printk_dest, and takes it from another; if no other has it, the top
 * instance does.
 */
static int set_printk_dest(struct trace_array *tr, int on)
{
	struct trace_array *to = on ? tr : &global_trace;

	if (!on && trace_array_is_top(tr))
		return -EINVAL;
	flip(printk_trace, AREA_OPTION_TRACE_PRINTK_DEST);
	flip(to, AREA_OPTION_TRACE_PRINTK_DEST);
	__atomic_store_n(&printk_trace, to, __ATOMIC_RELEASE);
	return 0;
}

static int set_by_owner(struct trace_array *tr, int bit, int on)
{
	const struct option_owner *const *owner;

	REGISTRY_EACH (vestige_option_owners, owner)
		if ((*owner)->bit == (uint32_t)bit)
			return (*owner)->set(tr, on);
	return 0;
}

int option_set(struct trace_array *tr, int bit, int on)
{
	const struct tracer *t = area_option_is_global(bit) ? tr->current : tracer_with_option(bit);
	struct area_buffer *b = trace_array_buffer(tr);
	int err;

	if (option_is_on(tr, bit) == on)
		return 0;
	if (t && t->set_option) {
		err = t->set_option(tr, (enum area_option)bit, on);
		if (err)
			return err;
	}
	if (bit == AREA_OPTION_TRACE_PRINTK_DEST)
		return set_printk_dest(tr, on);
	err = set_by_owner(tr, bit, on);
	if (!err && on && (bit == AREA_OPTION_STACKTRACE || bit == AREA_OPTION_USERSTACKTRACE))
		err = stack_start();
	if (bit == AREA_OPTION_CONTEXT)
		err = context_want(tr, on);
	if (err)
		return err;
	flip(tr, bit);
	if (bit == AREA_OPTION_COPY_TRACE_MARKER && !trace_array_is_top(tr))
		__atomic_fetch_add(&marker_copies, on ? 1 : UINT32_MAX, __ATOMIC_RELAXED);
	if (bit == AREA_OPTION_OVERWRITE) {
		/*
		 * the option overwrite and the buffer's flag mean the same; the ring reads the flag
		 */
		if (on)
			b->flags |= AREA_BUFFER_OVERWRITE;
		else
			b->flags &= ~(uint32_t)AREA_BUFFER_OVERWRITE;
	}
	return 0;
}
