/* SPDX-License-Identifier: MIT */
/*
 * The events of the kernel's system ftrace whose records the engine makes itself: they are not switched
 * on, but their records need a format in the area to be read by. The formats are those of events/, which
 * says here how they get there.
 */
#ifndef VESTIGE_CORE_DESCRIBE_H
#define VESTIGE_CORE_DESCRIBE_H

#include <stdint.h>

/* Their ids, as in the kernel (6.12). */
enum ftrace_id {
	FTRACE_KERNEL_STACK = 4,
	FTRACE_PRINT = 5,
	FTRACE_BPRINT = 6,
	FTRACE_USER_STACK = 12,
	FTRACE_BPUTS = 14,
	FTRACE_RAW_DATA = 18,
	FTRACE_FUNC_REPEATS = 19,
};

/*
 * describe_ftrace() - records of that event are going to be made. Under the tree's lock.
 * Return: 0 or -ENOSPC.
 */
int describe_ftrace(enum ftrace_id id);

/* Who does that. Constructor context. */
void describe_register(int (*describe)(enum ftrace_id id));

#endif
