/* SPDX-License-Identifier: MIT */
/*
 * vfork() for sources/process.c. Parent and child return to the same address on the same stack, and
 * the child would overwrite the return address, so it is kept in a register across the system call.
 * The parent then records its child. If the call fails, libc's function is called, to set errno.
 */

	.globl	sched_wrap_vfork
	.hidden	sched_wrap_vfork
	.type	sched_wrap_vfork, @function
	.balign	16
sched_wrap_vfork:
	.cfi_startproc
	endbr64
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rdi
	mov	$58, %eax	/* SYS_vfork */
	syscall
	push	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_offset rip, -8
	test	%eax, %eax
	js	2f
	jz	1f
	push	%rax
	.cfi_adjust_cfa_offset 8
	mov	%eax, %edi
	call	sched_vfork_returned
	pop	%rax
	.cfi_adjust_cfa_offset -8
1:	ret
2:	mov	sched_real_vfork(%rip), %rax
	jmp	*(%rax)
	.cfi_endproc
	.size	sched_wrap_vfork, . - sched_wrap_vfork

	.section .note.GNU-stack, "", @progbits
