/* SPDX-License-Identifier: MIT */
/*
 * Arguments and results in every place the calling convention has: registers, stack, memory, x87,
 * vectors, the static chain, and al for functions of variable arguments.
 */
#include "transcript.h"

#include <alloca.h>
#include <complex.h>
#include <immintrin.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct big {
	long v[9];
};

struct mixed {
	long l;
	double d;
};

struct floats {
	float a, b, c;
};

struct packed_ld {
	long double x;
};

static NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, long i,
			  long j, long k)
{
	OPAQUE(a);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k;
}

static NOINLINE double many_doubles(double a, double b, double c, double d, double e, double f,
				    double g, double h, double i, double j, long k)
{
	OPAQUE(k);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
	       (double)k;
}

static NOINLINE struct big give_big(struct big x, int by)
{
	int i;

	for (i = 0; i < 9; i++)
		x.v[i] += by;
	return x;
}

static NOINLINE struct mixed give_mixed(struct mixed x)
{
	struct mixed r = {x.l * 3, x.d * 5};

	return r;
}

static NOINLINE struct floats give_floats(struct floats x)
{
	struct floats r = {x.c, x.a, x.b};

	return r;
}

static NOINLINE long double give_long_double(long double a, int n, long double b)
{
	OPAQUE(n);
	return a * n + b;
}

static NOINLINE struct packed_ld give_packed(struct packed_ld x)
{
	x.x /= 3;
	return x;
}

static NOINLINE double _Complex give_complex(double _Complex z)
{
	return z * z;
}

static NOINLINE float _Complex give_complex_float(float _Complex z)
{
	return z * 2;
}

/* two x87 registers at once */
static NOINLINE long double _Complex give_complex_long(long double _Complex z)
{
	return z * z + 1;
}

static NOINLINE __int128 give_int128(__int128 a, int x, __int128 b)
{
	OPAQUE(x);
	return a * x - b;
}

static NOINLINE double sum(int n, ...)
{
	double s = 0;
	va_list ap;

	va_start(ap, n);
	while (n--) {
		int kind = va_arg(ap, int);

		if (kind == 0)
			s += va_arg(ap, int);
		else if (kind == 1)
			s += va_arg(ap, double);
		else
			s += (double)va_arg(ap, long double);
	}
	va_end(ap);
	return s;
}

static NOINLINE int print_to(char *out, size_t size, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(out, size, format, ap);
	va_end(ap);
	return n;
}

static NOINLINE __m128 give_xmm(__m128 a, __m128 b)
{
	return _mm_add_ps(a, _mm_mul_ps(b, b));
}

static NOINLINE __attribute__((target("avx"))) __m256 give_ymm(__m256 a, __m256 b)
{
	return _mm256_add_ps(a, _mm256_mul_ps(b, b));
}

/* nine of them: the last lies on the stack, aligned to 32 bytes */
static NOINLINE __attribute__((target("avx"))) __m256
many_ymm(__m256 a, __m256 b, __m256 c, __m256 d, __m256 e, __m256 f, __m256 g, __m256 h, __m256 i)
{
	a = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
	e = _mm256_add_ps(_mm256_add_ps(e, f), _mm256_add_ps(g, h));
	return _mm256_sub_ps(_mm256_add_ps(a, e), i);
}

static NOINLINE __attribute__((target("avx512f"))) __m512 give_zmm(__m512 a, __m512 b)
{
	return _mm512_add_ps(a, _mm512_mul_ps(b, b));
}

static NOINLINE __attribute__((target("avx"))) void vectors256(void)
{
	float out[8];
	__m256 a = _mm256_set_ps(8, 7, 6, 5, 4, 3, 2, 1), r = give_ymm(a, a);

	_mm256_storeu_ps(out, r);
	say("ymm %g %g %g", out[0], out[3], out[7]);
	_mm256_storeu_ps(out, many_ymm(a, r, a, r, a, r, a, r, a));
	say("nine ymm %g %g %g", out[0], out[3], out[7]);
}

static NOINLINE __attribute__((target("avx512f"))) void vectors512(void)
{
	float out[16];
	__m512 a = _mm512_set1_ps(3), r = give_zmm(a, _mm512_set1_ps(7));

	_mm512_storeu_ps(out, r);
	say("zmm %g %g", out[0], out[15]);
}

