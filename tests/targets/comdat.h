/* SPDX-License-Identifier: MIT */
#ifndef COMDAT_H
#define COMDAT_H

#include "target.h"

int other_unit(int n);
void other_print_counts();

/* In both units, so that the linker discards the one of them. */
NOINLINE inline int shared_inline(int n)
{
	COUNTED;
	return n * 3;
}

template <typename T> NOINLINE T shared_template(T n)
{
	COUNTED;
	return n + 1;
}

#endif
