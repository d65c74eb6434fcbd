/* SPDX-License-Identifier: MIT */
/*
 * Functions whose arguments a probe names. Each line of input is a round, answered with `done N`;
 * what they are called with follows from N. As C and as C++.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

enum colour { RED, GREEN = 7 };
enum sign { MINUS = -3, PLUS = 3 };

struct bits {
	unsigned low : 3, middle : 11, high : 18;
	uint64_t wide : 40, rest : 24;
	uint8_t tiny : 5;
};

struct inner {
	int16_t number;
	char text[12];
	struct bits bits;
};

struct outer {
	struct outer *next;
	const char *name;
	struct inner inner;
	union {
		uint64_t whole;
		uint32_t half[2];
	};
	double ratio;
	enum sign sign;
	const unsigned char *bytes;
};

struct small {
	int a, b;
};

struct big {
	long a[5];
};

#ifdef __cplusplus
extern "C" {
#endif
NOINLINE long ints(signed char i8, unsigned char u8, short i16, unsigned short u16, int i32,
		   unsigned int u32, long i64, unsigned long u64, bool flag, enum colour colour);
NOINLINE long mixed(double before, int a, float between, const char *text, struct outer *p,
		    double after, long last, char letter);
NOINLINE long deep(const struct outer *o, const char *const *names);
NOINLINE long values(struct small s, int between, struct big b, int after);
NOINLINE struct outer *make(int n, const char *name);
NOINLINE double half(double v);
NOINLINE void nothing(int n);
#ifdef __cplusplus
}
#endif

static struct outer second, first;
static const unsigned char utf8[] = "octets";
static const char *const names[] = {"zero", "one"};

#define KEEP(x) __asm__ volatile("" ::"g"(x) : "memory")

long ints(signed char i8, unsigned char u8, short i16, unsigned short u16, int i32,
	  unsigned int u32, long i64, unsigned long u64, bool flag, enum colour colour)
{
	KEEP(i64);
	return i8 + u8 + i16 + u16 + i32 + (long)u32 + i64 + (long)u64 + flag + (long)colour;
}

long mixed(double before, int a, float between, const char *text, struct outer *p, double after,
	   long last, char letter)
{
	KEEP(text);
	return (long)(before + (double)between + after) + a + last + letter + (long)p->whole;
}

long deep(const struct outer *o, const char *const *list)
{
	KEEP(list);
	return o->next->inner.number;
}

long values(struct small s, int between, struct big b, int after)
{
	KEEP(between);
	return s.a + s.b + between + b.a[3] + after;
}

struct outer *make(int n, const char *name)
{
	first.inner.number = (int16_t)n;
	second.name = name;
	return &first;
}

double half(double v)
{
	KEEP(0);
	return v / 2;
}

void nothing(int n)
{
	KEEP(n);
}

int main(void)
{
	struct small s = {3, 4};
	struct big b = {{1, 2, 3, 4, 5}};
	char line[64], name[32];
	int n;

	for (n = 1; fgets(line, sizeof(line), stdin); n++) {
		snprintf(name, sizeof(name), "round %d", n);
		second.next = &first;
		second.inner.number = (int16_t)(-7 * n);
		snprintf(second.inner.text, sizeof(second.inner.text), "in %d", n);
		second.inner.bits.low = (unsigned int)n & 7;
		second.inner.bits.middle = (unsigned int)(1500 + n) & 2047;
		second.inner.bits.high = (unsigned int)(200000 + n) & 262143;
		second.inner.bits.wide = (uint64_t)n << 33;
		second.inner.bits.rest = (uint64_t)(12345678 + n) & 0xffffff;
		second.inner.bits.tiny = (uint8_t)((20 + n) & 31);
		second.whole = UINT64_C(0x1122334455667700) + (unsigned int)n;
		second.ratio = n / 2.0;
		second.sign = n & 1 ? MINUS : PLUS;
		second.bytes = utf8;
		first.next = &second;
		first.name = "first";
		make(n, name);
		ints((signed char)-n, (unsigned char)(250 + n), (short)(-1000 * n),
		     (unsigned short)(65000 + n), -100000 * n, 4000000000u + (unsigned int)n,
		     INT64_C(-5000000000) * n, UINT64_C(0xfedcba9876543210) + (unsigned int)n,
		     n & 1, n & 1 ? GREEN : RED);
		mixed(1.5, n, 2.5f, "constant", &second, 3.5, -n, (char)('a' + n));
		deep(&first, names);
		values(s, n, b, -n);
		half(n);
		nothing(n);
		printf("done %d\n", n);
		fflush(stdout);
	}
	return 0;
}
