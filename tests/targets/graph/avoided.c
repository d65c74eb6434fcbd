/* SPDX-License-Identifier: MIT */
/*
 * avoided - functions that must not find a stub where their caller's address belongs, for
 * tests/engine/graph/avoid: those that jump into one that asks who called it, and one that returns
 * twice. Prints what they said, which must be the same whether they are traced or not.
 *
 * With -DLIBRARY=N one of two libraries, both of which have `which_library`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0)))
#define NOINLINE __attribute__((noinline))

#ifdef LIBRARY

/* Not static, so that RTLD_NEXT has something to find behind the first one. */
int which_library(void)
{
	return LIBRARY;
}

#if LIBRARY == 1
/* The compiler makes these jumps. RTLD_NEXT's result depends on the caller. */
NOINLINE void *tail_dlsym(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

NOINLINE void *tail_dlvsym(const char *name, const char *version)
{
	return dlvsym(RTLD_NEXT, name, version);
}

/* From here it is the second library's. */
NOTRACE int next_library(int versioned)
{
	void *f = versioned ? tail_dlvsym("which_library", "V1") : tail_dlsym("which_library");

	return f ? ((int (*)(void))f)() : -1;
}
#endif

#else

int next_library(int versioned);

/* The caller decides here, too, where is searched: by our own run path. */
NOINLINE void *tail_dlopen(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

NOINLINE void *tail_dlmopen(const char *name)
{
	return dlmopen(LM_ID_BASE, name, RTLD_NOW | RTLD_LOCAL);
}

/*
 * By hand: no compiler makes a tail call of vfork(), and a function of the program's own that
 * returns twice saves its return address. savectx() is one that compilers know by its name.
 */
pid_t tail_vfork(void);
int savectx(void **context) __attribute__((returns_twice));
void resume(void **context, int value) __attribute__((noreturn));
__asm__(".text\n"
	".globl tail_vfork\n"
	".type tail_vfork,@function\n"
	"tail_vfork:\n"
	"	.cfi_startproc\n"
	"	.byte 0x90,0x90,0x90,0x90,0x90,0x90\n"
	"	jmp vfork@PLT\n"
	"	.cfi_endproc\n"
	".size tail_vfork,.-tail_vfork\n"
	".globl savectx\n"
	".type savectx,@function\n"
	"savectx:\n"
	"	.cfi_startproc\n"
	"	.byte 0x90,0x90,0x90,0x90,0x90,0x90\n"
	"	movq (%rsp), %rax\n"
	"	movq %rax, (%rdi)\n"
	"	movq %rsp, 8(%rdi)\n"
	"	movq %rbx, 16(%rdi)\n"
	"	movq %rbp, 24(%rdi)\n"
	"	movq %r12, 32(%rdi)\n"
	"	movq %r13, 40(%rdi)\n"
	"	movq %r14, 48(%rdi)\n"
	"	movq %r15, 56(%rdi)\n"
	"	xorl %eax, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size savectx,.-savectx\n"
	".type resume,@function\n"
	"resume:\n"
	"	movl %esi, %eax\n"
	"	movq 16(%rdi), %rbx\n"
	"	movq 24(%rdi), %rbp\n"
	"	movq 32(%rdi), %r12\n"
	"	movq 40(%rdi), %r13\n"
	"	movq 48(%rdi), %r14\n"
	"	movq 56(%rdi), %r15\n"
	"	movq 8(%rdi), %rsp\n"
	"	addq $8, %rsp\n"
	"	jmp *(%rdi)\n"
	".size resume,.-resume\n");

/* Calls of the kind that stays wrapped; it uses the slot that savectx() returned by. */
NOINLINE int ordinary(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

NOINLINE int comes_back(void)
{
	void *context[8];
	volatile int times = 0, sum = 0;

	if (savectx(context) < 5)
		sum += ordinary(times);
	if (++times < 5)
		resume(context, times);
	return sum;
}

NOINLINE int spawned(void)
{
	int status = -1;
	pid_t pid = tail_vfork();

	if (!pid)
		_exit(23);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static NOTRACE int ask_library(void *handle)
{
	void *f = handle ? dlsym(handle, "which_library") : NULL;

	return f ? ((int (*)(void))f)() : -1;
}

NOTRACE int main(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		printf("dlsym %d dlvsym %d", next_library(0), next_library(1));
		printf(" dlopen %d dlmopen %d", ask_library(tail_dlopen("libprivate.so")),
		       ask_library(tail_dlmopen("libprivate.so")));
		printf(" vfork %d savectx %d ordinary %d\n", spawned(), comes_back(), ordinary(i));
		fflush(stdout);
	}
	return 0;
}

#endif
