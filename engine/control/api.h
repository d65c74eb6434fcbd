/* SPDX-License-Identifier: MIT */
/*
 * Functions of vestige.h that api.c puts into its table and other files define. vestige.h documents
 * them.
 */
#ifndef VESTIGE_CONTROL_API_H
#define VESTIGE_CONTROL_API_H

#include <stddef.h>

struct ftrace_ops;

int inside_ops_register(struct ftrace_ops *ops);
int inside_ops_unregister(struct ftrace_ops *ops);
int inside_ops_set_filter(struct ftrace_ops *ops, const char *buf, size_t bytes, int reset,
			  int notrace);
void *inside_return_address(void *slot);

#endif
