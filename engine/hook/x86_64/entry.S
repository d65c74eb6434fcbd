/* SPDX-License-Identifier: MIT */
/*
 * Entry points of patched functions: make one record, and return into the function.
 *
 * The site is `call *slot(%rip)` (6 bytes), or `call island` with an island `jmp *...` (5 bytes).
 * In both cases the site's 32-bit displacement, just before the return address, leads to 16 bytes
 * whose second half is the record's head word without its stamp. So the hook finds the function
 * from the return address alone, and ends in a ret that matches the call: no indirect branch has to
 * be predicted, however many functions are called in turn.
 *
 *	(%rsp)   the site's end, inside the traced function
 *	8(%rsp)  the return address of the traced function: the record's payload
 *
 * Every register is kept (with gcc's -fipa-ra a caller may keep values in registers that a visible
 * callee does not touch); flags are not. No vector or x87 register is read or written. No word
 * above 8(%rsp), and none in the red zone below the hook's own frame, is touched.
 *
 * A record costs about one rdtsc (bench: "function tracer"): the other instructions run while it
 * waits. Variants differ in the way of reserving (rseq; xadd, which gets the CPU by rdpid or lsl)
 * and in the clock (tsc, mono, none). The slots and islands decide which one a site calls.
 */
#include "entry.inc"

	.text

#define CALLER	 48(%rsp)		/* after SAVE */

	.macro FUNCTION_BEGIN name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	endbr64
	.endm

	.macro FUNCTION_END name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro FUNCTION_XADD name, clock, cpu
	FUNCTION_BEGIN \name
	SAVE
	HEAD_WORD
.L\name\()_again:
	LOAD_CTL %rcx
	XADD_RECORD 16, CALLER, \clock, \cpu, .L\name\()_slow, .L\name\()_out
.L\name\()_out:
	.cfi_remember_state
	RESTORE
	ret
	.cfi_restore_state
.L\name\()_slow:
	NEW_PAGE \name, 16, \cpu, .L\name\()_again, .L\name\()_out
	FUNCTION_END \name
	.endm

	/*
	 * By rseq: as RSEQ_RECORD, but the head word is looked up after the stamp, and rdi is saved
	 * only if a record is made by xadd.
	 */
	.macro FUNCTION_RSEQ name, clock
	FUNCTION_BEGIN \name
	SAVE_FOUR
.L\name\()_rseq:
	mov	ring_rseq_offset(%rip), %rcx
	LOAD_CTL %rsi
	lea	.L\name\()_cs(%rip), %rax
	mov	%rax, %fs:RSEQ_CS(%rcx)
.L\name\()_start:
	mov	%fs:RSEQ_CPU_ID(%rcx), %ecx
	xor	$CPU_KEY, %ecx
	STAMP_ON_CPU \clock, .L\name\()_slow
	STAMP_IN_PAGE \clock, .L\name\()_slow
	mov	32(%rsp), %rcx		/* the site's end */
	movslq	-4(%rcx), %rdx
	add	SLOT_WORD(%rcx,%rdx), %rax
	mov	40(%rsp), %rdx		/* the caller */
	mov	HEAD_COMMIT(%rsi), %rcx
	cmp	$PAGE_END - 16, %rcx
	ja	.L\name\()_slow
	mov	%rdx, 8(%rsi,%rcx)
	mov	%rax, (%rsi,%rcx)
	add	$16, %rcx
	mov	%rcx, HEAD_COMMIT(%rsi)
.L\name\()_end:
.L\name\()_out:
	.cfi_remember_state
	RESTORE_FOUR
	ret
	.cfi_restore_state
.L\name\()_slow:
	NEW_PAGE \name, 16, rseq, .L\name\()_rseq, .L\name\()_out
	RSEQ_ABORTED \name
	push	%rdi
	.cfi_adjust_cfa_offset 8
	HEAD_WORD
	LOAD_CTL %rcx
	XADD_RECORD 16, CALLER, \clock, lsl, .L\name\()_full, .L\name\()_written
	RSEQ_SEQUENCE \name
.L\name\()_written:
	.cfi_remember_state
	RESTORE
	ret
	.cfi_restore_state
.L\name\()_full:
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	.L\name\()_slow
	FUNCTION_END \name
	.endm

	.macro ALL way, clock, cpu
	.ifc \cpu, rseq
	FUNCTION_RSEQ hook_function_\way, \clock
	.else
	FUNCTION_XADD hook_function_\way, \clock, \cpu
	.endif
	.endm

	EACH_WAY ALL

	.section .note.GNU-stack, "", @progbits
