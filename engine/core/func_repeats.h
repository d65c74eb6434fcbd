/* SPDX-License-Identifier: MIT */
/*
 * The option func-no-repeats of the function tracer: a call that comes again at once from the same
 * place is counted, and the next other call of the thread has a record of how often before it, as
 * the kernel's event ftrace:func_repeats.
 */
#ifndef VESTIGE_CORE_FUNC_REPEATS_H
#define VESTIGE_CORE_FUNC_REPEATS_H

#include "engine/ring/ring.h"

/* Such records are going to be made. Under the tree's lock. Return: 0; -ENOSPC. */
int func_repeats_start(void);

/*
 * func_repeats_take() - a function is called. Return: whether the call was counted, so that it
 * needs no record. @parent_ip: where it returns to. @now: the stamp of what is recorded of it, 0:
 * it has none yet. Between ring_enter() and ring_leave().
 */
int func_repeats_take(struct ring *r, uint32_t id, uint64_t parent_ip, uint64_t now);

#endif
