/* SPDX-License-Identifier: MIT */
/* All records of a reader in the form of the kernel's `trace` file. */
#ifndef VESTIGE_TOOLS_TRACE_PRINT_H
#define VESTIGE_TOOLS_TRACE_PRINT_H

#include <stdbool.h>

#include "tools/reader/reader.h"

/*
 * trace_print() - read @r to its end and print it to stdout.
 * @cpus: which CPUs to print, nr_cpus entries; NULL: all.
 * @set, @keep: bits of enum graph_option, for a trace of calls: an option is on if it is in @set,
 * or if it is in @keep and was on in the process.
 * Return: 0 or -errno with fail() set. If the reader of stdout goes away, that is no error: 0.
 */
int trace_print(struct reader *r, const bool *cpus, uint32_t set, uint32_t keep);

#endif
