/* SPDX-License-Identifier: MIT */
/*
 * Finds functions whose calls must not be wrapped. Such a function touches the word of its own
 * return address (it reads its caller, returns twice, or changes its return), or leaves for another
 * stack (longjmp(), a switch of coroutines). A stub of the graph in that word would change what
 * they do.
 *
 * The instructions of one function are shown in the order of their addresses. The distance of the
 * stack pointer from the word is followed through pushes, pops and sums, and taken from the branch
 * that leads there behind a jump or a return. If it is not known, nothing is found: alloca()
 * without a frame pointer, and code that only a jump table leads to. No state but the caller's; any
 * context. Tests: tests/unit/test_insn.
 */
#ifndef VESTIGE_OBJECT_RETURN_SLOT_H
#define VESTIGE_OBJECT_RETURN_SLOT_H

#include <stdint.h>

#include "object/x86_64/insn.h"

#define RETURN_SLOT_TARGETS 32u
#define RETURN_SLOT_LOST    INT32_MIN

struct return_slot {
	int touched;	/* found: nothing else is looked for */
	int32_t depth;	/* from the stack pointer to the word, in bytes; or RETURN_SLOT_LOST */
	int32_t at[16]; /* the same from registers that the stack pointer was copied to */
	int32_t table;	/* `depth` at an indirect jump, which may use a jump table */
	int is_behind;	/* the instruction before does not continue here */
	uint32_t nr;	/* branches so far; the last ones are kept */
	uint64_t some;	/* a bit for each that was kept, by the lowest bits of where it leads */
	struct {
		int64_t to; /* from the function's first byte */
		int32_t depth;
	} targets[RETURN_SLOT_TARGETS];
};

/* return_slot_begin() - a function begins. */
void return_slot_begin(struct return_slot *r);

/* What return_slot_see() does with an instruction that return_slot_may_see() lets through. */
void return_slot_look(struct return_slot *r, const struct insn *in, const uint8_t *code,
		      int64_t at);

/*
 * Whether the instruction may matter: it branches, or has the stack or frame pointer in an operand
 * (their numbers are 4 and 5 in a modrm), or an opcode without a modrm that changes them.
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

/* return_slot_see() - its next instruction. @at: in bytes from the function's first one. */
static inline void return_slot_see(struct return_slot *r, const struct insn *in,
				   const uint8_t *code, int64_t at)
{
	if (return_slot_may_see(r, in))
		return_slot_look(r, in, code, at);
}

#endif
