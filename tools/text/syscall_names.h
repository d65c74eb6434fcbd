/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_TOOLS_SYSCALL_NAMES_H
#define VESTIGE_TOOLS_SYSCALL_NAMES_H

#include <stdint.h>

/* By number, as programs know them; NULL: there is none. Made when vestige is built. */
extern const char *const syscall_names[];
extern const unsigned int syscall_nr_names;

/*
 * The kernel's name for the function of a system call of this machine, without `sys_`; NULL: none.
 */
const char *syscall_names_find(uint64_t nr);

/* From that name to the one that programs know: newfstat is fstat. @kernel: returned where they are one. */
const char *syscall_names_program(const char *kernel);

#endif
