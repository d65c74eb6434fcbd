/* SPDX-License-Identifier: MIT */
/*
 * The plug-in contract of tracers. A tracer is one file in tracers/ with one struct tracer and one
 * TRACER_REGISTER(); it includes this header and what of core it uses, and nothing of another
 * tracer. The engine picks it up by the linker section alone.
 */
#ifndef VESTIGE_CORE_TRACER_H
#define VESTIGE_CORE_TRACER_H

#include <stdint.h>

#include "abi/record.h"
#include "engine/core/trace_array.h"

/* An option of one tracer, a file options/NAME while it is current. */
struct tracer_option {
	const char *name; /* NULL ends the list */
	int value;	  /* at first */
};

struct tracer {
	const char *name; /* for current_tracer */
	/*
	 * Become the current tracer: after it returned 0 records are made. On -errno nothing may
	 * be left armed. NULL: nothing to do. Never called while the tracer is current.
	 */
	int (*init)(struct trace_array *tr);
	/* Stop being current: disarm everything. NULL: nothing to do. */
	void (*reset)(struct trace_array *tr);
	/* tracing_on went from 0 to 1, or back, while the tracer is current. NULL: nothing to do. */
	void (*start)(struct trace_array *tr);
	void (*stop)(struct trace_array *tr);
	/* An option changes. 0 or -errno: it then keeps its value. NULL: all may change. */
	int (*set_option)(struct trace_array *tr, const char *name, int value);
	const struct tracer_option *options; /* NULL: none */
	uint32_t record_kinds;		     /* 1 << enum record_kind of all that it writes */
};

#define TRACER_REGISTER(self)                                                                      \
	static const struct tracer *const self##_registered                                        \
		__attribute__((used, section("vestige_tracers"))) = &(self)

/* The i-th registered tracer, in order of name; NULL behind the last. */
const struct tracer *tracer_at(uint32_t i);

/* For set_option: is @name that of the option? */
int tracer_option_is(const char *name, const char *option);

/* Whether the tracer has an option of that name; the tracer that has it, or NULL. */
int tracer_has_option(const struct tracer *t, const char *name);
const struct tracer *tracer_with_option(const char *name);

/*
 * tracer_set() - make a tracer current.
 * @name: @n bytes.
 * Return: 0; -EINVAL if there is none of that name; what its init says: nop is current then.
 */
int tracer_set(struct trace_array *tr, const char *name, size_t n);

/* tracing_on. */
void tracing_set(struct trace_array *tr, int on);

#endif
