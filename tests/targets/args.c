/* SPDX-License-Identifier: MIT */
/*
 * Calls with known arguments and results of each type that a register can hold. The program prints
 * the lines that its trace must have: `NAME(NAME=VALUE, ...) = RESULT` as the tools print them. Any
 * argument: it then waits for a line at stdin and does it again. FUNC: how functions are declared.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "target.h"

#ifndef FUNC
#define FUNC NOINLINE
#endif

enum color { RED, GREEN = 5, BLUE = -2 };

struct pair {
	long a, b;
};

struct mixed {
	double d;
	int i;
};

struct big {
	long a[4];
};

union either {
	long l;
	double d;
};

typedef unsigned int count_t;
typedef int (*callback_t)(int);

static volatile int sink;

FUNC int add(int a, int b)
{
	return a + b;
}

FUNC long wide(long a, unsigned long b, short c, unsigned char d)
{
	return a + (long)b + c + d;
}

FUNC bool is_even(count_t n)
{
	return n % 2 == 0;
}

FUNC bool both(bool a, bool b)
{
	return a && b;
}

FUNC char next(char c)
{
	return (char)(c + 1);
}

FUNC enum color paint(enum color c, enum color d)
{
	return c == RED ? d : RED;
}

FUNC void *where(const char *text, void *nothing)
{
	sink += text[0];
	return nothing;
}

FUNC double scale(double x, int by, float y, int off)
{
	return x * by + (double)y + off;
}

FUNC long sum_pair(int before, struct pair p, int after)
{
	return before + p.a + p.b + after;
}

FUNC int take_mixed(struct mixed m, int after)
{
	return m.i + after + (int)m.d;
}

FUNC int take_big(int before, struct big b, int after)
{
	return before + (int)b.a[3] + after;
}

FUNC struct big give_big(int first)
{
	return (struct big){{first, 2, 3, 4}};
}

FUNC struct pair give_pair(long a, long b)
{
	return (struct pair){a, b};
}

FUNC struct mixed give_mixed(int i)
{
	return (struct mixed){0.5, i};
}

FUNC int eight(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return a + b + c + d + e + f + g + h;
}

/* the pair does not fit what is left of the registers, the int behind it does */
FUNC long spill(long a, long b, long c, long d, long e, struct pair p, int last)
{
	return a + b + c + d + e + p.a + p.b + last;
}

FUNC long double extended(long double x, int n)
{
	return x * n;
}

FUNC long take_union(union either u, int n)
{
	return u.l + n;
}

FUNC __int128 widest(__int128 x, int n)
{
	return x * n;
}

FUNC int call(callback_t f, int x)
{
	return f(x) + 1;
}

FUNC int twice(int x)
{
	return 2 * x;
}

FUNC void nothing(void)
{
	sink++;
}

FUNC int error(int e)
{
	return -e;
}

FUNC int variadic(const char *format, ...)
{
	return format[0];
}

FUNC void calls(void)
{
	static const char text[] = "text";
	struct pair p = {10, -20};
	struct mixed m = {1.5, 7};
	struct big b = {{1, 2, 3, 4}};
	union either u = {.l = 77};

	sink += add(3, -4);
	printf("add(a=3, b=-4) = -1\n");
	sink += (int)wide(-5000000000, 7, -3, 200);
	printf("wide(a=-5000000000, b=0x7, c=-3, d=0xc8) = -4999999796\n");
	sink += is_even(6);
	printf("is_even(n=0x6) = true\n");
	sink += both(true, false);
	printf("both(a=true, b=false) = false\n");
	sink += next('a');
	printf("next(c='a') = 'b'\n");
	sink += paint(RED, GREEN);
	printf("paint(c=RED, d=GREEN) = GREEN\n");
	sink += paint(BLUE, (enum color)77);
	printf("paint(c=BLUE, d=77) = RED\n");
	sink += where(text, &p) != NULL;
	printf("where(text=%p, nothing=%p) = %p\n", (const void *)text, (void *)&p, (void *)&p);
	sink += where(text, NULL) != NULL;
	printf("where(text=%p, nothing=0x0) = 0x0\n", (const void *)text);
	sink += (int)scale(1.5, 2, 3.5F, -1);
	printf("scale(x=..., by=2, y=..., off=-1) = ...\n");
	sink += (int)sum_pair(1, p, 2);
	printf("sum_pair(before=1, p={0xa, 0x%lx}, after=2) = -7\n", -20L);
	sink += take_mixed(m, 9);
	printf("take_mixed(m={..., 0x7}, after=9) = 17\n");
	sink += take_big(1, b, 2);
	printf("take_big(before=1, b=..., after=2) = 7\n");
	b = give_big(8);
	printf("give_big(first=8) = POINTER\n");
	sink += (int)b.a[0];
	p = give_pair(3, 4);
	printf("give_pair(a=3, b=4) = {0x3, ...}\n");
	sink += (int)p.a;
	m = give_mixed(5);
	printf("give_mixed(i=5) = {..., 0x5}\n");
	sink += m.i;
	sink += eight(1, 2, 3, 4, 5, 6, 7, 8);
	printf("eight(a=1, b=2, c=3, d=4, e=5, f=6, g=..., h=...) = 36\n");
	sink += (int)spill(1, 2, 3, 4, 5, p, 6);
	printf("spill(a=1, b=2, c=3, d=4, e=5, p=..., last=6) = 28\n");
	sink += (int)extended(1.5L, 2);
	printf("extended(x=..., n=2) = ...\n");
	sink += (int)take_union(u, 1);
	printf("take_union(u={0x4d}, n=1) = 78\n");
	sink += (int)widest(3, -2);
	printf("widest(x={0x3, 0x0}, n=-2) = {0x%lx, ...}\n", -6L);
	sink += call(twice, 21);
	printf("call(f=%p, x=21) = 43\n", (void *)twice);
	printf("twice(x=21) = 42\n");
	nothing();
	printf("nothing()\n");
	sink += error(2);
	printf("error(e=2) = -2\n");
	sink += variadic(text, 1, 2.0);
	printf("variadic(format=%p, ...) = 116\n", (const void *)text);
}

int main(int argc, char **argv)
{
	calls();
	fflush(stdout);
	if (argc > 1 && getchar() != EOF) {
		calls();
		fflush(stdout);
		getchar();
	}
	return 0;
}
