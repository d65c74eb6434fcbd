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

/* Has this CPU the counter from which AREA_CLOCK_TSC stamps are? Then its value now. */
bool machine_has_counter(void);
uint64_t machine_counter(void);

/*
 * machine_breakpoint() - *@bytes: gets the breakpoint instruction. Return: its length in bytes, at
 * most sizeof(long); 0: the CPU is not known. A process that has executed it stops with its program
 * counter behind the instruction.
 */
size_t machine_breakpoint(const unsigned char **bytes);

/*
 * The program counter of a process that is stopped under ptrace. On failure machine_pc_get()
 * returns 0 and machine_pc_set() -1.
 */
uint64_t machine_pc_get(pid_t pid);
int machine_pc_set(pid_t pid, uint64_t pc);

/*
 * The @i-th register of a core's thread, first the program counter, in the order of an oops. @regs:
 * elf_gregset_t. Return: its name; NULL: there is no more.
 */
const char *machine_core_register(const void *regs, unsigned int i, uint64_t *value);

#endif
