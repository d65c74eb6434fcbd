/* SPDX-License-Identifier: MIT */
/* Limits of the engine that the tools name in their messages. */
#ifndef VESTIGE_ABI_LIMITS_H
#define VESTIGE_ABI_LIMITS_H

/* The ring buffer of all possible CPUs together. */
#define LIMIT_BUFFER_BYTES (UINT64_C(64) << 30)

#endif
