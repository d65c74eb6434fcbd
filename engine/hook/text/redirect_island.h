/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a redirect: the jump at a function that was built without a site, and the island to
 * which that leads. An island begins with an ordinary site of ARCH_SITE_FULL bytes, which hooks
 * switch; then come the instructions that the jump has replaced, and a jump back behind them. Each
 * cpu has its own (hook/<cpu>/redirect_island.c). No state.
 */
#ifndef VESTIGE_HOOK_TEXT_REDIRECT_ISLAND_H
#define VESTIGE_HOOK_TEXT_REDIRECT_ISLAND_H

#include <stddef.h>
#include <stdint.h>

#define REDIRECT_ISLAND_BYTES 64u  /* aligned to as many */
#define REDIRECT_ROW_BYTES    128u /* unwind rows of one island */
#define REDIRECT_HEAD_BYTES   64u  /* what is common to the rows of all */
#define REDIRECT_HEADER_AT    52u  /* in it: the header of a PT_GNU_EH_FRAME segment */
#define REDIRECT_TABLE_BYTES  8u   /* an island's entry in the table of rows, behind the head */
#define REDIRECT_MAX_MOVED    19u  /* bytes of the function's instructions that run there */
#define REDIRECT_MAX_WRITTEN  5u   /* bytes of a jump in the text */

/*
 * redirect_island_make() - write the island behind its site.
 * @code: the @n bytes of the instructions, which are at @from. @at: where the island will run.
 * @out: REDIRECT_ISLAND_BYTES, the site among them. @rows: REDIRECT_ROW_BYTES, for its rows, which
 * will be at @rows_at; @head_at: the head.
 * Return: 0; -ERANGE: an instruction's target is too far; -EOPNOTSUPP: one cannot be moved.
 */
int redirect_island_make(const uint8_t *code, uint32_t n, uint64_t from, uint64_t at, uint8_t *out,
			 uint8_t *rows, uint64_t rows_at, uint64_t head_at);

/*
 * redirect_original() - the function's instruction in whose place an island's code runs, @offset
 * bytes from the island's beginning. @rows: as it was made. Any context.
 */
uint64_t redirect_original(const uint8_t *rows, uint32_t offset);

/*
 * redirect_head_make() - write the table by which unwinders find the rows of @nr islands, which
 * begin at @islands, one row each from @rows on: REDIRECT_HEAD_BYTES and the table at @out, where
 * they stay.
 */
void redirect_head_make(uint8_t *out, uint64_t islands, uint64_t rows, uint32_t nr);

/*
 * The jumps of a function whose first instruction is at @from: one that is written at *@where, which
 * is @from or in padding, and one of two bytes that leads to padding. Return: bytes written to @out.
 */
uint32_t redirect_jump_make(uint64_t where, uint64_t to, uint8_t *out);
uint32_t redirect_short_jump_make(uint64_t from, uint64_t to, uint8_t *out);

#endif
