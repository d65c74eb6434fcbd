/* SPDX-License-Identifier: MIT */
/* What an instance of the kernel's tracefs records for `record -k`: its events, tracer and threads. */
#ifndef VESTIGE_TOOLS_KERNEL_CHOOSE_H
#define VESTIGE_TOOLS_KERNEL_CHOOSE_H

#include "tools/record/kernel.h"
#include "tools/target/target.h"

/*
 * kernel_choose() - enable the events and set the tracer of @wish.
 * @top: the kernel, which has the lists of what there is. @at: the instance, with none yet.
 * Return: 0 or -errno with fail() set: EINVAL no such event or tracer, or no event is left; what the
 * kernel gave when it refused a tracer.
 */
int kernel_choose(struct target *top, struct target *at, const struct kernel_wish *wish);

/* kernel_choose_threads() - as kernel_record_limit(). */
int kernel_choose_threads(struct target *at, const int *pids, unsigned int nr);

#endif
