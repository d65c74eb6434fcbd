/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_ARCH_SYSCALL_H
#define VESTIGE_ARCH_SYSCALL_H

/*
 * One system call, without a check of the thread's rights (sys.h). Any context. Return: the
 * kernel's result, -errno on failure.
 */
static inline long arch_raw_syscall(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "+a"(n)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return n;
}

#endif
