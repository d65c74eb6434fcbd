/* SPDX-License-Identifier: MIT */
/*
 * The registers of a call as the entry points of hook/<cpu>/ save them: their numbers, their names
 * in probes, and which of them hold arguments and results. Any context, no state.
 */
#ifndef VESTIGE_ARCH_FRAME_H
#define VESTIGE_ARCH_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"

/* Numbers of registers, in the order in which they are saved. */
enum arch_reg {
	ARCH_R15,
	ARCH_R14,
	ARCH_R13,
	ARCH_R12,
	ARCH_BP,
	ARCH_BX,
	ARCH_R11,
	ARCH_R10,
	ARCH_R9,
	ARCH_R8,
	ARCH_AX,
	ARCH_CX,
	ARCH_DX,
	ARCH_SI,
	ARCH_DI,
	ARCH_NR_SAVED,
	ARCH_REG_IP = ARCH_NR_SAVED, /* this one and the next are known without being saved */
	ARCH_REG_SP,
	ARCH_NR_REGS,
	ARCH_REG_RESULT = ARCH_AX, /* what a function returns */
};

/* All that are saved where a callback or a probe may use them. */
struct arch_regs {
	uint64_t saved[ARCH_NR_SAVED]; /* by enum arch_reg */
};

/* DWARF's numbers of the frame pointer, the stack pointer and the return address. */
#define ARCH_DWARF_FP	  6
#define ARCH_DWARF_SP	  7
#define ARCH_DWARF_RETURN 16

/* The number of arguments in registers; the others are on the stack, above the return address. */
#define ARCH_NR_ARGS 6u

/* The registers of the arguments alone, as calls_entry.S saves them. */
struct arch_args {
	uint64_t r9, r8, di, si, cx, dx;
};

/* The register of the @i-th argument. @i: 0 .. ARCH_NR_ARGS - 1. */
static inline enum arch_reg arch_arg_reg(uint32_t i)
{
	static const uint8_t regs[ARCH_NR_ARGS] = {ARCH_DI, ARCH_SI, ARCH_DX,
						   ARCH_CX, ARCH_R8, ARCH_R9};

	return (enum arch_reg)regs[i];
}

/* The arguments in their order. */
static inline void arch_args_get(const struct arch_args *a, uint64_t out[ARCH_NR_ARGS])
{
	out[0] = a->di;
	out[1] = a->si;
	out[2] = a->dx;
	out[3] = a->cx;
	out[4] = a->r8;
	out[5] = a->r9;
}
_Static_assert(ARCH_NR_ARGS == RECORD_NR_ARGS, "a record has all of them");

/* The registers of arguments among all saved ones. */
static inline struct arch_args arch_args_of(const struct arch_regs *r)
{
	return (struct arch_args){r->saved[ARCH_R9], r->saved[ARCH_R8], r->saved[ARCH_DI],
				  r->saved[ARCH_SI], r->saved[ARCH_CX], r->saved[ARCH_DX]};
}

/*
 * arch_reg_named() - find a register by its name in probes, without the `%`: di, r8, ip. @n: bytes
 * of the name. Return: enum arch_reg; ARCH_NR_REGS: there is none.
 */
uint32_t arch_reg_named(const char *name, size_t n);

/*
 * arch_reg_operand() - find the register that a compiler names in an operand, whole or in part:
 * `%rdi`, `%edi`, `%dil`, `%r9d`. @text: with its `%`, @n bytes. Return: enum arch_reg;
 * ARCH_NR_REGS: it is no register, or not a saved one.
 */
uint32_t arch_reg_operand(const char *text, size_t n);

/*
 * arch_stub_rule() - whether @expression, @n bytes of DWARF, is the one with which the linker
 * describes the canonical frame address (CFA) in the stubs of a PLT.
 * Return: the @rule for arch_stub_cfa(), which computes the CFA at @ip; 0: another expression.
 */
uint32_t arch_stub_rule(const uint8_t *expression, uint32_t n);
static inline uint64_t arch_stub_cfa(uint64_t sp, uint64_t ip, uint32_t rule)
{
	/* on the stack: the return address, and after the stub's push one more word */
	return sp + 8 + ((ip & 15) >= rule ? 8 : 0);
}

/* Whether the operand @text, @n bytes, is `%rip`: the address is relative to the instruction. */
int arch_operand_is_ip(const char *text, size_t n);

#endif
