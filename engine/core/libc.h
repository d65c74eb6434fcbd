/* SPDX-License-Identifier: MIT */
/*
 * Names of libc that the engine looks up rather than links: what may be absent, and what its own
 * functions stand in front of. libc_shared.c asks the loader, libc_static.c (libvestige.a, where
 * there is none) has a table. Constructor or normal context; never from a hook.
 */
#ifndef VESTIGE_CORE_LIBC_H
#define VESTIGE_CORE_LIBC_H

#include <stdint.h>

/* What the program gets when it names @name, NULL if nothing. */
void *libc_symbol(const char *name);

/* What it would get if the engine did not define @name; NULL if nothing. */
void *libc_next(const char *name);

/*
 * The same, or a function of that name in an object that only those see that loaded it: not the
 * engine's. Also from the loader's notification.
 */
void *libc_anywhere(const char *name);

/* Where the engine's own code lies. */
void libc_own_text(uint64_t *lo, uint64_t *hi);

/* Whether @p lies in libc. */
int libc_owns(const void *p);

/* Whether the engine is linked into the program: its code then calls libc's directly. */
extern const int libc_is_static;

#endif
