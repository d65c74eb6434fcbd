/* SPDX-License-Identifier: MIT */
/* `vestige mem`: memory that kernel functions have requested, were given, and have freed. */
#ifndef VESTIGE_TOOLS_REPORT_MEM_H
#define VESTIGE_TOOLS_REPORT_MEM_H

#include <stdbool.h>

/*
 * mem_print() - the table of a recording of kmem:kmalloc, kfree, kmem_cache_alloc and
 * kmem_cache_free on stdout, a row for each calling function, the most waste first. Return: 0 or
 * -errno with fail() set: ENODATA: there is no such event in it.
 */
int mem_print(const char *path, bool json);

#endif
