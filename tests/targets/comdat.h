/* SPDX-License-Identifier: MIT */
#ifndef COMDAT_H
#define COMDAT_H

#include "target.h"

int other_unit(int n);
void other_print_counts();

/* gcc makes no clone of its own of it in either unit. */
#ifdef __clang__
#define SHARED NOINLINE
#else
#define SHARED __attribute__((noipa))
#endif

/* In both units, so that the linker discards the one of them. */
SHARED inline int shared_inline(int n)
{
	COUNTED;
	return n * 3;
}

/*
 * The compiler may make another length of it in each unit, as it does where it inlines more in the
 * one. g++ 12 cannot link that with -fpatchable-function-entry alone.
 */
#ifndef MORE
#define MORE 0
#endif
template <typename T> SHARED T shared_template(T n)
{
	COUNTED;
	return n + 1 + (MORE);
}

#endif
