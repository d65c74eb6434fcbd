/* SPDX-License-Identifier: MIT */
/*
 * Where a patched function arrives: one record, and back into the function.
 *
 * The site is `call *slot(%rip)` (6 bytes), or `call island` with an island `jmp *...` (5 bytes).
 * Either way the site's 32-bit displacement, which lies just before the return address, leads to
 * 16 bytes whose second half is the record's head word without its stamp. So the hook learns the
 * function from the return address alone, and ends in a ret that matches the call: no indirect
 * branch of ours has to be predicted, however many functions rotate.
 *
 *	(%rsp)   the site's end, inside the traced function
 *	8(%rsp)  the return address of the traced function: the record's payload
 *
 * Every register survives (gcc's -fipa-ra lets a caller keep live what the callee it sees does not
 * touch), flags do not. No vector or x87 register is read or written. No word above 8(%rsp) and
 * none in the red zone below the hook's own frame is touched.
 *
 * A record costs about one rdtsc (bench: "function tracer"): what stands around it runs in its
 * shadow. Variants differ in how they reserve (rseq; xadd, which asks for the CPU by rdpid or lsl)
 * and in the clock (tsc, mono); the slots and islands say which one a site calls.
 */
#include "offsets.h"

	.text

	.macro SAVE
	push	%rax
	.cfi_adjust_cfa_offset 8
	push	%rdx
	.cfi_adjust_cfa_offset 8
	push	%rcx
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	push	%rdi
	.cfi_adjust_cfa_offset 8
	.endm

	.macro RESTORE
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rcx
	.cfi_adjust_cfa_offset -8
	pop	%rdx
	.cfi_adjust_cfa_offset -8
	pop	%rax
	.cfi_adjust_cfa_offset -8
	.endm

#define SITE_END 40(%rsp)	/* after SAVE */
#define CALLER	 48(%rsp)

	/* Call a C function with an aligned stack, all registers but rax kept. */
	.macro CALL_C function
	.irp	r, rdx, rcx, rsi, rdi, r8, r9, r10, r11, rbp
	push	%\r
	.cfi_adjust_cfa_offset 8
	.endr
	.cfi_rel_offset rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	and	$-16, %rsp
	cld
	call	\function
	mov	%rbp, %rsp
	.cfi_def_cfa_register rsp
	.irp	r, rbp, r11, r10, r9, r8, rdi, rsi, rcx, rdx
	pop	%\r
	.cfi_adjust_cfa_offset -8
	.endr
	.cfi_restore rbp
	.endm

	/* rdi = the record's head word, stamp 0 */
	.macro HEAD_WORD
	mov	SITE_END, %rsi
	movslq	-4(%rsi), %rdi
	mov	SLOT_WORD(%rsi,%rdi), %rdi
	.endm

	.macro LOAD_CTL to
	mov	ring_ctl@gottpoff(%rip), \to
	mov	%fs:(\to), \to
	.endm

	/*
	 * A writer ends; rcx = ctl, eax is free. Nobody from here on is above it: the current page's
	 * level falls first, so that a handler in between is only too careful.
	 */
	.macro END_WRITER
	mov	CTL_NEST(%rcx), %eax
	dec	%eax
	cmp	%eax, CTL_PAGE_NEST(%rcx)
	jbe	77f
	mov	%eax, CTL_PAGE_NEST(%rcx)
77:	decl	CTL_NEST(%rcx)
	.endm

	/*
	 * xadd: rcx = ctl on the way in. Reserve first, then stamp against the base of the page in
	 * which the slot lies. Until the head word is stored the slot says UNCOMMITTED, so that a
	 * reader of a killed process can step over it.
	 */
	.macro XADD_RECORD clock, cpu, slow, out
	.ifc \cpu, rdpid
	rdpid	%rax
	.else
	mov	$0x7b, %eax
	lsl	%eax, %eax
	.endif
	and	$0xfff, %eax
	xor	$CPU_KEY, %eax
	cmp	%eax, CTL_CPU_KEY(%rcx)
	jne	\slow
	incl	CTL_NEST(%rcx)
	mov	CTL_PAGE(%rcx), %rsi
	mov	$16, %edx
	xadd	%rdx, HEAD_COMMIT(%rsi)
	cmp	$PAGE_END - 16, %rdx
	ja	9f
	lea	(%rsi,%rdx), %rcx
	movabs	$0xf000001000000000, %rax
	mov	%rax, (%rcx)
	.ifc \clock, tsc
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	.else
	CALL_C	ring_clock_mono
	.endif
	sub	HEAD_BASE_STAMP(%rsi), %rax
	mov	%rax, %rdx
	shr	$32, %rdx
	jnz	8f
	add	%rdi, %rax
	mov	CALLER, %rdx
	mov	%rdx, 8(%rcx)
	mov	%rax, (%rcx)
	LOAD_CTL %rcx
	END_WRITER
	jmp	\out
