/* SPDX-License-Identifier: MIT */
/* mmiotrace_filter: the memory that the mmiotrace tracer watches. Under the tree lock. */
#ifndef VESTIGE_TRACERS_MMIOTRACE_H
#define VESTIGE_TRACERS_MMIOTRACE_H

#include <stddef.h>

#include "engine/base/seq_buf.h"

/*
 * mmio_filter_write() - watch memory, or stop watching it. @text: `0xFROM-0xTO`, or a mapping's
 * path or the end of the path: watch it; with `!` before it: stop watching it; 0 or nothing: stop
 * watching all. @n: bytes of it. Return: as region_add() and region_remove().
 */
int mmio_filter_write(const char *text, size_t n);
void mmio_filter_show(struct seq_buf *s);

/*
 * mmio_watch() - watch @bytes of memory at @at under the name @name, for vestige_watch(). @bytes:
 * 0: stop watching the memory that begins at @at. Any thread. Return: as region_add() and
 * region_remove(), or -errno of tree_enter().
 */
int mmio_watch(const void *at, size_t bytes, const char *name);

#endif
