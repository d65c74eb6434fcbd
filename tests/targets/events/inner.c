/* SPDX-License-Identifier: MIT */
/*
 * A program whose functions take probes at every instruction: each round goes through all of them
 * and checks what they compute. `threads N` does so in four threads for N ms, beneath signals whose
 * handler walks the stack.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

uint64_t words[8] = {3, 1, 4, 1, 5, 9, 2, 6};
double ratio = 1.5;
static __thread uint64_t local = 7;

typedef uint64_t step(uint64_t);

NOINLINE uint64_t twice(uint64_t x);
NOINLINE uint64_t next(uint64_t x);
NOINLINE uint64_t chosen(int which, uint64_t x);
NOINLINE uint64_t looped(const char *s, size_t n);
NOINLINE uint64_t called(step *f, uint64_t x);
NOINLINE double floats(double a, double b);
NOINLINE int left(uint64_t deep);
NOINLINE uint64_t odd(uint64_t x);
NOINLINE int round_of(int n);
NOINLINE void *thread(void *arg);
int main(void);

uint64_t twice(uint64_t x)
{
	return x * 2;
}

uint64_t next(uint64_t x)
{
	return x + 1 + local;
}

/* a table of jumps */
uint64_t chosen(int which, uint64_t x)
{
	switch (which) {
	case 0:
		return x + words[0];
	case 1:
		return x * words[1] + 1;
	case 2:
		return x ^ words[2];
	case 3:
		return twice(x) - 3;
	case 4:
		return next(x) << 2;
	case 5:
		return x % 7 + words[5];
	default:
		return 0;
	}
}

uint64_t looped(const char *s, size_t n)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)s[i];
	return sum;
}

/* what stays in registers over calls, and a call by a register */
uint64_t called(step *f, uint64_t x)
{
	uint64_t a = f(x), b = f(x + 1), c = twice(a);

	return a * 3 + b * 5 + c;
}

double floats(double a, double b)
{
	double c = a * ratio + b;

	return c > 10 ? c / 2 : c + a;
}

static jmp_buf back;

int left(uint64_t deep)
{
	if (deep == words[1] - 1)
		longjmp(back, 5);
	if (deep > 100)
		return 0;
	return left(deep - 1) + 1;
}

/* instructions that compilers seldom choose: each length, rcx's branches, string ones, flags that
 * live on */
uint64_t odd(uint64_t x)
{
	uint64_t r = x, count = 3;
	char from[16] = "abcdefgh", to[16] = "";
	char *d = to, *s = from;
	uint64_t n = 9;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 ".cfi_adjust_cfa_offset 128\n"
			 "1: inc %0\n\t"
			 "lea 1(%0), %0\n\t"
			 "loop 1b\n\t"
			 "jrcxz 2f\n\t"
			 "ud2\n"
			 "2: push %0\n\t"
			 ".cfi_adjust_cfa_offset 8\n\t"
			 "lahf\n\t"
			 "sahf\n\t"
			 "pop %0\n\t"
			 ".cfi_adjust_cfa_offset -8\n\t"
			 "stc\n\t"
			 "nop\n\t"
			 "adc $0, %0\n\t"
			 "cmp $1, %0\n\t"
			 "nop\n\t"
			 ".byte 0x66, 0x90\n\t"
			 "jne 3f\n\t"
			 "ud2\n"
			 "3: movabs $0x1122334455667788, %%rdx\n\t"
			 "xor %%rdx, %0\n\t"
			 "mov words(%%rip), %%rdx\n\t"
			 "add %%rdx, %0\n\t"
			 "xchg %%rax, %%rdx\n\t"
			 "cltd\n\t"
			 "jmp 4f\n\t"
			 "ud2\n"
			 "4: nopw 0(%%rax, %%rax, 1)\n\t"
			 "lea 128(%%rsp), %%rsp\n\t"
			 ".cfi_adjust_cfa_offset -128"
			 : "+r"(r), "+c"(count)
			 :
			 : "rax", "rdx", "memory", "cc");
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
	/* nothing is written below the stack pointer */
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 ".cfi_adjust_cfa_offset 128\n\t"
			 "mov %1, -120(%%rsp)\n\t"
			 "nop\n\t"
			 "mov -120(%%rsp), %0\n\t"
			 "lea 128(%%rsp), %%rsp\n\t"
			 ".cfi_adjust_cfa_offset -128"
			 : "=r"(r)
			 : "r"(r)
			 : "memory");
	return strcmp(to, "abcdefgh") ? 0 : r;
}

int round_of(int n)
{
	uint64_t x = (uint64_t)n, sum = 0;
	int i;

	for (i = 0; i < 7; i++)
		sum += chosen(i, x + 5);
	if (sum != (x + 8) + (x + 6) + ((x + 5) ^ 4) + (2 * x + 7) + 4 * (x + 13) + (x + 5) % 7 + 9)
		abort();
	if (looped("hello", 5) != 99162322)
		abort();
	if (called(next, x) != (x + 8) * 3 + (x + 9) * 5 + (x + 8) * 2)
		abort();
	if (called(twice, x) != x * 6 + (x + 1) * 10 + x * 4)
		abort();
	if (floats(2, 1) != 6 || floats(20, 4) != 17)
		abort();
	if (odd(x) != ((x + 7) ^ 0x1122334455667788) + 3)
		abort();
	return 0;
}

static int leave(void)
{
	int r = setjmp(back);

	if (!r)
		left(4);
	return r;
}

static unsigned int nr_walks, nr_short;

/* Whether the stack can be walked from here to where the thread began. */
static int is_whole(void)
{
	void *frame[64];
	int i, n = backtrace(frame, 64);
	Dl_info info;

	for (i = 0; i < n; i++)
		if (dladdr(frame[i], &info) && info.dli_sname &&
		    (!strcmp(info.dli_sname, "thread") || !strcmp(info.dli_sname, "main")))
			return 1;
	return 0;
}

static void on_signal(int sig)
{
	(void)sig;
	__atomic_fetch_add(&nr_walks, 1, __ATOMIC_RELAXED);
	if (!is_whole())
		__atomic_fetch_add(&nr_short, 1, __ATOMIC_RELAXED);
	round_of(11);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void *thread(void *arg)
{
	uint64_t end = now_ms() + (uint64_t)arg;
	sigset_t set;
	int i;

	/* libc's own part of a thread is none that `thread` is in */
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (i = 0; now_ms() < end; i++)
		round_of(i);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return NULL;
}

static void threads(long ms)
{
	struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	pthread_t t[4];
	sigset_t set;
	int i;

	is_whole();
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)ms);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	fprintf(stderr, "walks %u short %u\n", nr_walks, nr_short);
}

int main(void)
{
	char line[64];
	int n, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (n = 0; fgets(line, sizeof(line), stdin); n++) {
		if (sscanf(line, "threads %d", &i) == 1)
			threads(i);
		else if (round_of(n) || leave() != 5)
			abort();
		printf("done %d\n", n);
	}
	return 0;
}
