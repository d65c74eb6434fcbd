/* SPDX-License-Identifier: MIT */
/*
 * Where the islands of probes call (text_island.c), below the red zone: all general registers and
 * the flags are saved as struct text_frame has them, and nothing else is touched, as the engine is
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
