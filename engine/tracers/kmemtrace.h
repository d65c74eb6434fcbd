/* SPDX-License-Identifier: MIT */
/* Settings of the kmemtrace tracer, from its control files. Under the tree lock. */
#ifndef VESTIGE_TRACERS_KMEMTRACE_H
#define VESTIGE_TRACERS_KMEMTRACE_H

#include <stdint.h>

/*
 * kmemtrace_set_stacks() - count by call site or by stack. @bytes: 0: by call site. N: by stack,
 * one stack for each N bytes that a thread allocates (1: for each block). Return: 0; -EINVAL: above
 * 1 GiB; -EBUSY: the tracer is current; -ENOSYS: this program has no unwinder.
 */
int kmemtrace_set_stacks(uint64_t bytes);
uint64_t kmemtrace_stacks(void);

#endif
