/* SPDX-License-Identifier: MIT */
/*
 * Names of libc that the engine looks up instead of linking: names that may be absent, and
 * functions that the engine replaces. libc_shared.c asks the loader; libc_static.c (libvestige.a,
 * where there is no loader) has a table. Constructor or normal context; never from a hook.
 */
#ifndef VESTIGE_PROCESS_LIBC_H
#define VESTIGE_PROCESS_LIBC_H

#include <stdint.h>

/* The address that the program gets for @name; NULL: none. */
void *libc_symbol(const char *name);

/*
 * Whether dlopen() loaded the engine into a program that had started, so that libc's names are
 * found before the engine's. Also 0 if a sanitizer's library comes before libc, and in a static
 * program.
 */
int libc_is_late(void);

/* The address that the program would get if the engine did not define @name; NULL: none. */
void *libc_next(const char *name);

/*
 * As libc_next(), or else a function of that name in an object that is visible only to the objects
 * that loaded it (RTLD_LOCAL); never the engine's. Also from the loader's notification.
 */
void *libc_anywhere(const char *name);

/*
 * libc_find_rows() - let unwinders find rows for code that is in no object. @find: called in any
 * context for an address that libc does not know. It returns the contents of a PT_GNU_EH_FRAME
 * segment and the bounds for which they apply; NULL: it does not know the address either. Not
 * called in static programs. Constructor or notification context.
 */
void libc_find_rows(const void *(*find)(uint64_t pc, uint64_t *lo, uint64_t *hi));

/* libc's own function, without what a sanitizer puts in front of it; NULL: not found. */
void *libc_own(const char *name);

/* The bounds of the engine's own code. */
void libc_own_text(uint64_t *lo, uint64_t *hi);

/* Whether @p is in libc. The first call must be in constructor context; later ones take no lock. */
int libc_owns(const void *p);

/*
 * Whether the engine is linked into the program, so that its code calls libc's functions directly.
 */
extern const int libc_is_static;

#endif
