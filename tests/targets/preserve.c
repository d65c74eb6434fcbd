/* SPDX-License-Identifier: MIT */
/*
 * What a call passes must arrive: integer, stack, float, long double, vector and struct arguments,
 * al and the vectors of a variadic call, r10 (a nested function's static chain), the results, and
 * the registers that a callee keeps. Exit status 1 and a line for each that did not.
 */
#include <complex.h>
#include <immintrin.h>
#include <stdarg.h>
#include <string.h>

#include "target.h"

static int failures;

static NOTRACE void expect(const char *what, int ok)
{
	if (!ok) {
		printf("wrong: %s\n", what);
		failures++;
	}
}

struct big {
	long a[9];
};

struct small {
	double d;
	long l;
};

static NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, char i)
{
	COUNTED;
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

static NOINLINE double floats(double a, float b, double c, double d, double e, double f, double g,
			      double h, double i)
{
	COUNTED;
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

static NOINLINE long double extended(long double a, int n, long double b)
{
	COUNTED;
	return a * n - b;
}

static NOINLINE struct big give_big(struct big x, long add)
{
	COUNTED;
	x.a[8] += add;
	return x;
}

static NOINLINE struct small give_small(struct small x)
{
	COUNTED;
	x.d *= 2;
	x.l++;
	return x;
}

static NOINLINE double complex give_complex(double complex x)
{
	COUNTED;
	return x * I;
}

static NOINLINE __int128 wide(__int128 a, __int128 b)
{
	COUNTED;
	return a * b;
}

static NOINLINE double variadic(int n, ...)
{
	double sum = 0;
	va_list ap;

	COUNTED;
	va_start(ap, n);
	while (n--)
		sum += va_arg(ap, double) * va_arg(ap, int);
	va_end(ap);
	return sum;
}

__attribute__((target("avx"))) static NOINLINE __m256d vectors(__m256d a, __m256d b, __m256d c)
{
	COUNTED;
	return _mm256_add_pd(_mm256_mul_pd(a, b), c);
}

__attribute__((target("avx"))) static NOTRACE void call_vectors(void)
{
	double out[4];

	_mm256_storeu_pd(out, vectors(_mm256_set_pd(1, 2, 3, 4), _mm256_set1_pd(3),
				      _mm256_set_pd(5, 6, 7, 8)));
	expect("256-bit vectors", out[0] == 20 && out[1] == 16 && out[2] == 12 && out[3] == 8);
}

__attribute__((target("avx512f"))) static NOINLINE __m512i vectors512(__m512i a, __m512i b)
{
	COUNTED;
	return _mm512_add_epi64(a, b);
}

__attribute__((target("avx512f"))) static NOTRACE void call_vectors512(void)
{
	long out[8];

	_mm512_storeu_si512(out, vectors512(_mm512_set1_epi64(40), _mm512_set1_epi64(2)));
	expect("512-bit vectors", out[0] == 42 && out[7] == 42);
}

/* Every register that a call may hold something in, as it was before the call's first byte. */
struct regs {
	unsigned long rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
	unsigned long flags;
};

struct regs seen;
void probe(void);

/*
 * A function that stores the registers as it found them. It is written by hand, with the NOPs of
 * -fpatchable-function-entry=6, as C has no way to look at all of them.
 */
__asm__(".text\n.p2align 4\n.globl probe\n.type probe,@function\nprobe:\n.cfi_startproc\n"
	"nop;nop;nop;nop;nop;nop\n"
	"movq %rax, seen(%rip)\nmovq %rbx, 8+seen(%rip)\nmovq %rcx, 16+seen(%rip)\n"
	"movq %rdx, 24+seen(%rip)\nmovq %rsi, 32+seen(%rip)\nmovq %rdi, 40+seen(%rip)\n"
	"movq %rbp, 48+seen(%rip)\nmovq %r8, 56+seen(%rip)\nmovq %r9, 64+seen(%rip)\n"
	"movq %r10, 72+seen(%rip)\nmovq %r12, 88+seen(%rip)\nmovq %r13, 96+seen(%rip)\n"
	"movq %r14, 104+seen(%rip)\nmovq %r15, 112+seen(%rip)\n"
	"ret\n.cfi_endproc\n.size probe,.-probe\n");

static NOTRACE void registers(void)
{
	/* rax, rcx ... hold known values; r11 may be changed by any call (the PLT does) */
	__asm__ volatile("pushq %%rbx\n pushq %%rbp\n"
			 "movabsq $0x1010101010101010, %%rax\n movabsq $0x2020202020202020, %%rbx\n"
			 "movabsq $0x3030303030303030, %%rcx\n movabsq $0x4040404040404040, %%rdx\n"
			 "movabsq $0x5050505050505050, %%rsi\n movabsq $0x6060606060606060, %%rdi\n"
			 "movabsq $0x7070707070707070, %%rbp\n movabsq $0x0808080808080808, %%r8\n"
			 "movabsq $0x0909090909090909, %%r9\n movabsq $0x1212121212121212, %%r10\n"
			 "movabsq $0x1313131313131313, %%r12\n movabsq $0x1414141414141414, %%r13\n"
			 "movabsq $0x1515151515151515, %%r14\n movabsq $0x1616161616161616, %%r15\n"
			 "subq $128, %%rsp\n movq %%rsp, %%r11\n andq $-16, %%rsp\n pushq %%r11\n"
			 "pushq %%r11\n call probe\n popq %%r11\n popq %%rsp\n addq $128, %%rsp\n"
			 "popq %%rbp\n popq %%rbx\n"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
			   "r13", "r14", "r15", "memory", "cc");
	expect("rax", seen.rax == 0x1010101010101010);
	expect("rbx", seen.rbx == 0x2020202020202020);
	expect("rcx", seen.rcx == 0x3030303030303030);
	expect("rdx", seen.rdx == 0x4040404040404040);
	expect("rsi", seen.rsi == 0x5050505050505050);
	expect("rdi", seen.rdi == 0x6060606060606060);
	expect("rbp", seen.rbp == 0x7070707070707070);
	expect("r8", seen.r8 == 0x0808080808080808);
	expect("r9", seen.r9 == 0x0909090909090909);
	expect("r10", seen.r10 == 0x1212121212121212);
	expect("r12", seen.r12 == 0x1313131313131313);
	expect("r13", seen.r13 == 0x1414141414141414);
	expect("r14", seen.r14 == 0x1515151515151515);
	expect("r15", seen.r15 == 0x1616161616161616);
}

#ifndef __clang__
static NOTRACE void nested(int base)
{
	int sum = 0, i;

	/* reached by its static chain in r10, directly */
	NOINLINE int inner(int n)
	{
		COUNTED;
		sum += n;
		return base + n;
	}

	for (i = 0; i < 10; i++)
		expect("nested function", inner(i) == base + i);
	expect("static chain", sum == 45);
}
#endif

int main(void)
{
	struct big b = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
	struct small s = {1.5, 7};
	int round;

	COUNTED;
	/* more than a page of records, so that the slow path is taken at each kind of call */
	for (round = 0; round < 2000 && !failures; round++) {
		struct big c = give_big(b, round);
		struct small t = give_small(s);
		double complex z = give_complex(1 + 2 * I);

		expect("integers", many(1, 2, 3, 4, 5, 6, 7, 8, 9) == 285);
		expect("floats", floats(1, 2, 3, 4, 5, 6, 7, 8, 9) == 285);
		expect("long double", extended(1.5L, 4, 0.25L) == 5.75L);
		expect("struct in memory",
		       c.a[8] == 9 + round && !memcmp(&b, &c, 8 * sizeof(long)));
		expect("struct in registers", t.d == 3 && t.l == 8);
		expect("complex", creal(z) == -2 && cimag(z) == 1);
		expect("128-bit integers", wide((__int128)1 << 70, 3) == (__int128)3 << 70);
		expect("variadic", variadic(3, 1.5, 2, 2.5, 4, 0.5, 2) == 14);
		if (__builtin_cpu_supports("avx"))
			call_vectors();
		if (__builtin_cpu_supports("avx512f"))
			call_vectors512();
#ifndef __clang__
		nested(round);
#endif
		registers();
	}
	printf("calls probe %d\n", round);
	print_counts();
	return failures != 0;
}
