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
 * and in the clock (tsc, mono, none); the slots and islands say which one a site calls.
 */
#include "entry.inc"

	.text

#define CALLER	 48(%rsp)		/* after SAVE */

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
	.ifc \cpu, rseq
	RSEQ_RECORD \name, 16, CALLER, \clock, .L\name\()_slow
	.else
	LOAD_CTL %rcx
	XADD_RECORD 16, CALLER, \clock, \cpu, .L\name\()_slow, .L\name\()_out
	.endif
.L\name\()_out:
	.cfi_remember_state
	RESTORE
	ret
	.cfi_restore_state
	.ifc \cpu, rseq
	RSEQ_ABORT \name, 16, CALLER, \clock, .L\name\()_slow, .L\name\()_out
	.endif
.L\name\()_slow:
	NEW_PAGE \name, 16, \cpu, .L\name\()_again, .L\name\()_out
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro ALL way, clock, cpu
	FUNCTION_ENTRY hook_function_\way, \clock, \cpu
	.endm

	EACH_WAY ALL

	.section .note.GNU-stack, "", @progbits
