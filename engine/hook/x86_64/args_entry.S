/* SPDX-License-Identifier: MIT */
/*
 * Where patched functions arrive while their arguments are recorded (func-args): as in entry.S and
 * mcount_entry.S, with a RECORD_FUNCTION_ARGS. Behind a prologue of -pg the registers still hold what
 * the caller passed, as mcount keeps them all. Costs: bench "arguments". Tests: tests/engine/args.
 */
#include "entry.inc"

#define WORD_ARGS  0xb000000000000000	/* from RECORD_FUNCTION to RECORD_FUNCTION_ARGS */

	.text

#define END	48(%rsp)		/* after SAVE_ALL: the site's end */
#define ABOVE	56(%rsp)
#define FRAME	8(%rbp)

	.macro ARGS_ENTRY name, clock, cpu, caller, next
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	endbr64
	SAVE_ALL
	mov	END, %rsi
	movslq	-4(%rsi), %rdi
	mov	SLOT_WORD(%rsi,%rdi), %rdi
	movabs	$WORD_ARGS, %rax
	add	%rax, %rdi
.L\name\()_again:
	.ifc \cpu, rseq
	RSEQ_RECORD \name, 64, \caller, \clock, .L\name\()_slow
	.else
	LOAD_CTL %rcx
	XADD_RECORD 64, \caller, \clock, \cpu, .L\name\()_slow, .L\name\()_out
	.endif
.L\name\()_out:
	.cfi_remember_state
	RESTORE_ALL
	.ifb \next
	ret
	.else
	jmp	*\next(%rip)
	.endif
	.cfi_restore_state
	.ifc \cpu, rseq
	RSEQ_ABORT \name, 64, \caller, \clock, .L\name\()_slow, .L\name\()_out
	.endif
.L\name\()_slow:
	NEW_PAGE \name, 64, \cpu, .L\name\()_again, .L\name\()_out
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro ALL way, clock, cpu
	ARGS_ENTRY hook_function_args_\way, \clock, \cpu, ABOVE
	ARGS_ENTRY hook_mcount_args_\way, \clock, \cpu, FRAME
	ARGS_ENTRY hook_kept_fentry_args_\way, \clock, \cpu, ABOVE, hook_real_fentry
	ARGS_ENTRY hook_kept_mcount_args_\way, \clock, \cpu, FRAME, hook_real_mcount
	.endm

	EACH_WAY ALL

	.section .note.GNU-stack, "", @progbits
