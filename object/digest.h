/* SPDX-License-Identifier: MIT */
/*
 * XXH64 of Yann Collet's xxHash (its doc/xxhash_spec.md), for bytes that come in several pieces: to
 * see whether they have changed, not to keep an attacker out. Pure functions, any context. Costs:
 * bench unmodified. Tests: tests/unit/test_ways_file.c.
 */
#ifndef VESTIGE_OBJECT_DIGEST_H
#define VESTIGE_OBJECT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* XXH64 of @n bytes; of several pieces, @seed is the digest of those before. */
uint64_t digest(uint64_t seed, const void *bytes, size_t n);

#endif
