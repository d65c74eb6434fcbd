/* SPDX-License-Identifier: MIT */
/*
 * Sets what an instance of the kernel's tracefs records for `record -k`: events, tracer and
 * threads.
 */
#ifndef VESTIGE_TOOLS_KERNEL_CHOOSE_H
#define VESTIGE_TOOLS_KERNEL_CHOOSE_H

#include "tools/record/kernel.h"
#include "tools/target/target.h"

/*
 * kernel_choose() - enable the events and set the tracer of @wish.
 * @top: the kernel, with the lists of events and tracers. @at: the instance, with no event on yet.
 * Return: 0 or -errno with fail() set: EINVAL: no such event or tracer, or no event is left; or the
 * kernel's errno for a tracer.
 */
int kernel_choose(struct target *top, struct target *at, const struct kernel_wish *wish);

/* kernel_choose_threads() - as kernel_record_limit(). */
int kernel_choose_threads(struct target *at, const int *pids, unsigned int nr);

#endif
