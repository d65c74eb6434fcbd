/* SPDX-License-Identifier: MIT */
/* What registers say about the calling thread. Any context. */
#ifndef VESTIGE_ARCH_REGS_H
#define VESTIGE_ARCH_REGS_H

#include <stddef.h>
#include <stdint.h>

#include "arch_cpuid.h"

/*
 * The CPU on which the thread runs, without a system call: the kernel keeps it in the limit of GDT
 * entry 15 (selector 0x7b) for its own vdso. The thread may have moved when this returns.
 */
static inline uint32_t arch_cpu(void)
{
	uint32_t limit;

	__asm__ volatile("lsl %1, %0" : "=r"(limit) : "r"(0x7b) : "cc");
	return limit & 0xfff;
}

/*
 * Whether the processor has rdpid, which gives the same number about twenty times faster than lsl.
 */
static inline int arch_has_rdpid(void)
{
	return arch_cpuid(7).c >> 22 & 1;
}

/*
 * The registers in perf's samples (sample_regs_user): frame, stack and instruction pointer, in
 * perf's order.
 */
#define ARCH_PERF_REGS	  (1u << 6 | 1u << 7 | 1u << 8)
#define ARCH_NR_PERF_REGS 3u
enum { ARCH_PERF_FP, ARCH_PERF_SP, ARCH_PERF_IP };

/* The thread pointer, to which the offsets of thread-local memory are relative. */
static inline const char *arch_thread_pointer(void)
{
	const char *p;

	__asm__("movq %%fs:0, %0" : "=r"(p));
	return p;
}

/* The cpu_id of the thread's struct rseq. @offset: its offset in bytes from the thread pointer. */
static inline int32_t arch_rseq_cpu(ptrdiff_t offset)
{
	int32_t cpu;

	__asm__ volatile("movl %%fs:4(%1), %0" : "=r"(cpu) : "r"(offset));
	return cpu;
}

/* The stack pointer in a glibc jmp_buf, where it is xored with the thread's guard and rotated. */
static inline uint64_t arch_jump_sp(const uint64_t *jmpbuf)
{
	uint64_t sp = jmpbuf[6];

	__asm__("ror $17, %0; xor %%fs:0x30, %0" : "+r"(sp) : : "cc");
	return sp;
}

/* Set @nr 64-bit words to zero, at the speed of memory and without vector registers. */
static inline void arch_clear(void *p, uint64_t nr)
{
	__asm__ volatile("rep stosq" : "+D"(p), "+c"(nr) : "a"(0) : "memory");
}

#endif
