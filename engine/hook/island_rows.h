/* SPDX-License-Identifier: MIT */
/*
 * How a stack is walked whose thread is on an island: the jump of a site of five bytes, in memory that is no
 * object's, so that no unwinder would know it.
 */
#ifndef VESTIGE_HOOK_ISLAND_ROWS_H
#define VESTIGE_HOOK_ISLAND_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Behind the islands, aligned to 16 bytes. */
#define ISLAND_ROWS_BYTES 128u
#define ISLAND_RULES_MAX  23u /* the rows' other members are aligned behind them */

/* Rules (DWARF's CFA instructions): the CFA is rsp + 8, the return address at CFA - 8, called or jumped to. */
extern const uint8_t island_called_rules[5];

/*
 * island_rows_make() - write unwind rows for @islands .. @islands + @bytes to the ISLAND_ROWS_BYTES behind
 * them, and let libgcc find them. Constructor or notification context; one caller at a time.
 */
void island_rows_make(uint8_t *islands, size_t bytes, const uint8_t *rules, size_t rules_bytes);

/* Rows that are there already, as a PT_GNU_EH_FRAME segment has them, for @lo .. @hi. Also the tree's lock. */
void island_rows_add(uint64_t lo, uint64_t hi, const void *rows);

/* They are going to be unmapped. The same contexts. */
void island_rows_forget(const uint8_t *islands);

#endif
