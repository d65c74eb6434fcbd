/* SPDX-License-Identifier: MIT */
/* What arch_access.c does in assembler, where a fault is one of the program's accesses. */
#ifndef VESTIGE_ARCH_ACCESS_RUN_H
#define VESTIGE_ARCH_ACCESS_RUN_H

#include <stdint.h>

/*
 * From a copy's stack pointer: where arch_access_run() goes on, to which the copy's last instruction
 * jumps, and its first argument.
 */
#define TAIL_AT 144
#define REGS_AT 152

/*
 * Run @copy with the general registers and flags of @regs, which it changes. @state: for XRSTOR and
 * XSAVE, or NULL. Return: 0; -EFAULT.
 */
int arch_access_run(uint64_t *regs, const uint8_t *copy, void *state, uint64_t states);
/* One access. Return: 0; -EFAULT. */
int arch_access_get(uint64_t *value, const void *from, uint64_t bytes);
int arch_access_put(void *to, uint64_t value, uint64_t bytes);

/* Where the handler of a fault in a copy, or in the two functions, has them go on. */
extern const uint8_t arch_access_fail[] __attribute__((visibility("hidden")));
extern const uint8_t arch_access_refuse[] __attribute__((visibility("hidden")));

#endif
