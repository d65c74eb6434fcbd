/* SPDX-License-Identifier: MIT */
/*
 * The option func-no-repeats of the function tracer: a call that repeats the thread's last call,
 * from the same caller, is only counted. Before the thread's next other call a record has the
 * count, as the kernel's event ftrace:func_repeats.
 */
#ifndef VESTIGE_CORE_FUNC_REPEATS_H
#define VESTIGE_CORE_FUNC_REPEATS_H

#include "engine/ring/ring.h"

/* Before such records are made. Under the tree lock. Return: 0; -ENOSPC. */
int func_repeats_start(void);

/*
 * func_repeats_take() - a function is called. Return: whether the call was counted, so that it
 * needs no record. @parent_ip: the return address. @now: the stamp for its record; 0: none yet.
 * Between ring_enter() and ring_leave().
 */
int func_repeats_take(struct ring *r, uint32_t id, uint64_t parent_ip, uint64_t now);

#endif
