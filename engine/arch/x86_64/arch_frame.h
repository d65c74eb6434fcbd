/* SPDX-License-Identifier: MIT */
/*
 * The registers of a call, as the entry points of hook/<cpu>/ save them: their numbers, their names
 * in probes, and the arguments and results among them. Any context, no state.
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
	ARCH_REG_IP = ARCH_NR_SAVED, /* these two are known without being saved */
	ARCH_REG_SP,
	ARCH_NR_REGS,
	ARCH_REG_RESULT = ARCH_AX, /* what a function returns */
};

/* All that are saved where a callback or a probe may look at them. */
struct arch_regs {
	uint64_t saved[ARCH_NR_SAVED]; /* by enum arch_reg */
};

/* DWARF's numbers of the frame pointer, the stack pointer and the return address */
#define ARCH_DWARF_FP	  6
#define ARCH_DWARF_SP	  7
#define ARCH_DWARF_RETURN 16

#define ARCH_NR_ARGS                                                                               \
	6u /* arguments that are in registers; the others are above the return address */

/* The registers of the arguments alone, as calls_entry.S saves them. */
struct arch_args {
	uint64_t r9, r8, di, si, cx, dx;
};

/* The register of the @i-th argument, below ARCH_NR_ARGS. */
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

static inline struct arch_args arch_args_of(const struct arch_regs *r)
{
	return (struct arch_args){r->saved[ARCH_R9], r->saved[ARCH_R8], r->saved[ARCH_DI],
				  r->saved[ARCH_SI], r->saved[ARCH_CX], r->saved[ARCH_DX]};
}

/* The register of that name, as a probe has it behind `%`; ARCH_NR_REGS: there is none. */
uint32_t arch_reg_named(const char *name, size_t n);

/*
 * The register that a compiler names in an operand, whatever part of it: `%rdi`, `%edi`, `%dil`,
 * `%r9d`. @text: with its `%`. ARCH_NR_REGS: none that is saved.
 */
uint32_t arch_reg_operand(const char *text, size_t n);

/*
 * arch_stub_rule() - whether @expression, @n bytes of DWARF, is the linker's for the end of a frame
 * in its stubs. Return: the value with which arch_stub_cfa() computes it at @ip; 0: it is another
 * expression.
 */
uint32_t arch_stub_rule(const uint8_t *expression, uint32_t n);
static inline uint64_t arch_stub_cfa(uint64_t sp, uint64_t ip, uint32_t rule)
{
	/* one word is there, or two behind the stub's push */
	return sp + 8 + ((ip & 15) >= rule ? 8 : 0);
}

/* Whether it is the instruction pointer, by which an address is relative to the code. */
int arch_operand_is_ip(const char *text, size_t n);

#endif
