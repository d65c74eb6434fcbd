/* SPDX-License-Identifier: MIT */
/*
 * Entry point of libc's system calls: a site jumps to its island, and the island jumps here with
 * its address in rcx. A system call changes only rax, rcx and r11, and compiled code does not use
 * the flags after it. All other registers, and the red zone, are kept.
 *
 * The call is made here, in a frame below the red zone. For unwinders the site has called this
 * frame: its return address is the site's end. So a signal that interrupts a blocked call finds the
 * way up (pthread_cancel), and the kernel may restart the call at the instruction before. Calls
 * that return on another stack, or twice on the same one, are made by the island itself, with the
 * original stack pointer: hook_syscall_enter() returns the offset in the island.
 *
 * Costs: bench "syscalls". Tests: tests/engine/events/syscalls.
 */
#include "syscall_entry.h"

	/*
	 * Return to the address that the island in @reg has: DW_CFA_val_expression, *(reg +
	 * ISLAND_BACK).
	 */
	.macro	back_by breg
	.cfi_escape 0x16, 16, 3, \breg, ISLAND_BACK, 0x06
	.endm
	.set	BREG_RCX, 0x72
	.set	BREG_R11, 0x7b

	.macro	call_c function
	mov	%rsp, %rbx
	.cfi_def_cfa_register rbx
	and	$-16, %rsp
	cld
	mov	%rbx, %rdi
	call	\function
	mov	%rbx, %rsp
	.cfi_def_cfa_register rsp
	.endm

	.macro	save_args
	mov	%rdi, FRAME_ARGS(%rsp)
	mov	%rsi, FRAME_ARGS+8(%rsp)
	mov	%rdx, FRAME_ARGS+16(%rsp)
	mov	%r10, FRAME_ARGS+24(%rsp)
	mov	%r8, FRAME_ARGS+32(%rsp)
	mov	%r9, FRAME_ARGS+40(%rsp)
	mov	%rbx, FRAME_RBX(%rsp)
	.cfi_rel_offset rbx, FRAME_RBX
	.endm

	.macro	restore_args from
	mov	\from(%rsp), %rdi
	mov	\from+8(%rsp), %rsi
	mov	\from+16(%rsp), %rdx
	mov	\from+24(%rsp), %r10
	mov	\from+32(%rsp), %r8
	mov	\from+40(%rsp), %r9
	mov	FRAME_RBX(%rsp), %rbx
	.cfi_restore rbx
	.endm

	.text
	.globl	hook_syscall
	.hidden	hook_syscall
	.type	hook_syscall, @function
	.balign	64
hook_syscall:
	.cfi_startproc
	.cfi_def_cfa rsp, 0
	back_by	BREG_RCX
	endbr64
	lea	-FRAME_BYTES-RED_ZONE(%rsp), %rsp
	.cfi_def_cfa_offset FRAME_BYTES+RED_ZONE
	mov	%rcx, FRAME_ISLAND(%rsp)
	mov	ISLAND_BACK(%rcx), %r11
	mov	%r11, FRAME_BACK(%rsp)
	.cfi_rel_offset rip, FRAME_BACK
	mov	%rax, FRAME_NR(%rsp)
	save_args
	call_c	hook_syscall_enter
	mov	%rax, %r11
	restore_args FRAME_USED
	mov	FRAME_NR(%rsp), %rax
	test	%r11, %r11
	jnz	2f
	syscall
	.cfi_remember_state
	mov	%rbx, FRAME_RBX(%rsp)
	.cfi_rel_offset rbx, FRAME_RBX
1:	mov	%rax, FRAME_RET(%rsp)
	call_c	hook_syscall_exit
	restore_args FRAME_ARGS
	mov	FRAME_RET(%rsp), %rax
	mov	FRAME_BACK(%rsp), %r11
	lea	FRAME_BYTES+RED_ZONE(%rsp), %rsp
	.cfi_def_cfa_offset 0
	.cfi_register rip, r11
	jmp	*%r11

	/* by the island's tail */
	.cfi_restore_state
2:	mov	FRAME_ISLAND(%rsp), %rcx
	lea	FRAME_BYTES+RED_ZONE(%rsp), %rsp
	.cfi_def_cfa_offset 0
	back_by	BREG_RCX
	add	%rcx, %r11
	jmp	*%r11
	.cfi_endproc
	.size	hook_syscall, . - hook_syscall

/* After a tail's call, in the parent: its number is in rcx, the island in r11. */
	.globl	hook_syscall_tail
	.hidden	hook_syscall_tail
	.type	hook_syscall_tail, @function
	.balign	64
hook_syscall_tail:
	.cfi_startproc
	.cfi_def_cfa rsp, 0
	back_by	BREG_R11
	endbr64
	lea	-FRAME_BYTES-RED_ZONE(%rsp), %rsp
	.cfi_def_cfa_offset FRAME_BYTES+RED_ZONE
	mov	%rcx, FRAME_NR(%rsp)
	mov	ISLAND_BACK(%r11), %r11
	mov	%r11, FRAME_BACK(%rsp)
	.cfi_rel_offset rip, FRAME_BACK
	movq	$0, FRAME_CHANGER(%rsp)
	save_args
	jmp	1b
	.cfi_endproc
	.size	hook_syscall_tail, . - hook_syscall_tail

	.section .note.GNU-stack, "", @progbits
