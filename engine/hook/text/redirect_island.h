/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a redirect: the jump at a function that was built without a site, and the island to
 * which it leads. An island begins with an ordinary site of ARCH_SITE_FULL bytes, which hooks
 * switch. Then come the instructions that the jump has replaced, and a jump back behind them. Each
 * cpu has its own (hook/<cpu>/redirect_island.c). No state.
 */
#ifndef VESTIGE_HOOK_TEXT_REDIRECT_ISLAND_H
#define VESTIGE_HOOK_TEXT_REDIRECT_ISLAND_H

#include <stddef.h>
#include <stdint.h>

#define REDIRECT_ISLAND_BYTES 64u  /* size and alignment of an island */
#define REDIRECT_ROW_BYTES    128u /* bytes of an island's unwind rules */
#define REDIRECT_HEAD_BYTES   64u  /* bytes that the rows of all islands share */
#define REDIRECT_HEADER_AT    52u  /* offset in them of the header of a PT_GNU_EH_FRAME segment */
#define REDIRECT_TABLE_BYTES  8u   /* an island's entry in the table of rows, behind the head */
#define REDIRECT_MAX_MOVED    19u  /* bytes of the function's instructions that run on the island */
#define REDIRECT_MAX_WRITTEN  5u   /* longest jump in the text */

/*
 * redirect_island_make() - write the island behind its site. @code: the @n bytes of the
 * instructions, which are at @from. @at: where the island will run. @out: REDIRECT_ISLAND_BYTES,
 * site included. @rows: REDIRECT_ROW_BYTES for its unwind rules, which will be at @rows_at;
 * @head_at: address of the head. Return: 0; -ERANGE: an instruction's target is too far;
 * -EOPNOTSUPP: an instruction cannot be moved.
 */
int redirect_island_make(const uint8_t *code, uint32_t n, uint64_t from, uint64_t at, uint8_t *out,
			 uint8_t *rows, uint64_t rows_at, uint64_t head_at);

/*
 * redirect_original() - the address of the function's instruction for the code at @offset of an
 * island. @rows: the island's unwind rules. Any context.
 */
uint64_t redirect_original(const uint8_t *rows, uint32_t offset);

/*
 * redirect_head_make() - write the table by which unwinders find the rows of @nr islands. The
 * islands begin at @islands, their rows at @rows. @out: where the table stays: REDIRECT_HEAD_BYTES
 * and its entries.
 */
void redirect_head_make(uint8_t *out, uint64_t islands, uint64_t rows, uint32_t nr);

/*
 * The jumps of a function whose first instruction is at @from: the long one at *@where, which is
 * @from or in padding, and the short one of two bytes that leads to padding. Return: bytes written
 * to @out.
 */
uint32_t redirect_jump_make(uint64_t where, uint64_t to, uint8_t *out);
uint32_t redirect_short_jump_make(uint64_t from, uint64_t to, uint8_t *out);

#endif
