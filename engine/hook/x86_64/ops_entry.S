/* SPDX-License-Identifier: MIT */
/*
 * Entry point of functions with callbacks (core/ops.h): like the function hooks, a call from the
 * site, so that
 *
 *	(%rsp)   the site's end, inside the function
 *	8(%rsp)  the return address of the function
 *
 * Everything is saved, since a callback is C code of the program: general registers in the order of
 * struct ops_frame, the rest of the processor's state by xsavec, xsave or fxsave, as ops_xsave_how
 * says (2, 1, 0). The call continues at the address that ops_call() returns. Costs: bench "steady".
 */
#include "frame.inc"
#include "offsets.h"

	.text
	.globl	hook_ops
	.hidden	hook_ops
	.type	hook_ops, @function
	.balign	64
hook_ops:
	.cfi_startproc
	endbr64
	SAVE_FRAME
	mov	%rsp, %rbx
	.cfi_def_cfa_register rbx
	sub	ops_xsave_bytes(%rip), %rsp
	and	$-64, %rsp
	mov	ops_xsave_how(%rip), %ebp
	test	%ebp, %ebp
	jz	1f
	/* xsave writes only one word of its header, and xrstor needs zeros in the others */
	xor	%eax, %eax
	.irp	at, 512, 520, 528, 536, 544, 552, 560, 568
	mov	%rax, \at(%rsp)
	.endr
	mov	ops_xsave_mask(%rip), %eax
	mov	ops_xsave_mask+4(%rip), %edx
	cmp	$2, %ebp
	jne	2f
	xsavec64 (%rsp)
	jmp	3f
2:	xsave64	(%rsp)
	jmp	3f
1:	fxsave64 (%rsp)
3:	cld
	mov	%rbx, %rdi
	mov	OPS_FRAME_IP(%rbx), %rsi
	movslq	-4(%rsi), %rax
	mov	SLOT_WORD(%rsi,%rax), %rsi
	call	ops_call
	mov	%rax, OPS_FRAME_IP(%rbx)
	test	%ebp, %ebp
	jz	4f
	mov	ops_xsave_mask(%rip), %eax
	mov	ops_xsave_mask+4(%rip), %edx
	xrstor64 (%rsp)
	jmp	5f
4:	fxrstor64 (%rsp)
5:	mov	%rbx, %rsp
	.cfi_def_cfa_register rsp
	RESTORE_FRAME
	ret
	.cfi_endproc
	.size	hook_ops, . - hook_ops

	.section .note.GNU-stack, "", @progbits
