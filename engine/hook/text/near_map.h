/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_HOOK_TEXT_NEAR_MAP_H
#define VESTIGE_HOOK_TEXT_NEAR_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * near_map() - map zeroed, writable memory that every byte of a text reaches with a signed 32-bit
 * displacement.
 * @lo, @hi: the text's bounds. @bytes: how much.
 * Return: the memory, or NULL. It never lies where the heap would grow first.
 */
void *near_map(uint64_t lo, uint64_t hi, size_t bytes);

#endif
