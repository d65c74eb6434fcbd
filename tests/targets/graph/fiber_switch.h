/* SPDX-License-Identifier: MIT */
/*
 * A switch of stacks as runtimes write it by hand: it saves what the convention says, changes the
 * stack, and returns there. A new stack begins with fiber_start as the return address, what to call
 * in r12 and its argument in rbx.
 */
#ifndef FIBER_SWITCH_H
#define FIBER_SWITCH_H

#ifdef __cplusplus
extern "C" {
#endif

/* With -DNO_TABLES no unwinder finds a way out of fiber_start. */
#ifdef NO_TABLES
#define FIBER_TABLE	""
#define FIBER_TABLE_END ""
#else
#define FIBER_TABLE	".cfi_startproc; .cfi_undefined %rip\n"
#define FIBER_TABLE_END ".cfi_endproc\n"
#endif

void fiber_switch(void **save, void *to);
void fiber_start(void);
__asm__(".text\n"
	".p2align 4\n"
	".type fiber_switch,@function\n"
	"fiber_switch:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size fiber_switch,.-fiber_switch\n"
	".type fiber_start,@function\n"
	"fiber_start:\n" FIBER_TABLE "	endbr64\n"
	"	movq %rbx, %rdi\n"
	"	call *%r12\n"
	"	ud2\n" FIBER_TABLE_END ".size fiber_start,.-fiber_start\n");

#ifdef __cplusplus
}
#endif

#endif
