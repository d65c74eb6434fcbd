/* SPDX-License-Identifier: MIT */
/*
 * Entry points of the calls of __fentry__ and mcount that entry.S does not serve. The slot is found
 * as there, from the displacement before the return address. The differences are where the caller's
 * address is, and what follows the record:
 *
 *	mcount       behind the prologue, which has a frame with -pg: 8(%rbp)
 *	passed_on_*  continues, as if called, in libc's function or the program's own (callee.h)
 *
 * The registers are kept as in entry.S; the program's own function does with them what it would do
 * without the engine.
 * Costs: bench "hooks". Tests: tests/engine/targets (mcount-*).
 */
#include "entry.inc"

	.text

#define ABOVE	 48(%rsp)		/* after SAVE */
#define FRAME	 8(%rbp)

	.macro CALLED_ENTRY name, clock, cpu, caller, next
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	endbr64
	SAVE
	HEAD_WORD
	RECORD_AND_LEAVE \name, 16, \caller, \clock, \cpu, RESTORE, \next
	.endm

	.macro ALL way, clock, cpu
	CALLED_ENTRY hook_mcount_\way, \clock, \cpu, FRAME
	CALLED_ENTRY hook_passed_on_fentry_\way, \clock, \cpu, ABOVE, hook_real_fentry
	CALLED_ENTRY hook_passed_on_mcount_\way, \clock, \cpu, FRAME, hook_real_mcount
	.endm

	EACH_WAY ALL

	.section .note.GNU-stack, "", @progbits
