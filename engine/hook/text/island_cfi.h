/* SPDX-License-Identifier: MIT */
/*
 * Unwind rules for a thread that is on an island, the jump of a 5-byte site. Islands are in memory
 * of no object, so unwinders would find no rules there.
 */
#ifndef VESTIGE_HOOK_TEXT_ISLAND_CFI_H
#define VESTIGE_HOOK_TEXT_ISLAND_CFI_H

#include <stddef.h>
#include <stdint.h>

/* Behind the islands, aligned to 16 bytes. */
#define ISLAND_ROWS_BYTES 128u
#define ISLAND_RULES_MAX  23u /* the rows' other members are aligned behind them */

/* The cpu's CFA instructions for an island that is called or jumped to where a function begins. */
extern const uint8_t island_called_rules[5];

/*
 * island_cfi_make() - write unwind rows for @islands .. @islands + @bytes to the ISLAND_ROWS_BYTES
 * behind them, and let libgcc find them. Constructor or notification context; one caller at a time.
 */
void island_cfi_make(uint8_t *islands, size_t bytes, const uint8_t *rules, size_t rules_bytes);

/*
 * The same for rows that are made already, as a PT_GNU_EH_FRAME segment has them, for @lo .. @hi.
 * Also under the tree's lock.
 */
void island_cfi_add(uint64_t lo, uint64_t hi, const void *rows);

/* The rows of what is at @pc, and its bounds; NULL: it is no island. Any context. */
const void *island_cfi_find(uint64_t pc, uint64_t *lo, uint64_t *hi);

/* They are going to be unmapped. The same contexts. */
void island_cfi_forget(const uint8_t *islands);

#endif
