/* SPDX-License-Identifier: MIT */
/*
 * Entry point of the islands of probes (text_island.c), called below the red zone. All general
 * registers and the flags are saved in a struct text_frame; nothing else changes, as the engine is
 * built without vector registers. Costs: bench "events". Tests: tests/engine/events/inner.
 */
#include "frame.inc"
#include "offsets.h"

	.text
	.globl	hook_text
	.hidden	hook_text
	.type	hook_text, @function
	.balign	64
hook_text:
	.cfi_startproc
	endbr64
	SAVE_FRAME
	pushfq
	.cfi_adjust_cfa_offset 8
	mov	%rsp, %rbx
	.cfi_def_cfa_register rbx
	and	$-16, %rsp
	cld
	mov	%rbx, %rdi
	mov	TEXT_FRAME_BACK(%rbx), %rsi
	mov	TEXT_PLACE-TEXT_BACK(%rsi), %rsi
	call	text_probe_hit
	mov	%rbx, %rsp
	.cfi_def_cfa_register rsp
	popfq
	.cfi_adjust_cfa_offset -8
	RESTORE_FRAME
	ret
	.cfi_endproc
	.size	hook_text, . - hook_text

	.section .note.GNU-stack, "", @progbits
