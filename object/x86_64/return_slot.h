/* SPDX-License-Identifier: MIT */
/*
 * Finds functions whose calls must not be wrapped. Such a function accesses retp, the word of its
 * own return address (it reads its caller, returns twice, or changes its return), or it switches to
 * another stack (longjmp(), coroutines). A stub's address in that word would change its behaviour.
 *
 * The caller passes the instructions of one function in the order of their addresses. The distance
 * of the stack pointer from retp is followed through pushes, pops and sums. Behind a jump or a
 * return it is taken from the branch that leads there. Where the distance is not known, nothing is
 * found: after alloca() without a frame pointer, and in code that only a jump table leads to. No
 * state but the caller's; any context. Tests: tests/unit/test_insn.
 */
#ifndef VESTIGE_OBJECT_RETURN_SLOT_H
#define VESTIGE_OBJECT_RETURN_SLOT_H

#include <stdint.h>

#include "object/x86_64/insn.h"

#define RETURN_SLOT_TARGETS 32u
#define RETURN_SLOT_LOST    INT32_MIN

struct return_slot {
	int touched;	/* 1: the function accesses retp; the rest is not examined */
	int32_t depth;	/* bytes from the stack pointer to retp; or RETURN_SLOT_LOST */
	int32_t at[16]; /* the same from registers that the stack pointer was copied to */
	int32_t table;	/* `depth` at an indirect jump, which may use a jump table */
	int is_behind;	/* the previous instruction does not continue here */
	uint32_t nr;	/* branches so far; the last ones are kept */
	uint64_t some;	/* the kept branches: a bit for the lowest bits of each target */
	struct {
		int64_t to; /* target, in bytes from the function's first byte */
		int32_t depth;
	} targets[RETURN_SLOT_TARGETS];
};

/* return_slot_begin() - begin with a new function. */
void return_slot_begin(struct return_slot *r);

/* The slow path of return_slot_see(), for an instruction that may matter. */
void return_slot_look(struct return_slot *r, const struct insn *in, const uint8_t *code,
		      int64_t at);

/*
 * Whether the instruction may matter: it branches, it has the stack or frame pointer in an operand
 * (their numbers are 4 and 5 in a modrm), or it changes them without a modrm.
 */
static inline int return_slot_may_see(const struct return_slot *r, const struct insn *in)
{
	if (r->touched)
		return 0;
	if (r->is_behind || r->depth == RETURN_SLOT_LOST || (in->kind != INSN_OTHER))
		return 1;
	if (in->has_modrm)
		return (in->modrm & 6) == 4 || (in->modrm & 0x38) == 4 << 3 ||
		       (in->map == INSN_MAP_ONE && (in->opcode == 0xff || in->opcode == 0x8f));
	return in->map == INSN_MAP_ONE;
}

/* return_slot_see() - pass the next instruction. @at: bytes from the function's first byte. */
static inline void return_slot_see(struct return_slot *r, const struct insn *in,
				   const uint8_t *code, int64_t at)
{
	if (return_slot_may_see(r, in))
		return_slot_look(r, in, code, at);
}

#endif
