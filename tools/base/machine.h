/* SPDX-License-Identifier: MIT */
/*
 * The CPU, for tools/: its stamp counter, and how to stop a traced process at an address.
 * machine_<cpu>.c has it for a CPU, machine_none.c for one that we do not know; the build picks
 * one.
 */
#ifndef VESTIGE_TOOLS_MACHINE_H
#define VESTIGE_TOOLS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The counter that AREA_CLOCK_TSC stamps are of; false when there is none. */
bool machine_has_counter(void);
uint64_t machine_counter(void);

/*
 * A breakpoint instruction: its bytes, at most sizeof(long), and how many; 0 unknown CPU. When a
 * process has run into it, its program counter is @address + the number of bytes.
 */
size_t machine_breakpoint(const unsigned char **bytes);

/* Program counter of a process that is stopped under ptrace; 0 and -1 when it cannot be had. */
uint64_t machine_pc_get(pid_t pid);
int machine_pc_set(pid_t pid, uint64_t pc);

/*
 * The @i-th register of a core's thread, first the program counter, in the order of an oops. @regs:
 * elf_gregset_t. Return: its name; NULL: there is no more.
 */
const char *machine_core_register(const void *regs, unsigned int i, uint64_t *value);

#endif
