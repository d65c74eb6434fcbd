/* SPDX-License-Identifier: MIT */
/* ksym_trace_filter: the variables that the ksym_tracer watches. Under the tree lock. */
#ifndef VESTIGE_TRACERS_KSYM_TRACER_H
#define VESTIGE_TRACERS_KSYM_TRACER_H

#include <stddef.h>

#include "engine/base/seq_buf.h"

void ksym_filter_show(struct seq_buf *s);

/*
 * ksym_filter_write() - change the list of watched variables. @text: `SYMBOL:-w-` or `SYMBOL:rw-`:
 * watch the variable; `SYMBOL:---`: stop watching it; 0 or nothing: stop watching all. @n: bytes of
 * it. Return: 0; -EINVAL: another form, no such variable, or r--, which the processor cannot watch;
 * -ENOSPC: four variables are watched already; -errno of perf.
 */
int ksym_filter_write(const char *text, size_t n);

#endif
