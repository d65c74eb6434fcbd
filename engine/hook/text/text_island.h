/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a probe at an instruction: the jump in its place, and the island to which that
 * leads, which calls the engine, does the instruction's work, and goes back behind it. Each cpu has
 * its own (hook/<cpu>/text_island.c).
 */
#ifndef VESTIGE_HOOK_TEXT_TEXT_ISLAND_H
#define VESTIGE_HOOK_TEXT_TEXT_ISLAND_H

#include "engine/core/text_probe.h"

#define TEXT_ISLAND_BYTES  208u
#define TEXT_ISLAND_CODE   64u /* of them; its unwind rows follow */
#define TEXT_LANDING_BYTES 5u  /* a jump to the island, where there is no room for more */

/*
 * text_insn_bytes() - the length of the instruction at @code, of which @n bytes may be read.
 * @movable: whether its island can be made, wherever that will be. Return: 0: it is not known.
 */
uint32_t text_insn_bytes(const uint8_t *code, size_t n, int *movable);

/*
 * text_island_make() - write the island of @place.
 * @code: its instruction, place->bytes. @at: where the island will run; @out: TEXT_ISLAND_BYTES.
 * @landing: where the place's jump leads, if not to the island; its rows are there, too.
 * Return: where in it the jump behind the instruction is; -ERANGE: the instruction's target is too
 * far from there. text_island_lead(): that jump, at @jump, is to lead to @to, which it reaches.
 */
void text_island_lead(uint64_t jump, uint64_t to);
int text_island_make(const uint8_t *code, struct text_place *place, uint64_t at, uint64_t landing,
		     uint8_t *out);

/*
 * A way of jumping from a place: the first bytes of its instruction are written, and the rest of
 * the jump's displacement is the bytes behind them.
 */
struct text_jump {
	uint32_t written; /* bytes of the instruction that change */
	uint32_t pinned;  /* bytes that must stay as they are while it is there, these included */
	uint64_t lo, hi;  /* where it can lead */
};

/*
 * text_jump_nth() - the @i-th way, the best one first. @code: the text at @address, of which
 * TEXT_JUMP_READ bytes may be read. @writable: how many may be written. Return: 0, or -ENOENT:
 * there are no more.
 */
int text_jump_nth(uint32_t i, const uint8_t *code, uint64_t address, uint32_t writable,
		  struct text_jump *jump);
#define TEXT_JUMP_READ 9u

/* Its bytes, `written` of them, when it leads to @to. */
void text_jump_make(const struct text_jump *jump, uint64_t address, uint64_t to, uint8_t *out);

/* The first two bytes of a probe point while the others are written: a jump to itself. */
#define TEXT_STAY 0xfeebu

#endif
