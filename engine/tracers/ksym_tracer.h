/* SPDX-License-Identifier: MIT */
/* ksym_trace_filter: the variables that the ksym_tracer watches. Under the tree's lock. */
#ifndef VESTIGE_TRACERS_KSYM_TRACER_H
#define VESTIGE_TRACERS_KSYM_TRACER_H

#include <stddef.h>

#include "engine/base/seq_buf.h"

void ksym_filter_show(struct seq_buf *s);

/*
 * ksym_filter_write() - `SYMBOL:-w-` or `SYMBOL:rw-` watches one, `SYMBOL:---` ends that; 0 or
 * nothing ends all. Return: 0; -EINVAL: another form, no such variable, or r--, which the processor
 * cannot; -ENOSPC: there are four; -errno of perf.
 */
int ksym_filter_write(const char *text, size_t n);

#endif
