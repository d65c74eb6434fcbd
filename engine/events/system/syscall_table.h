/* SPDX-License-Identifier: MIT */
/* The system calls: their names and arguments by number. Static, any context. */
#ifndef VESTIGE_EVENTS_SYSTEM_SYSCALL_TABLE_H
#define VESTIGE_EVENTS_SYSTEM_SYSCALL_TABLE_H

#include <stdint.h>

#define SYSCALL_NUMBERS 463u

/* The name without `sys_`; NULL: no call has the number. */
const char *syscall_name(uint64_t nr);

/*
 * syscall_arg() - the next text: first after a call's name, then after the text that this function
 * gave: type, name, type, name ... Return: NULL: that was the last.
 */
const char *syscall_arg(const char *before);

#endif
