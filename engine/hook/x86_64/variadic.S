/* SPDX-License-Identifier: MIT */
/*
 * Functions of libc that take any number of arguments, ours in their place (graph_unwind.c): the
 * first arguments are noted in C, all are passed on. make_fcontext() is Boost.Context's. Never on
 * the way of a traced call.
 */

#include <sys/syscall.h>

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
	INSTEAD_OF make_fcontext, graph_note_fcontext, graph_real_make_fcontext
	INSTEAD_OF clone, graph_note_clone, graph_real_clone

/*
 * syscall(): core/sandbox.c has to see three numbers. All others go on to libc's at once, with
 * nothing changed: it is on hot paths, and may come back twice.
 */
	.weak	syscall
	.type	syscall, @function
	.balign	16
syscall:
	.cfi_startproc
	endbr64
	cmp	$SYS_seccomp, %rdi
	je	sandbox_syscall
	cmp	$SYS_prctl, %rdi
	je	sandbox_syscall
	cmp	$SYS_exit, %rdi
	je	sandbox_syscall
	jmp	*sandbox_real_syscall(%rip)
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
