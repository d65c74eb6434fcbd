/* SPDX-License-Identifier: MIT */
/* The stack tracer's files: the stack in the area (struct area_stack), as the kernel prints it. */
#ifndef VESTIGE_TOOLS_STACK_TEXT_H
#define VESTIGE_TOOLS_STACK_TEXT_H

#include "tools/area/meta.h"
#include "tools/text/out.h"

/*
 * stack_text_trace(), stack_text_max_size() - print stack_trace, stack_max_size.
 * @fd: the area. Return: 0 or -errno with fail() set.
 */
int stack_text_trace(const struct meta *m, int fd, struct out *o);
int stack_text_max_size(const struct meta *m, int fd, struct out *o);

#endif
