/* SPDX-License-Identifier: MIT */
/*
 * manystacks N - one call on each of N stacks that the engine does not know, a page each, then one
 * on the thread's own; for tests/engine/graph/manystacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096

void call_on(void *top, void (*f)(void));
__asm__(".text\n"
	".type call_on,@function\n"
	"call_on:\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	movq %rdi, %rsp\n"
	"	call *%rsi\n"
	"	movq %rbp, %rsp\n"
	"	popq %rbp\n"
	"	ret\n"
	".size call_on,.-call_on\n");

static volatile long calls;

__attribute__((noinline)) static void counted(void)
{
	calls++;
}

__attribute__((noinline)) static void at_home(void)
{
	__asm__ volatile("# not the function above");
	calls++;
}

__attribute__((patchable_function_entry(0))) int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1, i;
	char *stacks = mmap(NULL, (size_t)n * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stacks == MAP_FAILED)
		return 1;
	for (i = 0; i < n; i++)
		call_on(stacks + (i + 1) * PAGE - 64, counted);
	at_home();
	printf("calls %ld\n", calls);
	return 0;
}
