/* SPDX-License-Identifier: MIT */
/*
 * The plug-in contract of tracers. A tracer is one file in tracers/ with one struct tracer and one
 * TRACER_REGISTER(); it includes this header and other headers of core, and nothing of another
 * tracer. The engine picks it up by the linker section alone. docs/design/ARCHITECTURE.md, "A new
 * tracer", says how one is written.
 *
 * The functions that a tracer calls:
 *	ftrace_start(), ftrace_stop()		the calls of functions (ops.h)
 *	ring_set_gate(), ring_gate_open(), ..	... in threads and at times that it chooses (ring.h)
 *	ring_reserve(), ring_commit()		its records (ring_write.h)
 *	ring_snapshot()				use_max_tr: the records are the new maximum
 */
#ifndef VESTIGE_CORE_TRACER_H
#define VESTIGE_CORE_TRACER_H

#include <stdint.h>

#include "abi/option.h"
#include "abi/record.h"
#include "engine/base/registry.h"
#include "engine/core/trace_array.h"

/* A tracer. Functions may be NULL. All but start and stop: under the tree lock. */
struct tracer {
	const char *name; /* name for current_tracer */
	/*
	 * Become the current tracer. Return: 0: records are made from now on; -errno: nothing may
	 * be left armed. Never called while the tracer is current.
	 */
	int (*init)(struct trace_array *tr);
	/* Stop being current: disarm everything. */
	void (*reset)(struct trace_array *tr);
	/*
	 * start: tracing_on is about to change from 0 to 1. stop: it has changed from 1 to 0. A
	 * trigger or a func command may do that, so: any context, any thread, and perhaps once more
	 * while reset() runs.
	 */
	void (*start)(struct trace_array *tr);
	void (*stop)(struct trace_array *tr);
	/*
	 * An option changes: one of the tracer's own (whether it is current or not), or one of all
	 * tracers while it is current. Return: 0; -errno: the option keeps its value.
	 */
	int (*set_option)(struct trace_array *tr, enum area_option option, int value);
	/* its own options, TRACER_OPTION() of each; abi/option.h has their initial values */
	uint64_t options;
	/*
	 * Why this process cannot have the tracer, as a text for vestige_status; NULL: it can. A
	 * tracer without this function always exists. Any time.
	 */
	const char *(*absent)(void);
	/*
	 * no privilege changes that: only vestige_absent reports it, not the vestige_status of each
	 * process
	 */
	uint8_t absent_by_machine;
	uint8_t allow_instances; /* 0: it can be current in the top instance alone */
	/* the snapshot is allocated for the tracer, and no other user may take one */
	uint8_t use_max_tr;
};

#define TRACER_OPTION(option) (UINT64_C(1) << (option))

REGISTRY(vestige_tracers, const struct tracer);
#define TRACER_REGISTER(self) REGISTRY_ADD(vestige_tracers, self)

/* The registered tracer behind @before, in order of names; NULL: the first, or none is behind. */
const struct tracer *tracer_next(const struct tracer *before);

/* Whether the instance may have the tracer. */
int tracer_is_allowed(const struct tracer *t, const struct trace_array *tr);

/* The tracer that has an option of its own, or NULL. @option: a bit of area_buffer.options. */
const struct tracer *tracer_with_option(int option);

/*
 * tracer_set() - make a tracer current. @name: @n bytes. Return: 0; -EINVAL: there is no such
 * tracer, or not for instances; -ENOMEM: for its snapshot; -errno of its init: then nop is current.
 * Under the tree lock.
 */
int tracer_set(struct trace_array *tr, const char *name, size_t n);

/* Switch tracing_on. Every switch goes through here. Any context. */
void tracing_set(struct trace_array *tr, int on);

/*
 * tracer_snapshot() - take a snapshot for a user, as ring_snapshot(). @cpu: UINT32_MAX: all CPUs.
 * Return: as ring_snapshot(); also -EBUSY if the snapshot belongs to the current tracer. Any
 * context.
 */
int tracer_snapshot(struct trace_array *tr, uint32_t cpu);

#endif
