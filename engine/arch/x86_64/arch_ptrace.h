/* SPDX-License-Identifier: MIT */
/*
 * Registers of other threads, by ptrace(), and a child that shares the memory. The system calls are
 * made whatever the thread's rights (sys.h).
 */
#ifndef VESTIGE_ARCH_PTRACE_H
#define VESTIGE_ARCH_PTRACE_H

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "arch_syscall.h"

#define ARCH_PTRACE_GETREGS 12
#define ARCH_PTRACE_SETREGS 13

/*
 * arch_ptrace_regs() - where a stopped tracee is.
 * @ip: the next instruction. @before: in a system call, its instruction, because the kernel may
 * restart it; else the same as @ip. @sp: the stack pointer. Return: 0 or -errno.
 */
static inline int arch_ptrace_regs(int tid, uint64_t *ip, uint64_t *before, uint64_t *sp)
{
	struct user_regs_struct r = {0};
	long err = arch_raw_syscall(SYS_ptrace, ARCH_PTRACE_GETREGS, tid, 0, (long)&r, 0, 0);

	*ip = r.rip;
	*before = (int64_t)r.orig_rax >= 0 ? r.rip - 2 : r.rip;
	*sp = r.rsp;
	return (int)err;
}

/*
 * arch_ptrace_interrupted() - the number of the system call that will return EINTR when the stopped
 * tracee continues; -1: there is none, or its registers cannot be read.
 */
static inline long arch_ptrace_interrupted(int tid)
{
	struct user_regs_struct r = {0};
	long err = arch_raw_syscall(SYS_ptrace, ARCH_PTRACE_GETREGS, tid, 0, (long)&r, 0, 0);

	return err || (int64_t)r.rax != -4 /* EINTR */ ? -1 : (long)r.orig_rax;
}

/*
 * arch_ptrace_again() - make that system call restart when the tracee continues, unless a signal
 * handler runs first: its result becomes ERESTARTNOHAND (linux/errno.h). Return: 0 or -errno.
 */
static inline int arch_ptrace_again(int tid)
{
	struct user_regs_struct r = {0};
	long err = arch_raw_syscall(SYS_ptrace, ARCH_PTRACE_GETREGS, tid, 0, (long)&r, 0, 0);

	r.rax = (uint64_t)-514;
	if (!err)
		err = arch_raw_syscall(SYS_ptrace, ARCH_PTRACE_SETREGS, tid, 0, (long)&r, 0, 0);
	return (int)err;
}

/*
 * arch_vfork_call() - call @fn(@arg) in a child that shares the memory and the thread's own data,
 * but has its own copy of the descriptors. The child ends when @fn returns; the caller waits until
 * then. The child's end sends no signal; wait4() with __WALL collects it. The caller has blocked
 * all signals.
 * @stack: the end of the child's stack, aligned to 16. Return: the child's id or -errno.
 */
static inline long arch_vfork_call(void (*fn)(void *), void *arg, void *stack)
{
	register void (*call)(void *) __asm__("r12") = fn;
	register void *with __asm__("r13") = arg;
	register long ptid __asm__("r10") = 0;
	register long tls __asm__("r8") = 0;
	long ret = SYS_clone;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r13, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "xor %%edi, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "ud2\n"
			 "1:"
			 : "+a"(ret)
			 : "D"((long)(CLONE_VM | CLONE_VFORK)), "S"(stack), "d"(0L), "r"(ptid),
			   "r"(tls), "r"(call), "r"(with), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory");
	return ret;
}

#endif
