/* SPDX-License-Identifier: MIT */
/*
 * Writes the part of a trace.dat of version 6 that is before the kernel's records: formats of
 * events, names of functions, texts of trace_printk(), names of tasks. @top: the kernel (target.h),
 * or a copy of its tracefs. Each function appends to @f, which must be seekable; errors of writes
 * are in ferror(@f). Return: 0 or -errno with fail() set.
 */
#ifndef VESTIGE_TOOLS_RECORD_KERNEL_META_H
#define VESTIGE_TOOLS_RECORD_KERNEL_META_H

#include <stdint.h>
#include <stdio.h>

#include "tools/reader/reader.h"
#include "tools/target/target.h"

int kernel_meta_put_ftrace(struct target *top, FILE *f);

/* @on: an instance: only the events that are on in it; NULL: all events. */
int kernel_meta_put_events(struct target *top, struct target *on, FILE *f);
int kernel_meta_put_names(struct target *top, FILE *f);

/*
 * kernel_meta_put() - write all of it, from the file's first byte to the tasks' names, as
 * `trace-cmd restore -c` does. @kallsyms: path of the file with the names of functions.
 */
int kernel_meta_put(struct target *top, const char *kallsyms, FILE *f);

/* Parse the text of a file per_cpu/cpuN/stats of the kernel. */
void kernel_meta_stats(const char *text, struct reader_cpu_stats *stats);

#endif
