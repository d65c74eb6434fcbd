/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_BASE_COMPILER_H
#define VESTIGE_BASE_COMPILER_H

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The program may use it; all other symbols of the engine are hidden. */
#define VESTIGE_EXPORT __attribute__((visibility("default")))

/*
 * The same for a function that replaces libc's. Weak, so that a program that is linked with the
 * engine may bring its own.
 */
#define VESTIGE_INTERPOSED __attribute__((visibility("default"), weak))

/*
 * A large array of zeros that no start touches as a whole. It is behind the small variables (see
 * big_zeros.ld), which share a few pages then: each page that is touched costs an exec 1 us.
 */
#define BIG_ZEROS __attribute__((section(".bss.big")))

#define min_of(a, b)                                                                               \
	({                                                                                         \
		__typeof__(a) min_a = (a);                                                         \
		__typeof__(b) min_b = (b);                                                         \
		min_a < min_b ? min_a : min_b;                                                     \
	})

#endif
