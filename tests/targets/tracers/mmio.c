/* SPDX-License-Identifier: MIT */
/*
 * mmio: two pages of a memfd, the first of which is `device`. For a word on a line it does the
 * accesses that the test of that name knows, each by a function of its name, and says `done N`:
 * a sum of what the memory has then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vestige/vestige.h>

#define CALLED __attribute__((noipa, noinline))
#define BYTES  8192

uint8_t *device;

static CALLED void store_1(void)
{
	__asm__ volatile("movb $0x11, (%0)" : : "r"(device) : "memory");
}

static CALLED void store_2(void)
{
	__asm__ volatile("movw $0x2222, 2(%0)" : : "r"(device) : "memory");
}

static CALLED void store_4(void)
{
	__asm__ volatile("movl %1, 4(%0)" : : "r"(device), "r"(0x44444444) : "memory");
}

static CALLED void store_8(void)
{
	__asm__ volatile("movq %1, 8(%0,%2,8)"
			 :
			 : "r"(device), "r"(0x8888888888888888), "r"(0l)
			 : "memory");
}

static uint64_t check(uint64_t got, uint64_t want, const char *what)
{
	if (got != want)
		printf("%s: %lx, not %lx; ", what, got, want);
	return got;
}

static CALLED uint64_t load_8(void)
{
	uint64_t v;

	__asm__ volatile("movq 8(%1), %0" : "=r"(v) : "r"(device));
	return v;
}

static CALLED uint64_t load_4(void)
{
	uint64_t v;

	__asm__ volatile("movl 4(%1), %k0" : "=r"(v) : "r"(device));
	return v;
}

static CALLED uint64_t load_signed_2(void)
{
	uint64_t v;

	__asm__ volatile("movswq 2(%1), %0" : "=r"(v) : "r"(device));
	return v;
}

static CALLED uint64_t load_1(void)
{
	uint64_t v = -1;

	__asm__ volatile("movb (%1), %%ah\n\tmovzbl %%ah, %%eax" : "+a"(v) : "r"(device));
	return v;
}

static void moves(void)
{
	store_1();
	store_2();
	store_4();
	store_8();
	check(load_8(), 0x8888888888888888, "load_8");
	check(load_4(), 0x44444444, "load_4");
	check(load_signed_2(), 0x2222, "load_signed_2");
	check(load_1(), 0x11, "load_1");
}

static uint64_t sum(void)
{
	uint64_t s = 0;

	for (int i = 0; i < BYTES; i++)
		s = s * 31 + device[i];
	return s;
}

static const struct {
	const char *word;
	void (*work)(void);
} works[] = {
	{"moves", moves},
};

int main(int argc, char **argv)
{
	char line[64];
	int fd = memfd_create("device", 0);

	if (fd < 0 || ftruncate(fd, BYTES))
		return 1;
	device = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (argc > 1 && vestige_watch(device, 4096, argv[1]))
		perror("vestige_watch");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++)
			if (!strcmp(line, works[i].word))
				works[i].work();
		printf("done %lu\n", !strcmp(line, "sum") ? sum() : (uint64_t)device);
		fflush(stdout);
	}
	return 0;
}
