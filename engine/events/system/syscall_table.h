/* SPDX-License-Identifier: MIT */
/* System calls: their names and arguments by number. Constant data, any context. */
#ifndef VESTIGE_EVENTS_SYSTEM_SYSCALL_TABLE_H
#define VESTIGE_EVENTS_SYSTEM_SYSCALL_TABLE_H

#include <stdint.h>

#define SYSCALL_NUMBERS 463u

/* The name without `sys_`; NULL: no call has the number. */
const char *syscall_name(uint64_t nr);

/*
 * syscall_arg() - get the next text: the first one after a call's name, then the one after the last
 * result: type, name, type, name ... Return: NULL: there are no more.
 */
const char *syscall_arg(const char *before);

#endif
