/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a probe at an instruction: the jump in its place, and the island to which it leads.
 * The island calls the engine, does the instruction's work, and jumps back behind the instruction.
 * Each cpu has its own (hook/<cpu>/text_island.c).
 */
#ifndef VESTIGE_HOOK_TEXT_TEXT_ISLAND_H
#define VESTIGE_HOOK_TEXT_TEXT_ISLAND_H

#include "engine/core/text_probe.h"

#define TEXT_ISLAND_BYTES  208u
#define TEXT_ISLAND_CODE   64u /* of TEXT_ISLAND_BYTES; its unwind rules follow */
#define TEXT_LANDING_BYTES 5u  /* a jump to the island, where there is no room for more */

/*
 * text_insn_bytes() - the length of the instruction at @code, of which @n bytes may be read.
 * @movable: whether it can run on an island at any address. Return: 0: the instruction is not
 * known.
 */
uint32_t text_insn_bytes(const uint8_t *code, size_t n, int *movable);

/*
 * text_island_make() - write the island of @place. @code: its instruction, place->bytes. @at: where
 * the island will run. @out: TEXT_ISLAND_BYTES. @landing: target of the place's jump, if it is not
 * the island; the island's rows cover it, too. Return: the offset of the jump behind the
 * instruction; -ERANGE: the instruction's target is too far from there. text_island_lead() - make
 * that jump, at @jump, lead to @to, which must be within reach.
 */
void text_island_lead(uint64_t jump, uint64_t to);
int text_island_make(const uint8_t *code, struct text_place *place, uint64_t at, uint64_t landing,
		     uint8_t *out);

/*
 * A way of jumping from a probe point: the first bytes of its instruction are written; the rest of
 * the jump's displacement is the bytes behind them.
 */
struct text_jump {
	uint32_t written; /* bytes of the instruction that change */
	/* bytes that must not change while the jump is there, the written ones included */
	uint32_t pinned;
	uint64_t lo, hi; /* possible targets */
};

/*
 * text_jump_nth() - get the @i-th way, the best one first. @code: the text at @address, of which
 * TEXT_JUMP_READ bytes may be read. @writable: how many may be written. Return: 0; -ENOENT: there
 * are no more.
 */
int text_jump_nth(uint32_t i, const uint8_t *code, uint64_t address, uint32_t writable,
		  struct text_jump *jump);
#define TEXT_JUMP_READ 9u

/* Make the jump's bytes, `written` of them, for the target @to. */
void text_jump_make(const struct text_jump *jump, uint64_t address, uint64_t to, uint8_t *out);

/* The first two bytes of a probe point while the others are written: a jump to itself. */
#define TEXT_STAY 0xfeebu

#endif
