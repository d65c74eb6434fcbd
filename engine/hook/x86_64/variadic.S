/* SPDX-License-Identifier: MIT */
/*
 * Functions of libc with any number of arguments, replaced by the engine's (graph_unwind.c): C gets
 * the first arguments, and all are passed on. make_fcontext() is Boost.Context's. Never on the way
 * of a traced call.
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
 * syscall(): core/sandbox.c must see three numbers, and those that change a thread's credentials,
 * which are between setuid's and capset's. All others go on to libc's function at once, unchanged:
 * it is on hot paths, and may return twice.
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
	lea	-SYS_setuid(%rdi), %r11
	cmp	$(SYS_capset - SYS_setuid), %r11
	jbe	sandbox_syscall
	jmp	*sandbox_real_syscall(%rip)
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
