/* SPDX-License-Identifier: MIT */
/*
 * Decodes an x86-64 instruction: its length, its effect on the flow of control, and its form at
 * another address. 64-bit mode alone: legacy opcodes, the 0F, 0F38 and 0F3A maps, 3DNow, VEX, EVEX
 * and XOP. Pure functions without state: any context. An unknown instruction is refused.
 */
#ifndef VESTIGE_OBJECT_INSN_H
#define VESTIGE_OBJECT_INSN_H

#include <stddef.h>
#include <stdint.h>

#define INSN_MAX_BYTES	15u
#define INSN_MAX_MOVED	24u /* bytes of an instruction that was moved */
#define INSN_JUMP_BYTES 5u  /* `jmp rel32` */

enum insn_kind {
	INSN_OTHER,
	INSN_NOP, /* does nothing: nop of any length; not pause */
	INSN_ENDBR,
	INSN_JUMP,	    /* to `target` */
	INSN_JUMP_IF,	    /* to `target`, depending on a flag */
	INSN_LOOP,	    /* to `target`, depending on rcx: loop, jrcxz; has no long form */
	INSN_CALL,	    /* calls `target` */
	INSN_JUMP_INDIRECT, /* through a register or memory */
	INSN_CALL_INDIRECT,
	INSN_RETURN, /* ret, iret, sysret */
	INSN_SYSCALL,
	INSN_INT3,
	INSN_TRAP,	  /* the next instruction does not run: ud2 and the like, hlt */
	INSN_TRANSACTION, /* xbegin: to `target` if the transaction is aborted */
};

enum insn_map {
	INSN_MAP_ONE,
	INSN_MAP_0F,
	INSN_MAP_0F38,
	INSN_MAP_0F3A,
	INSN_MAP_3DNOW,
	INSN_MAP_MORE, /* a map that only VEX, EVEX or XOP have */
};

struct insn {
	uint8_t bytes;
	uint8_t kind; /* enum insn_kind */
	uint8_t map;  /* enum insn_map */
	uint8_t opcode;
	uint8_t opcode_at; /* offset in the instruction, as all `_at` */
	uint8_t rex;	   /* 0: none */
	uint8_t rep;	   /* 0xf2, 0xf3, or 0: none */
	uint8_t operand16, address32, lock;
	uint8_t has_modrm, modrm;
	uint8_t sib_at;		     /* 0: none */
	uint8_t disp_at, disp_bytes; /* of a memory operand */
	uint8_t imm_at, imm_bytes;   /* an immediate, or a branch's displacement */
	uint8_t rip_relative;	     /* the displacement is from the instruction's end */
	int64_t target;		     /* a branch: distance from the instruction's begin, bytes */
};

/*
 * insn_decode() - decode the instruction at @code. At most @n bytes are read.
 * Return: its length in bytes; 0: unknown, or longer than @n.
 */
uint32_t insn_decode(struct insn *in, const uint8_t *code, size_t n);

/* Whether the instruction behind it may run after it. */
static inline int insn_goes_on(const struct insn *in)
{
	return in->kind != INSN_JUMP && in->kind != INSN_JUMP_INDIRECT && in->kind != INSN_RETURN &&
	       in->kind != INSN_TRAP;
}

/* Whether `target` is valid. */
static inline int insn_has_target(const struct insn *in)
{
	return in->kind == INSN_JUMP || in->kind == INSN_JUMP_IF || in->kind == INSN_LOOP ||
	       in->kind == INSN_CALL || in->kind == INSN_TRANSACTION;
}

/*
 * insn_move() - write code that has the same effect at another address. A branch becomes a long
 * one. A call pushes the return address of the original place, and jumps, so an unwinder sees no
 * difference.
 * @in: the decoded instruction. @code: its bytes. @from: its address. @to: the address at which the
 * new code will run. @out: INSN_MAX_MOVED bytes of room.
 * Return: bytes written; -EOPNOTSUPP: it cannot be moved; -ERANGE: its target is too far.
 */
int insn_move(const struct insn *in, const uint8_t *code, uint64_t from, uint64_t to, uint8_t *out);

#endif
