/* SPDX-License-Identifier: MIT */
/*
 * What calls were made with, kept for the probes of their return (`r:ev func $arg1 $retval`). A call is
 * told as in core/calls.h: its slot, and CALLS_TAIL. A thread's own calls alone; any context.
 */
#ifndef VESTIGE_EVENTS_PROBE_BEGUN_H
#define VESTIGE_EVENTS_PROBE_BEGUN_H

#include <stdint.h>

#include "engine/core/calls.h"

/* probe_begun_start() - have room for it, from now on. Under the tree's lock. Return: 0 or -ENOMEM. */
int probe_begun_start(void);
int probe_begun_is_on(void);

/* A call begins: keep @n arguments at least. Where there is no room nothing is kept. */
void probe_begun_keep(uint64_t call, const struct call_args *args, uint32_t n);

/* probe_begun_find() - what was kept of a call that ends. Return: the arguments, *@n of them; NULL and 0. */
const uint64_t *probe_begun_find(uint64_t call, uint32_t *n);

/* The call is over. */
void probe_begun_drop(uint64_t call);

#endif
