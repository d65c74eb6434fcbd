/* SPDX-License-Identifier: MIT */
/*
 * Tail calls: of itself, of each other, through pointers, with stack arguments, with other results;
 * and functions that end in a call of dlsym(RTLD_NEXT, ...), which looks at who called it.
 */
#include "transcript.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
/* a promise of the compiler's, at -O0, too */
#define TAIL __attribute__((musttail)) return
#else
#define TAIL return
#endif

static NOINLINE long odd(long n, long sum);

static NOINLINE long even(long n, long sum)
{
	if (!n)
		return sum;
	TAIL odd(n - 1, sum + n);
}

static NOINLINE long odd(long n, long sum)
{
	if (!n)
		return -sum;
	TAIL even(n - 1, sum ^ n);
}

static NOINLINE long self(long n, long sum)
{
	OPAQUE(n);
	if (!n)
		return sum;
	TAIL self(n - 1, sum % 1000003 * 3 + n);
}

typedef long (*step_fn)(long n, long sum);

static NOINLINE long by_pointer(step_fn f, long n)
{
	OPAQUE(f);
	return f(n, 1);
}

/* eight arguments: two on the stack, which the callee's take the place of */
static NOINLINE long wide_end(long a, long b, long c, long d, long e, long f, long g, long h)
{
	say_stack("at the end of tail calls with stack arguments");
	return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8;
}

static NOINLINE long wide_middle(long a, long b, long c, long d, long e, long f, long g, long h)
{
	OPAQUE(b);
	TAIL wide_end(f, e, d, c, b, a, g, h);
}

static NOINLINE long wide(long a, long b, long c, long d, long e, long f, long g, long h)
{
	OPAQUE(a);
	if (a > 10)
		TAIL wide_middle(h, g, f, e, d, c, b, a);
	TAIL wide(a + 1, c, b, e, d, g, f, h + 1);
}

static NOINLINE long double x87(long double x, int n)
{
	if (n <= 0)
		return x;
	TAIL x87(x / 2 + 1, n - 1);
}

/* calls between, then the end */
static NOINLINE long busy(long n)
{
	long a = self(n, 1), b = even(n, 2);

	OPAQUE(a);
	OPAQUE(b);
	return odd(n, a + b);
}

/* libc asks where the call comes from: the object behind it is searched on */
NOINLINE void *next_of_tail(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

NOINLINE void *next_of(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	OPAQUE(p);
	return p;
}

NOINLINE void *self_of_tail(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/* as an interposer does it: this program's, then the next */
NOINLINE int transcript_twice(int x)
{
	return x * 2;
}

static NOINLINE void *open_tail(const char *name)
{
	return dlopen(name, RTLD_NOW);
}

void section_tails(void)
{
	void *self_handle;

	say("even %ld", even(501, 0));
	say("odd %ld", odd(500, 0));
	say("self %ld", self(300, 0));
	say("pointer %ld %ld", by_pointer(even, 33), by_pointer(self, 34));
	say("wide %ld", wide(1, 2, 3, 4, 5, 6, 7, 8));
	say("x87 %Lg", x87(1000, 5));
	say("busy %ld", busy(40));
	say_address("next getpid, tail", next_of_tail("getpid"));
	say_address("next getpid", next_of("getpid"));
	say_address("next own, tail", next_of_tail("transcript_twice"));
	say_address("next own", next_of("transcript_twice"));
	say_address("default own, tail", self_of_tail("transcript_twice"));
	self_handle = open_tail(NULL);
	say("opened %d", self_handle != NULL);
	if (self_handle)
		dlclose(self_handle);
}