static NOINLINE long with_alloca(int n)
{
	char *p = alloca((size_t)n * 16);
	long s = 0;
	int i;

	memset(p, n, (size_t)n * 16);
	for (i = 0; i < n * 16; i++)
		s += p[i];
	if (n > 1)
		s += with_alloca(n - 1);
	KEEP();
	return s;
}

static NOINLINE long with_vla(int n)
{
	long a[n], s = 0;
	int i;

	for (i = 0; i < n; i++)
		a[i] = n > 1 ? with_vla(n / 2) + i : 1;
	for (i = 0; i < n; i++)
		s += a[i];
	return s;
}

#ifndef __clang__
static NOINLINE long apply(long (*f)(long), long n)
{
	long s = 0;

	while (n--)
		s += f(n);
	return s;
}

/* r10 is the static chain; a pointer to a nested function leads to code on the stack */
static NOINLINE long nested(long x)
{
	long count = 0;
	NOINLINE long add(long n)
	{
		count++;
		return n > 2 ? add(n - 1) + x : x * n;
	}
	NOINLINE long deeper(long n)
	{
		NOINLINE long inner(long m)
		{
			count += 100;
			return add(m) + n;
		}
		return inner(n) + apply(inner, 3);
	}

	x += deeper(4);
	x += apply(add, 5);
	return x * 100000 + count;
}
#endif

/* A function that saves every call-saved register, and calls others between. */
static NOINLINE long registers(long a)
{
	long b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;

	OPAQUE(b);
	OPAQUE(c);
	OPAQUE(d);
	OPAQUE(e);
	OPAQUE(f);
	a = many(a, b, c, d, e, f, a, b, c, d, e);
	a += with_alloca(2);
	return a * 7 + b * 6 + c * 5 + d * 4 + e * 3 + f;
}

void section_values(void)
{
	struct big b = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
	struct mixed m = {5, 2.5};
	struct floats f = {1, 2, 3};
	struct packed_ld p = {10};
	double _Complex z;
	float _Complex zf;
	long double _Complex zl;
	__int128 i128;
	char text[200];
	float out[4];

	say("many %ld", many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
	say("doubles %g", many_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
	b = give_big(give_big(b, 5), -7);
	say("struct %ld %ld", b.v[0], b.v[8]);
	m = give_mixed(m);
	say("mixed %ld %g", m.l, m.d);
	f = give_floats(f);
	say("floats %g %g %g", f.a, f.b, f.c);
	say("long double %.18Lg", give_long_double(1.0L / 3, 7, 2.0L / 7));
	p = give_packed(p);
	say("long double struct %.18Lg", p.x);
	z = give_complex(3 + 4 * I);
	say("complex %g %g", creal(z), cimag(z));
	zf = give_complex_float(3 + 4 * I);
	say("complex float %g %g", (double)crealf(zf), (double)cimagf(zf));
	zl = give_complex_long(3 + 4 * I);
	say("complex long double %Lg %Lg", creall(zl), cimagl(zl));
	i128 = give_int128((__int128)1 << 90, 3, 12345);
	say("int128 %llx %llx", (unsigned long long)(i128 >> 64), (unsigned long long)i128);
	say("variable %g", sum(5, 0, 7, 1, 2.5, 2, 1.25L, 1, 3.5, 0, 1));
	say("variable %d: %s",
	    print_to(text, sizeof(text), "%d %g %s %Lg %d %d %d %g", 1, 2.5, "three", 4.5L, 5, 6, 7,
		     8.5),
	    text);
	_mm_storeu_ps(out, give_xmm(_mm_set_ps(4, 3, 2, 1), _mm_set1_ps(3)));
	say("xmm %g %g %g %g", out[0], out[1], out[2], out[3]);
	if (__builtin_cpu_supports("avx"))
		vectors256();
	if (__builtin_cpu_supports("avx512f"))
		vectors512();
	say("alloca %ld", with_alloca(20));
	say("variable array %ld", with_vla(20));
#ifndef __clang__
	say("nested %ld", nested(3));
#endif
	say("registers %ld", registers(11));
}
