/* SPDX-License-Identifier: MIT */
/*
 * Names of libc that the engine looks up rather than links: names that may be absent, and functions
 * that the engine replaces. libc_shared.c asks the loader, libc_static.c (libvestige.a, where there
 * is none) has a table. Constructor or normal context; never from a hook.
 */
#ifndef VESTIGE_PROCESS_LIBC_H
#define VESTIGE_PROCESS_LIBC_H

#include <stdint.h>

/* The address that the program gets for @name, or NULL. */
void *libc_symbol(const char *name);

/*
 * Whether dlopen() brought the engine into a program that had started: libc's names are found
 * before its own. 0 too where a sanitizer's library comes before libc, and in a static program.
 */
int libc_is_late(void);

/* The address that it would get if the engine did not define @name, or NULL. */
void *libc_next(const char *name);

/*
 * The same, or a function of that name in an object that is visible only to the objects that loaded
 * it (RTLD_LOCAL); never the engine's. Also from the loader's notification.
 */
void *libc_anywhere(const char *name);

/*
 * libc_find_rows() - let unwinders find rows for code that is no object's. @find: for an address
 * that libc does not know, what a PT_GNU_EH_FRAME segment would be, and the bounds for which it
 * holds; NULL: it does not know the address either. Called in any context. Not called in static
 * programs. Constructor or notification context.
 */
void libc_find_rows(const void *(*find)(uint64_t pc, uint64_t *lo, uint64_t *hi));

/* Where the engine's own code lies. */
void libc_own_text(uint64_t *lo, uint64_t *hi);

/* Whether @p lies in libc. The first call in constructor context; later ones take no lock. */
int libc_owns(const void *p);

/* Whether the engine is linked into the program: its code then calls libc's directly. */
extern const int libc_is_static;

#endif
