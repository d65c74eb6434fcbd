/* SPDX-License-Identifier: MIT */
/*
 * The events of the kernel's system ftrace whose records the engine itself makes. Other files
 * switch them, but a reader needs their formats in the area. events/ has the formats, and registers
 * here the function that puts them there.
 */
#ifndef VESTIGE_CORE_FTRACE_FORMATS_H
#define VESTIGE_CORE_FTRACE_FORMATS_H

#include <stdint.h>

/* Ids of these events, as in the kernel (6.12); below EVENT_FIRST_ID. */
enum ftrace_id {
	FTRACE_CONTEXT_SWITCH = 2,
	FTRACE_WAKEUP = 3,
	FTRACE_KERNEL_STACK = 4,
	FTRACE_PRINT = 5,
	FTRACE_BPRINT = 6,
	FTRACE_MMIO_RW = 7,
	FTRACE_MMIO_MAP = 8,
	FTRACE_BRANCH = 9,
	FTRACE_USER_STACK = 12,
	FTRACE_BPUTS = 14,
	FTRACE_RAW_DATA = 18,
	FTRACE_FUNC_REPEATS = 19,
	/* of tracers that the kernel no longer has, and our own */
	FTRACE_BOOT_CALL = 21,
	FTRACE_BOOT_RET = 22,
	FTRACE_KMEM_ALLOC = 23,
	FTRACE_KMEM_FREE = 24,
	FTRACE_KMEM_LEAK = 25,
	FTRACE_KSYM = 26,
	FTRACE_SPECIAL = 27,
	FTRACE_BLK = 28,
	FTRACE_POWER = 29,
	FTRACE_HW_BRANCH = 30,
};

/*
 * ftrace_format_text() - before records of that event are made: put its format into the area. Under
 * the tree lock. Return: 0 or -ENOSPC.
 */
int ftrace_format_text(enum ftrace_id id);

/* Register the function that puts a format into the area. Constructor context. */
void ftrace_format_register(int (*describe)(enum ftrace_id id));

#endif
