/* SPDX-License-Identifier: MIT */
/*
 * The accesses of arch_access.c, in assembler: a fault in them is at a known place, so that
 * arch_access_recover() can make them fail. Any context.
 */
#ifndef VESTIGE_ARCH_ACCESS_RUN_H
#define VESTIGE_ARCH_ACCESS_RUN_H

#include <stdint.h>

/*
 * Offsets in bytes from a copy's stack pointer: the address at which arch_access_run() continues
 * (the copy's last instruction jumps to it), and arch_access_run()'s first argument.
 */
#define TAIL_AT 144
#define REGS_AT 152

/*
 * Run @copy with the 16 general registers and the flags of @regs, and save them there after it.
 * @state: the memory that XRSTOR loads before it and XSAVE writes after it, or NULL. @states: the
 * mask of their components. Return: 0; -EFAULT.
 */
int arch_access_run(uint64_t *regs, const uint8_t *copy, void *state, uint64_t states);
/* One access. @bytes: 1, 2, 4 or 8; a value that is read is zero-extended. Return: 0; -EFAULT. */
int arch_access_get(uint64_t *value, const void *from, uint64_t bytes);
int arch_access_put(void *to, uint64_t value, uint64_t bytes);

/*
 * After a fault, arch_access_recover() continues here: a copy at arch_access_fail, the other two
 * functions at arch_access_refuse. Both return -EFAULT.
 */
extern const uint8_t arch_access_fail[] __attribute__((visibility("hidden")));
extern const uint8_t arch_access_refuse[] __attribute__((visibility("hidden")));

#endif
