/* SPDX-License-Identifier: MIT */
/* The tables of trace_stat/. Each owner registers a row. */
#ifndef VESTIGE_CORE_TRACE_STAT_H
#define VESTIGE_CORE_TRACE_STAT_H

#include "engine/base/registry.h"
#include "engine/base/seq_buf.h"

/*
 * @show: put the table into @s, as far as there is room. Under the tree lock. Return: 0 or -errno.
 */
struct trace_stat {
	const char *name;
	int (*show)(struct seq_buf *s);
};
REGISTRY(vestige_trace_stats, const struct trace_stat);
#define TRACE_STAT_REGISTER(self) REGISTRY_ADD(vestige_trace_stats, self)

#endif
