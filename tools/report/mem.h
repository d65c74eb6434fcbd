/* SPDX-License-Identifier: MIT */
/* What callers of malloc have asked for, got and given back: `vestige mem`. */
#ifndef VESTIGE_TOOLS_REPORT_MEM_H
#define VESTIGE_TOOLS_REPORT_MEM_H

#include <stdbool.h>

/*
 * mem_print() - the table of a recording of kmem:kmalloc, kfree, kmem_cache_alloc and kmem_cache_free on
 * stdout, a row each calling function, the one that wastes most first. Return: 0 or -errno with fail() set:
 * ENODATA there is no such event in it.
 */
int mem_print(const char *path, bool json);

#endif
