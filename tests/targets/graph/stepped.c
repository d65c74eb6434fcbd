/* SPDX-License-Identifier: MIT */
/*
 * stepped - runs a chain of calls with the processor's trap flag set, and walks the stack by
 * backtrace() in the handler of SIGTRAP, at each instruction: hooks, stubs and islands included.
 *
 * What a stack holds of the chain must be the chain, from where it is to main. Prints `steps N
 * outside N islands N bad N` (outside: not in the program's own text; islands: in memory that is no
 * object's) and the first bad stacks.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0)))
#define NOINLINE __attribute__((noinline))
#define KEEP()	 __asm__ volatile("" ::: "memory")

enum { FRAMES = 64, BITS_TRAP = 0x100, MAX_STEPS = 200000 };

static int steps, outside, islands, bad;
static const void *own_base;

NOINLINE int link_2(int n)
{
	KEEP();
	return n + 1;
}

NOINLINE int link_1(int n)
{
	int r = link_2(n);

	KEEP();
	r += link_2(r);
	KEEP();
	return r;
}

NOINLINE int link_0(int n)
{
	int r = link_1(n) + link_1(n + 1);

	KEEP();
	return r;
}

/* 2, 1, 0: a link; 3: main; -1: another function of the program; -2: not the program's */
static NOTRACE int which(void *ip, int is_return)
{
	Dl_info info;

	if (!dladdr((char *)ip - is_return, &info) || info.dli_fbase != own_base)
		return -2;
	if (!info.dli_sname)
		return -1;
	if (!strncmp(info.dli_sname, "link_", 5))
		return info.dli_sname[5] - '0';
	return strcmp(info.dli_sname, "main") ? -1 : 3;
}

static NOTRACE void show(void **frame, int n)
{
	Dl_info info;
	int i;

	printf("bad:");
	for (i = 0; i < n; i++) {
		if (dladdr((char *)frame[i] - (i > 0), &info))
			printf(" %s+%#zx",
			       info.dli_sname ? info.dli_sname : strrchr(info.dli_fname, '/'),
			       (size_t)((char *)frame[i] - (char *)info.dli_fbase));
		else
			printf(" %p", frame[i]);
	}
	printf("\n");
}

static NOTRACE void on_step(int sig, siginfo_t *si, void *arg)
{
	ucontext_t *context = arg;
	void *ip = (void *)context->uc_mcontext.gregs[REG_RIP], *frame[FRAMES];
	int n, i, last = -2, wrong = 0;
	Dl_info info;

	(void)sig;
	(void)si;
	if (++steps > MAX_STEPS)
		context->uc_mcontext.gregs[REG_EFL] &= ~BITS_TRAP;
	if (which(ip, 0) == -1)
		return; /* trap(), whose pushes have no rows */
	outside += which(ip, 0) == -2;
	islands += !dladdr(ip, &info);
	n = backtrace(frame, FRAMES);
	/* the handler, the kernel's frame */
	for (i = 2; i < n && last != 3; i++) {
		int now = which(frame[i], i > 2);

		if (now < 0)
			continue;
		if (last >= 0 && now != (last ? last - 1 : 3))
			wrong = 1;
		last = now;
	}
	/* behind main are libc's two and _start */
	if (wrong || last != 3 || i >= n) {
		if (bad++ < 5)
			show(frame, n);
	}
}

static NOTRACE void trap(int on)
{
	unsigned long flags;

	/* below the red zone */
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; popq %0; lea 128(%%rsp), %%rsp"
			 : "=r"(flags));
	flags = on ? flags | BITS_TRAP : flags & ~(unsigned long)BITS_TRAP;
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushq %0; popfq; lea 128(%%rsp), %%rsp"
			 :
			 : "r"(flags)
			 : "cc", "memory");
}

NOINLINE int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	void *warm[4];
	Dl_info info;
	int i, r = 0;

	(void)argv;
	backtrace(warm, 4);
	dladdr((void *)trap, &info);
	own_base = info.dli_fbase;
	sigaction(SIGTRAP, &sa, NULL);
	for (i = 0; i < 3; i++) {
		trap(1);
		r += link_0(argc + i);
		trap(0);
	}
	printf("steps %d outside %d islands %d bad %d\n", steps, outside, islands, bad);
	return r != 48;
}
