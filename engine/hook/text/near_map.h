/* SPDX-License-Identifier: MIT */
/*
 * Memory near a text, for the slots, islands and redirects to which its sites lead. Constructor and
 * control context. The caller owns the memory; a fork's child has it, too. No state.
 */
#ifndef VESTIGE_HOOK_TEXT_NEAR_MAP_H
#define VESTIGE_HOOK_TEXT_NEAR_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * near_map() - map zeroed, writable memory that each byte of a text reaches with a signed 32-bit
 * displacement. @lo, @hi: the text's bounds. @bytes: size. Return: the memory, which is never where
 * the heap would grow first; NULL: there is none.
 */
void *near_map(uint64_t lo, uint64_t hi, size_t bytes);

#endif
