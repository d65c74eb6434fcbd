/* SPDX-License-Identifier: MIT */
/*
 * What a trace.dat of version 6 of the kernel's records has in front of them: formats of events, names of
 * functions, texts, tasks' names. @top is the kernel (target.h), or a copy of its tracefs. Each function appends to
 * a file that can be sought in; errors of its writes are the stream's. Return: 0 or -errno with fail() set.
 */
#ifndef VESTIGE_TOOLS_RECORD_KERNEL_META_H
#define VESTIGE_TOOLS_RECORD_KERNEL_META_H

#include <stdint.h>
#include <stdio.h>

#include "tools/reader/reader.h"
#include "tools/target/target.h"

int kernel_meta_put_ftrace(struct target *top, FILE *f);

/* @on: the instance whose events are meant, those that are on; NULL: all events. */
int kernel_meta_put_events(struct target *top, struct target *on, FILE *f);
int kernel_meta_put_names(struct target *top, FILE *f);

/*
 * kernel_meta_put() - all of it, from the file's first byte to the tasks' names, which is what `trace-cmd
 * restore -c` writes. @kallsyms: the file with the names of functions.
 */
int kernel_meta_put(struct target *top, const char *kallsyms, FILE *f);

/* The numbers of a file per_cpu/cpuN/stats of the kernel. */
void kernel_meta_stats(const char *text, struct reader_cpu_stats *stats);

#endif
