/* SPDX-License-Identifier: MIT */
/* A library whose constructor is traced too. NAME is `one` or `two`. */
#include "target.h"

#define PASTE(a, b)  a##_##b
#define PASTE2(a, b) PASTE(a, b)
#define OF(f)	     PASTE2(f, NAME)

int OF(work)(int n);

static int started;

static NOINLINE int OF(leaf)(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + started;
}

int OF(work)(int n)
{
	int i, s = 0;

	for (i = 0; i < n; i++)
		s += OF(leaf)(i);
	return s;
}

static __attribute__((constructor)) void OF(constructor)(void)
{
	OF(leaf)(1);
	started = 1;
}
