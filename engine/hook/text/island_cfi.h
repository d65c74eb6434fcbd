/* SPDX-License-Identifier: MIT */
/*
 * Unwind rules for a thread that is on an island, the jump of a 5-byte site. Islands are in memory
 * of no object, so unwinders would find no rules there.
 */
#ifndef VESTIGE_HOOK_TEXT_ISLAND_CFI_H
#define VESTIGE_HOOK_TEXT_ISLAND_CFI_H

#include <stddef.h>
#include <stdint.h>

/* Size of the unwind rules behind the islands, aligned to 16 bytes. */
#define ISLAND_ROWS_BYTES 128u
#define ISLAND_RULES_MAX  23u /* longest rules: other fields are aligned behind them */

/*
 * The cpu's CFA instructions for an island to which a call or jump leads where a function begins.
 */
extern const uint8_t island_called_rules[5];

/*
 * island_cfi_make() - write unwind rules for @islands .. @islands + @bytes to the ISLAND_ROWS_BYTES
 * behind them, so that libgcc finds them. Constructor or notification context; one caller at a
 * time.
 */
void island_cfi_make(uint8_t *islands, size_t bytes, const uint8_t *rules, size_t rules_bytes);

/*
 * island_cfi_add() - add existing rows, in the form of a PT_GNU_EH_FRAME segment, for @lo .. @hi.
 * The same contexts, or under the tree lock.
 */
void island_cfi_add(uint64_t lo, uint64_t hi, const void *rows);

/* Find the rows for @pc, and the island's bounds; NULL: it is no island. Any context. */
const void *island_cfi_find(uint64_t pc, uint64_t *lo, uint64_t *hi);

/* Remove the rows of islands that will be unmapped. The same contexts. */
void island_cfi_forget(const uint8_t *islands);

#endif
