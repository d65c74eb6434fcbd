/* SPDX-License-Identifier: MIT */
/*
 * Functions of libc that take any number of arguments, ours in their place (graph_unwind.c): the
 * first arguments are noted in C, all are passed on. Never on the way of a traced call.
 */

	.macro	INSTEAD_OF name, note, real
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.cfi_startproc
	endbr64
	.irp	r, rdi, rsi, rdx, rcx, r8, r9, rax
	push	%\r
	.cfi_adjust_cfa_offset 8
	.endr
	call	\note
	.irp	r, rax, r9, r8, rcx, rdx, rsi, rdi
	pop	%\r
	.cfi_adjust_cfa_offset -8
	.endr
	jmp	*\real(%rip)
	.cfi_endproc
	.size	\name, . - \name
	.endm

	INSTEAD_OF makecontext, graph_note_context, graph_real_makecontext
	INSTEAD_OF clone, graph_note_clone, graph_real_clone

	.section .note.GNU-stack, "", @progbits
