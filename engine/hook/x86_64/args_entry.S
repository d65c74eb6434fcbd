/* SPDX-License-Identifier: MIT */
/*
 * Entry points of patched functions whose arguments are recorded (func-args): as in entry.S and
 * mcount_entry.S, with a RECORD_FUNCTION_ARGS. Behind a prologue of -pg the registers still have
 * what the caller passed, since mcount keeps them all. Costs: bench "arguments". Tests:
 * tests/engine/args.
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
	RECORD_AND_LEAVE \name, 64, \caller, \clock, \cpu, RESTORE_ALL, \next
	.endm

	.macro ALL way, clock, cpu
	ARGS_ENTRY hook_function_args_\way, \clock, \cpu, ABOVE
	ARGS_ENTRY hook_mcount_args_\way, \clock, \cpu, FRAME
	ARGS_ENTRY hook_passed_on_fentry_args_\way, \clock, \cpu, ABOVE, hook_real_fentry
	ARGS_ENTRY hook_passed_on_mcount_args_\way, \clock, \cpu, FRAME, hook_real_mcount
	.endm

	EACH_WAY ALL

	.section .note.GNU-stack, "", @progbits
