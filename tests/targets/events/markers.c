/* SPDX-License-Identifier: MIT */
/*
 * A program with the markers of <sys/sdt.h>, with arguments of all sizes wherever a compiler may
 * put them; one is behind its semaphore. Each line of its input is a round, answered with `done N
 * SKIPPED`: how often the semaphore said no.
 */
#define _SDT_HAS_SEMAPHORES 1
#define SDT_USE_VARIADIC

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

__extension__ unsigned short marks_guarded_semaphore __attribute__((unused, section(".probes")));
/* those without are asked for as well */
__extension__ unsigned short marks_none_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short marks_sizes_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short marks_many_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short marks_memory_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short marks_twice_semaphore __attribute__((unused, section(".probes")));

struct item {
	int32_t a;
	int16_t b[4];
	uint8_t c;
	struct item *next;
};

int64_t global = -77;
static uint32_t local = 99;
static struct item items[3] = {{-1, {1, -2, 3, -4}, 200, &items[1]},
			       {-2, {5, -6, 7, -8}, 201, &items[2]},
			       {-3, {9, -10, 11, -12}, 202, NULL}};
static unsigned int skipped;

__attribute__((noinline)) static void sizes(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e,
					    uint32_t f, int64_t g, uint64_t h)
{
	STAP_PROBE8(marks, sizes, a, b, c, d, e, f, g, h);
}

__attribute__((noinline)) static void memory(struct item *p, long i)
{
	int on_stack[40];

	on_stack[i] = (int)i + 1000;
	__asm__ volatile("" : : "r"(on_stack) : "memory");
	STAP_PROBE8(marks, memory, p->a, p[i].b[2], p->next->c, on_stack[i], global, local,
		    items[1].b[3], (int16_t)-5);
	__asm__ volatile("" : : "r"(on_stack) : "memory");
}

__attribute__((noinline)) static void twice(int n, const char *s)
{
	if (n & 1)
		STAP_PROBE1(marks, twice, n);
	else
		STAP_PROBE2(marks, twice, (int64_t)n << 33, s);
}

static void round_of(int n)
{
	STAP_PROBE(marks, none);
	sizes((int8_t)-n, (uint8_t)(n + 200), -300, 60000, -70000, 4000000000u, -5000000000,
	      ~UINT64_C(0));
	memory(items, n % 2 + 1);
	twice(n, "even");
	twice(n + 1, "even");
	STAP_PROBE12(marks, many, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, n, 12);
	if (__builtin_expect(marks_guarded_semaphore, 0))
		STAP_PROBE2(marks, guarded, n, "listened to");
	else
		skipped++;
}

int main(void)
{
	char line[64];
	int n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (n = 0; fgets(line, sizeof(line), stdin); n++) {
		if (!strcmp(line, "fork\n")) {
			if (!fork()) {
				round_of(n);
				_exit(0);
			}
			wait(NULL);
		} else {
			round_of(n);
		}
		printf("done %d %u\n", n, skipped);
	}
	return 0;
}
