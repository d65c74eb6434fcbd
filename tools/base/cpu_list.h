/* SPDX-License-Identifier: MIT */
/* CPUs as text: the argument of --cpu, `0,2-3`, and the kernel's masks, `3,ffffffff`. */
#ifndef VESTIGE_TOOLS_CPU_LIST_H
#define VESTIGE_TOOLS_CPU_LIST_H

#include <stdbool.h>

/*
 * cpu_list_parse() - which CPUs a list names.
 * @nr_cpus: of the trace; ids are below it.
 * @out: a malloced array of @nr_cpus, to be freed; only on success.
 * Return: 0, or -EINVAL (not a list), -ERANGE (no such CPU), -ENOMEM with fail() set.
 */
int cpu_list_parse(const char *list, unsigned int nr_cpus, bool **out);

/*
 * cpu_mask_all() - the mask of @nr CPUs, 1 to CPU_MASK_MAX, as the kernel reads it: in hexadecimal,
 * with a comma between each eight digits. Return: @to.
 */
#define CPU_MASK_MAX   1024u
#define CPU_MASK_BYTES (CPU_MASK_MAX / 4 + CPU_MASK_MAX / 32 + 1)
const char *cpu_mask_all(char to[CPU_MASK_BYTES], unsigned int nr);

#endif
