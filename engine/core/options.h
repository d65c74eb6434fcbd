/* SPDX-License-Identifier: MIT */
/*
 * The options of trace_options: bits in the area (abi/option.h). Any thread, one writer at a time.
 */
#ifndef VESTIGE_CORE_OPTIONS_H
#define VESTIGE_CORE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/option.h"
#include "engine/base/registry.h"

struct trace_array;

/* The @i-th option in the kernel's order; *@bit: its bit. NULL behind the last. */
const char *option_at(uint32_t i, int *bit);

/* Whether all tracers, or at least one of them, have the option. */
int option_exists(int bit);

/* The bit of the option of that name, or -ENOENT. @name: @n bytes. */
int option_find(const char *name, size_t n);

int option_is_on(const struct trace_array *tr, int bit);

/* Whether trace_options lists it: all tracers have it, or the current one has it. */
int option_listed(const struct trace_array *tr, int bit);

/*
 * The owner of an option that all tracers have. set(): return 0; -errno: the option keeps its
 * value. Under the tree lock.
 */
struct option_owner {
	uint32_t bit; /* enum area_option */
	int (*set)(struct trace_array *tr, int on);
};
REGISTRY(vestige_option_owners, const struct option_owner);
#define OPTION_OWNER_REGISTER(self) REGISTRY_ADD(vestige_option_owners, self)

/* Return: 0; -errno: the owner or the tracer refused, and the option is unchanged. */
int option_set(struct trace_array *tr, int bit, int on);

#endif
