/* SPDX-License-Identifier: MIT */
/*
 * The functions that code of -finstrument-functions calls: __cyg_profile_func_enter(function,
 * caller) and __cyg_profile_func_exit. They are ordinary functions, so they may use the registers
 * that a call may clobber. While off, they are a load, a test and a ret.
 *
 * While on, they look up the function's record word by its address (cyg.c); 0: the filters leave it
 * out. Then they make one record, in the same ways as a site (entry.S).
 * Costs: bench "hooks". Tests: tests/engine/targets (cyg-*).
 */
#include "entry.inc"

	.text

	/* weak, so that a program that is linked with the engine may define its own */
	.macro EXPORTED name, on
	.weak	\name
	.type	\name, @function
	.balign	32
\name:
	.cfi_startproc
	endbr64
	mov	\on(%rip), %rax
	test	%rax, %rax
	jne	1f
	ret
1:	jmp	*%rax
	.cfi_endproc
	.size	\name, . - \name
	.endm

	EXPORTED __cyg_profile_func_enter, hook_cyg_on_enter
	.globl	hook_cyg_ours
	.hidden	hook_cyg_ours
	.set	hook_cyg_ours, __cyg_profile_func_enter
	EXPORTED __cyg_profile_func_exit, hook_cyg_on_exit

	/*
	 * rdi = the record's head word of function rdi, r8 = rsi; jumps to @miss if there is none
	 */
	.macro LOOK_UP miss
	mov	%rsi, %r8
	mov	hook_cyg_table(%rip), %rdx
	movabs	$CYG_HASH, %rax
	imul	%rdi, %rax
	shr	$32, %rax
	mov	CYG_TABLE_MASK(%rdx), %rcx
	add	$CYG_TABLE_ROWS, %rdx
71:	and	%rcx, %rax
	cmp	%rdi, (%rdx,%rax)
	je	72f
	cmpq	$0, (%rdx,%rax)
	je	\miss
	add	$CYG_ROW_BYTES, %rax
	jmp	71b
72:	mov	CYG_ROW_WORD(%rdx,%rax), %rdi
	test	%rdi, %rdi
	jz	\miss
	.endm

	.macro CYG_ENTRY name, clock, cpu, bytes, change=0
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	endbr64
	LOOK_UP	.L\name\()_out
	.if \change
	movabs	$(\change) << 60, %rax
	xor	%rax, %rdi
	.endif
.L\name\()_again:
	.ifc \cpu, rseq
	RSEQ_RECORD \name, \bytes, %r8, \clock, .L\name\()_slow
	.else
	LOAD_CTL %rcx
	XADD_RECORD \bytes, %r8, \clock, \cpu, .L\name\()_slow, .L\name\()_out
	.endif
.L\name\()_out:
	ret
	.ifc \cpu, rseq
	RSEQ_ABORT \name, \bytes, %r8, \clock, .L\name\()_slow, .L\name\()_out
	.endif
.L\name\()_slow:
	NEW_PAGE \name, \bytes, \cpu, .L\name\()_again, .L\name\()_out
	.cfi_endproc
	.size	\name, . - \name
	.endm

	/* the words have kind RECORD_FUNCTION, 1 */
	.macro ALL way, clock, cpu
	CYG_ENTRY hook_cyg_function_\way, \clock, \cpu, 16
	CYG_ENTRY hook_cyg_entry_\way, \clock, \cpu, 8, 1 ^ 2	/* RECORD_ENTRY */
	CYG_ENTRY hook_cyg_exit_\way, \clock, \cpu, 8, 1 ^ 4	/* RECORD_EXIT */
	.endm

	EACH_WAY ALL

	/*
	 * One of the program's libraries has functions of these names too, which the engine's hide:
	 * call the engine's, if there is anything to record, and then that library's.
	 */
	.macro CHAINED name, ours, theirs
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	32
\name:
	.cfi_startproc
	endbr64
	mov	\ours(%rip), %rax
	test	%rax, %rax
	jz	1f
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	*%rax
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
1:	jmp	*\theirs(%rip)
	.cfi_endproc
	.size	\name, . - \name
	.endm

	CHAINED hook_cyg_chained_enter, hook_cyg_enter, hook_cyg_next_enter
	CHAINED hook_cyg_chained_exit, hook_cyg_exit, hook_cyg_next_exit

	.section .note.GNU-stack, "", @progbits
