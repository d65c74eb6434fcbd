/* SPDX-License-Identifier: MIT */
/* mmiotrace_filter: the memory that the tracer mmiotrace watches. Under the tree's lock. */
#ifndef VESTIGE_TRACERS_MMIOTRACE_H
#define VESTIGE_TRACERS_MMIOTRACE_H

#include <stddef.h>

#include "engine/base/seq_buf.h"

/*
 * mmio_filter_write() - watch the memory that @text names: `0xFROM-0xTO`, or a mapping's path or
 * the end of it; `!` before it: stop watching it. 0 or nothing ends all. Return: as region_add()
 * and region_remove().
 */
int mmio_filter_write(const char *text, size_t n);
void mmio_filter_show(struct seq_buf *s);

/*
 * mmio_watch() - for vestige_watch(): watch @bytes at @at as @name; 0 bytes: stop watching the
 * memory that begins there. Any thread. Return: as region_add() and region_remove(), or of
 * tree_enter().
 */
int mmio_watch(const void *at, size_t bytes, const char *name);

#endif
