/* SPDX-License-Identifier: MIT */
/* All records of a reader as the kernel's `trace` file. */
#ifndef VESTIGE_TOOLS_TRACE_PRINT_H
#define VESTIGE_TOOLS_TRACE_PRINT_H

#include <stdbool.h>

#include "tools/reader/reader.h"

/*
 * trace_print() - read @r to its end and print it to stdout.
 * @cpus: those wanted, nr_cpus of them; NULL: all.
 * @set, @keep: of a trace of calls the options (enum graph_option) that the process had on and that
 * are in @keep, and those in @set.
 * Return: 0 or -errno with fail() set. If the reader of stdout goes away, that is no error: 0.
 */
int trace_print(struct reader *r, const bool *cpus, uint32_t set, uint32_t keep);

#endif
