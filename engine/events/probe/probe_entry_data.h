/* SPDX-License-Identifier: MIT */
/*
 * Entry data: the arguments of calls, kept for the probes of their return (`r:ev func $arg1
 * $retval`). A call is identified as in core/ops.h: by its retp, and OPS_TAIL. Each thread uses
 * only the data of its own calls; any context.
 */
#ifndef VESTIGE_EVENTS_PROBE_PROBE_ENTRY_DATA_H
#define VESTIGE_EVENTS_PROBE_PROBE_ENTRY_DATA_H

#include <stdint.h>

#include "engine/core/ops.h"

/*
 * probe_entry_data_start() - map the table. Under the tree lock. Return: 0 or -ENOMEM.
 */
int probe_entry_data_start(void);
int probe_entry_data_is_on(void);

/*
 * probe_entry_data_keep() - a call begins on @stack (ops_call_may_be_open()): keep at least @n
 * arguments. Without room nothing is kept.
 */
void probe_entry_data_keep(uint64_t call, uint64_t stack, const struct arch_args *args, uint32_t n);

/*
 * probe_entry_data_find() - get the kept arguments of a call that returns. Return: *@n arguments;
 * NULL, and *@n is 0: none were kept.
 */
const uint64_t *probe_entry_data_find(uint64_t call, uint32_t *n);

/* The call has ended: free its row. */
void probe_entry_data_drop(uint64_t call);

#endif
