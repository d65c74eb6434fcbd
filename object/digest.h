/* SPDX-License-Identifier: MIT */
/*
 * XXH64 of Yann Collet's xxHash (its doc/xxhash_spec.md). It shows whether bytes have changed; it
 * does not protect against an attacker. Pure functions, any context. Costs: bench unmodified.
 * Tests: tests/unit/test_ways_file.c.
 */
#ifndef VESTIGE_OBJECT_DIGEST_H
#define VESTIGE_OBJECT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/*
 * digest() - XXH64 of @n bytes.
 * @seed: 0; for a further piece, the digest of the pieces before it.
 */
uint64_t digest(uint64_t seed, const void *bytes, size_t n);

#endif
