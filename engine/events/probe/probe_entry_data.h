/* SPDX-License-Identifier: MIT */
/*
 * Entry data: the arguments of calls, kept for the probes of their return (`r:ev func $arg1
 * $retval`). A call is identified as in core/ops.h: by its retp, and OPS_TAIL. Only a thread's
 * own calls; any context.
 */
#ifndef VESTIGE_EVENTS_PROBE_PROBE_ENTRY_DATA_H
#define VESTIGE_EVENTS_PROBE_PROBE_ENTRY_DATA_H

#include <stdint.h>

#include "engine/core/ops.h"

/*
 * probe_entry_data_start() - have room for it, from now on. Under the tree's lock. Return: 0 or
 * -ENOMEM.
 */
int probe_entry_data_start(void);
int probe_entry_data_is_on(void);

/*
 * A call begins on @stack (ops_call_may_be_open()): keep @n arguments at least. Where there is no
 * room nothing is kept.
 */
void probe_entry_data_keep(uint64_t call, uint64_t stack, const struct arch_args *args, uint32_t n);

/*
 * probe_entry_data_find() - the kept arguments of a call that ends. Return: *@n arguments; NULL and
 * 0.
 */
const uint64_t *probe_entry_data_find(uint64_t call, uint32_t *n);

/* The call is over. */
void probe_entry_data_drop(uint64_t call);

#endif
