/* SPDX-License-Identifier: MIT */
/*
 * Entry point of functions that only instances want, and no callback (core/ops.h): like the
 * function hooks, a call from the site, so that
 *
 *	(%rsp)   the site's end, inside the function
 *	8(%rsp)  the return address of the function
 *
 * What C may change is saved: the engine is built without vector and x87 registers. The call
 * continues at the address that ops_record_call() returns. Costs: bench "instances".
 */
#include "offsets.h"

	.text
	.globl	hook_calls
	.hidden	hook_calls
	.type	hook_calls, @function
	.balign	64
hook_calls:
	.cfi_startproc
	endbr64
	.irp	r, rax, rdx, rcx, rsi, rdi, r8, r9, r10, r11, rbp
	push	%\r
	.cfi_adjust_cfa_offset 8
	.endr
	.cfi_rel_offset rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	and	$-16, %rsp
	cld
	mov	80(%rbp), %rdx
	mov	88(%rbp), %rsi
	movslq	-4(%rdx), %rax
	mov	SLOT_WORD(%rdx,%rax), %rdi
	lea	24(%rbp), %rcx		/* struct arch_args */
	call	ops_record_call
	mov	%rax, 80(%rbp)
	mov	%rbp, %rsp
	.cfi_def_cfa_register rsp
	.irp	r, rbp, r11, r10, r9, r8, rdi, rsi, rcx, rdx, rax
	pop	%\r
	.cfi_adjust_cfa_offset -8
	.endr
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	hook_calls, . - hook_calls

	.section .note.GNU-stack, "", @progbits
