/* SPDX-License-Identifier: MIT */
/*
 * What of the nongnu libunwind (libunwind.so.8) walks the caller's stack, without its headers:
 * Debian's libunwind-dev and LLVM's cannot both be installed.
 */
#ifndef LIBUNWIND_H
#define LIBUNWIND_H

#include <ucontext.h>

enum { UNWIND_CURSOR_WORDS = 127, UNWIND_IP = 16 };

#ifdef __cplusplus
extern "C" {
#endif

int libunwind_getcontext(ucontext_t *context) __asm__("_Ux86_64_getcontext");
int libunwind_init(void *cursor, ucontext_t *context) __asm__("_ULx86_64_init_local");
int libunwind_step(void *cursor) __asm__("_ULx86_64_step");
int libunwind_get_reg(void *cursor, int reg, unsigned long *value) __asm__("_ULx86_64_get_reg");

#ifdef __cplusplus
}
#endif

/* The stack from the caller up. Return: how many frames. Safe in signal handlers. */
static __attribute__((always_inline)) inline int libunwind_walk(void **frames, int room)
{
	unsigned long cursor[UNWIND_CURSOR_WORDS], ip;
	ucontext_t context;
	int n = 0;

	if (libunwind_getcontext(&context) || libunwind_init(cursor, &context))
		return 0;
	do {
		if (libunwind_get_reg(cursor, UNWIND_IP, &ip) || !ip)
			break;
		frames[n++] = (void *)ip;
	} while (n < room && libunwind_step(cursor) > 0);
	return n;
}

#endif
