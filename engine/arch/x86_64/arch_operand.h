/* SPDX-License-Identifier: MIT */
/* What an instruction does with its operand in memory. Pure functions. */
#ifndef VESTIGE_ARCH_OPERAND_H
#define VESTIGE_ARCH_OPERAND_H

#include <stdint.h>

#include "object/x86_64/insn.h"

enum operand_how {
	OPERAND_PLAIN,
	OPERAND_STRING, /* movs, cmps, stos, lods, scas: at rsi, rdi or both */
	OPERAND_PUSH,
	OPERAND_POP,
	OPERAND_CALL,
	OPERAND_JUMP,
};

enum operand_vex { OPERAND_LEGACY, OPERAND_VEX, OPERAND_EVEX };

struct operand {
	uint16_t bytes;
	uint8_t how; /* enum operand_how */
	uint8_t reads, writes;
	uint8_t compares;   /* it writes only if it finds what it expects */
	uint8_t bits;	    /* bt and its kind: a register has the number of a bit */
	uint8_t vectors;    /* it may use registers other than the general ones */
	uint8_t vex;	    /* enum operand_vex */
	uint8_t first;	    /* offset of its vector prefix */
	uint8_t is_masked;  /* by a mask register: elements that it excludes are not accessed */
	uint8_t reg_is_gpr; /* modrm's register is a general one of 2 bytes or more */
	uint8_t third;	    /* a third general register; 0xff: none */
};

/*
 * operand_read() - fill in @o, the memory operand of @in, whose bytes are at @code. @writes:
 * whether its fault was a write. Return: 0; -EOPNOTSUPP: the instruction is not supported.
 */
int operand_read(struct operand *o, const struct insn *in, const uint8_t *code, int writes);

#endif
