/* SPDX-License-Identifier: MIT */
/* The argument of --cpu: `0,2-3`. */
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

#endif