8:	LOAD_CTL %rcx			/* the slot stays uncommitted, the page is too old */
9:	END_WRITER
	jmp	\slow
	.endm

	.macro FUNCTION_ENTRY name, clock, cpu
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	endbr64
	SAVE
	HEAD_WORD
.L\name\()_again:
	LOAD_CTL %rcx
	.ifc \cpu, rseq
	mov	ring_rseq_offset(%rip), %rdx
	lea	.L\name\()_cs(%rip), %rax
	mov	%rax, %fs:RSEQ_CS(%rdx)
.L\name\()_start:
	mov	%fs:RSEQ_CPU_ID(%rdx), %eax
	xor	$CPU_KEY, %eax
	cmp	%eax, CTL_CPU_KEY(%rcx)
	jne	.L\name\()_slow
	mov	CTL_PAGE(%rcx), %rsi
	mov	HEAD_COMMIT(%rsi), %rcx
	cmp	$PAGE_END - 16, %rcx
	ja	.L\name\()_slow
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	sub	HEAD_BASE_STAMP(%rsi), %rax
	mov	%rax, %rdx
	shr	$32, %rdx
	jnz	.L\name\()_slow
	add	%rdi, %rax
	mov	CALLER, %rdx
	mov	%rdx, 8(%rsi,%rcx)
	mov	%rax, (%rsi,%rcx)
	add	$16, %rcx
	mov	%rcx, HEAD_COMMIT(%rsi)
.L\name\()_end:
	.else
	XADD_RECORD \clock, \cpu, .L\name\()_slow, .L\name\()_out
	.endif
.L\name\()_out:
	.cfi_remember_state
	RESTORE
	ret
	.cfi_restore_state

	.ifc \cpu, rseq
	.byte	0x0f, 0xb9, 0x3d	/* ud1, with the signature that rseq wants before the handler */
	.long	RSEQ_SIG
.L\name\()_abort:
	LOAD_CTL %rcx
	incl	CTL_ABORTS(%rcx)
	testl	$63, CTL_ABORTS(%rcx)
	jnz	.L\name\()_again
.L\name\()_xadd:
	LOAD_CTL %rcx
	XADD_RECORD tsc, lsl, .L\name\()_slow, .L\name\()_out
	.endif

.L\name\()_slow:
	push	%rdi
	.cfi_adjust_cfa_offset 8
	mov	$16, %edi
	CALL_C	ring_new_page
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	cmp	$VERDICT_RETRY, %eax
	je	.L\name\()_again
	.ifc \cpu, rseq
	ja	.L\name\()_xadd
	.endif
	jmp	.L\name\()_out
	.cfi_endproc
	.size	\name, . - \name

	.ifc \cpu, rseq
	.pushsection .data.rel.ro, "aw"
	.balign	32
.L\name\()_cs:
	.long	0, 0
	.quad	.L\name\()_start
	.quad	.L\name\()_end - .L\name\()_start
	.quad	.L\name\()_abort
	.popsection
	.endif
	.endm

	FUNCTION_ENTRY hook_function_rseq, tsc, rseq
	FUNCTION_ENTRY hook_function_xadd_rdpid, tsc, rdpid
	FUNCTION_ENTRY hook_function_xadd_lsl, tsc, lsl
	FUNCTION_ENTRY hook_function_mono, mono, lsl

	.section .note.GNU-stack, "", @progbits
