/* SPDX-License-Identifier: MIT */
/*
 * Wrapped calls: the stubs, and the code by which they are entered and left. graph.h says how it
 * works. Here S is the address of the slot with the call's return address, and R is that return
 * address.
 *
 * A stub calls graph_enter: (%rsp) is stub + 5, 8(%rsp) is S. A stub jumps to graph_exit with S =
 * (%rsp), which still holds stub + 5. Every register is kept, and nothing else, as in entry.S.
 *
 * A handler may run at any instruction, and all that it does is balanced. So an entry is recorded
 * first, then S is filled in, then `open` moves; an exit is recorded first, then `open` moves back,
 * then S is restored. At each moment a reader finds a chain in which each link holds a stub's
 * address. Unwind rules are right at each instruction: once S holds the stub's address, the return
 * address is in the shadow; before, it is in S.
 *
 * r8 is the row of the call's stack (graph_stack.h) from the first check to the last store. Whether
 * the thread's records belong to that stack is checked again where the record is made, inside the
 * restartable sequence. If they do not, but the thread ran there lately, a RECORD_STACK with the
 * same stamp is written before the record.
 *
 * Variants: how a record is reserved and stamped, as in entry.S. `filtered` variants handle
 * set_graph_function, set_graph_notrace, max_graph_depth and tracing_thresh, and the options
 * funcgraph-args and funcgraph-retval. `multi` variants, filtered too, leave the records to C,
 * which writes them for each instance that wants the function (graph_calls.c); their calls are
 * silent, so that any exit variant that is current finds them. graph_enter and graph_exit jump to
 * the current variant through one pointer each, so the branch is always predicted. The pieces are
 * in graph.inc.
 */
#include "entry.inc"
#include "graph.inc"

	/* @fast: 1: ENTER_FAST comes before the steps; the first record is made by xadd. */
	.macro GRAPH_ENTER name, clock, cpu, filtered, fast=0
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	.cfi_def_cfa rsp, 16		/* the stub's frame is passed over */
	SAVE_ALL
.L\name\()_again:
	.if \fast
	ENTER_FAST \name, \clock
	.endif
.L\name\()_step:
	mov	graph_tls@gottpoff(%rip), %rsi
	lea	graph_stubs(%rip), %rdi
	mov	%fs:GT_CURRENT(%rsi), %r8
	lea	SLOT, %rcx
	mov	SLOT, %rax
	sub	%rdi, %rax
	cmp	$STUBS_BYTES, %rax
	jb	.L\name\()_tail
	ON_STACK .L\name\()_stack
	/* calls may have been unwound, and only this shows it */
	cmp	ST_TOP(%r8), %rdx
	je	1f
	OPEN_IS_STUB .L\name\()_stack
1:
	.if \filtered
	FILTER \name
	.endif
	ENTRY_WORD STUB
	.ifc \cpu, multi
	lea	SLOT, %rsi
	mov	%r8, %rdx
	push	%r9			/* and SAVE_ALL above it: struct arch_args */
	.cfi_adjust_cfa_offset 8
	mov	%rsp, %rcx
	CALL_C	graph_enter_all
	pop	%r9
	.cfi_adjust_cfa_offset -8
	test	%eax, %eax
	jz	.L\name\()_unwrapped
	.cfi_remember_state
	lea	SLOT, %rcx
	FILTER_COUNT
	WRAP 2
	GO_TO_BODY
	.cfi_restore_state
	.else
	.if \filtered
	cmpl	$0, graph_args(%rip)
	jne	.L\name\()_args
	.endif
.L\name\()_record:
	.if \fast
	RECORD_8 \name, \clock, lsl, .L\name\()_page, .L\name\()_wrap, .L\name\()_elsewhere
	.else
	RECORD_8 \name, \clock, \cpu, .L\name\()_page, .L\name\()_wrap, .L\name\()_elsewhere
	.endif
	.cfi_remember_state
	.if \filtered
	lea	SLOT, %rcx
	FILTER_COUNT
	.endif
	WRAP 0
	GO_TO_BODY
	.cfi_restore_state
	.if !\fast
	RECORD_8_REST \name, \clock, \cpu, .L\name\()_page, .L\name\()_wrap, .L\name\()_elsewhere
	.endif

.L\name\()_page:
	NEW_PAGE \name, 8, \cpu, .L\name\()_noted, .L\name\()_unwrapped
.L\name\()_noted:
	.if \fast
	NOTE_STACK .L\name\()_again
	.else
	NOTE_STACK .L\name\()_record
	.endif
	.endif

	/* The thread comes back to a stack: check the same as above, and a little more. */
.L\name\()_elsewhere:
	mov	graph_tls@gottpoff(%rip), %rsi
	lea	graph_stubs(%rip), %rdi
	lea	SLOT, %rcx
.L\name\()_stack:
	.ifc \cpu, rseq
	RECENT_STACK .L\name\()_slow
	ON_STACK .L\name\()_slow
	cmp	ST_TOP(%r8), %rdx
	je	1f
	mov	%rdx, %rax
	xor	%rcx, %rax
	cmp	$4096, %rax		/* it may be read */
	jae	.L\name\()_slow
	OPEN_IS_STUB .L\name\()_slow
	SHADOW_OF %rdx, %rax, %rdx
	mov	SHADOW_RETURN(%rax), %rax
	cmp	%rax, SLOT		/* the coroutine may have begun anew */
	je	.L\name\()_slow
1:
	.if \filtered
	SWITCH_RECORD \name\()_switch, 0, \clock
	jmp	.L\name\()_again
	.else
	ENTRY_WORD STUB
	SWITCH_RECORD \name\()_switch, 1, \clock
	jmp	.L\name\()_wrap
	.endif
	SWITCH_REST \name\()_switch, .L\name\()_slow
	.endif
.L\name\()_slow:
	lea	SLOT, %rdi
	mov	$STEP_ENTER, %esi
	mov	%rbp, %rdx
	mov	STUB, %rcx
	CALL_C	graph_stack_slow
	test	%eax, %eax
	jnz	.L\name\()_again
.L\name\()_unwrapped:
	.cfi_remember_state
	RESTORE_ALL
	addq	$11, (%rsp)		/* stub + 16 */
	ret
	.cfi_restore_state

	/*
	 * The caller was replaced by a tail call: its return address is a stub's, which serves only
	 * one return.
	 */
.L\name\()_tail:
	cmp	ST_OPEN(%r8), %rcx
	jne	.L\name\()_tail_stack
	.if \filtered
	TAIL_FILTER \name
	mov	graph_max_depth(%rip), %edx
	dec	%edx				/* 0: no limit */
	cmp	%edx, ST_DEPTH(%r8)
	ja	.L\name\()_unwrapped
	.endif
	ENTRY_WORD STUB
	.ifc \cpu, multi
	lea	SLOT, %rsi
	mov	%r8, %rdx
	push	%r9			/* as above */
	.cfi_adjust_cfa_offset 8
	mov	%rsp, %rcx
	CALL_C	graph_tail_all
	pop	%r9
	.cfi_adjust_cfa_offset -8
	jmp	.L\name\()_unwrapped
	.else
	movabs	$WORD_TAIL, %rax
	add	%rax, %rdi
.L\name\()_tail_record:
	RECORD_8 \name\()_tail, \clock, \cpu, .L\name\()_tail_page, .L\name\()_tail_done, .L\name\()_tail_stack
	TAIL_COUNT \filtered, .L\name\()_unwrapped
	jmp	.L\name\()_unwrapped
	RECORD_8_REST \name\()_tail, \clock, \cpu, .L\name\()_tail_page, .L\name\()_tail_done, .L\name\()_tail_stack
.L\name\()_tail_page:
	NEW_PAGE \name\()_tail, 8, \cpu, .L\name\()_tail_noted, .L\name\()_unwrapped
.L\name\()_tail_noted:
	NOTE_STACK .L\name\()_tail_record
	.endif
	/*
	 * on another stack than the last record, or calls above it were unwound: as before a return
	 */
.L\name\()_tail_stack:
	lea	SLOT, %rdi
	mov	$STEP_EXIT, %esi
	mov	%rbp, %rdx
	mov	STUB, %rcx
	CALL_C	graph_stack_slow
	test	%eax, %eax
	jnz	.L\name\()_again
	jmp	.L\name\()_unwrapped

	.if \filtered
	.ifnc \cpu, multi
.L\name\()_args:
	movabs	$WORD_ARGS, %rax
	add	%rax, %rdi
	RECORD_MORE \name\()_args, 56, , \clock, \cpu, .L\name\()_wrap, .L\name\()_unwrapped, .L\name\()_elsewhere
	.endif
	/* open calls began under other filters, and were counted or not by those */
.L\name\()_count:
	mov	%r8, %rdi
	CALL_C	graph_stack_count
	jmp	.L\name\()_step
.L\name\()_tail_hide:
	mov	%rcx, ST_HIDDEN(%r8)
	jmp	.L\name\()_unwrapped
.L\name\()_hide:
	mov	%rcx, ST_HIDDEN(%r8)
	.cfi_remember_state
	WRAP 1
	GO_TO_BODY
	.cfi_restore_state
.L\name\()_thresh:
	.cfi_remember_state
	FILTER_COUNT
	SHADOW_OF %rcx, %rdi, %rax
	STAMP \clock
	mov	%rax, SHADOW_STAMP(%rdi)
	WRAP 1
	GO_TO_BODY
	.cfi_restore_state
	.endif
	.cfi_endproc
	.size	\name, . - \name
	.endm

	/* Restore R and jump to it. \sure: the call is the innermost open one of the stack r8. */
	.macro UNWRAP sure
	lea	EXIT_SLOT, %rcx
	SHADOW_OF %rcx, %rdx, %rax
	.if !\sure
	mov	graph_tls@gottpoff(%rip), %rsi
	mov	%fs:GT_CURRENT(%rsi), %r8
	cmp	ST_OPEN(%r8), %rcx
	jne	1f
	.endif
	mov	SHADOW_LINK(%rdx), %rax
	shl	$LINK_BITS, %rax
	shr	$LINK_BITS, %rax
	mov	%rax, ST_OPEN(%r8)
1:	mov	SHADOW_RETURN(%rdx), %rax
	mov	%rax, EXIT_SLOT
	.cfi_offset rip, -8
	RESTORE_ALL
	ret
	.endm

	/* @fast: as in GRAPH_ENTER. */
	.macro GRAPH_EXIT name, clock, cpu, filtered, fast=0
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	RETURN_IN_SHADOW
	SAVE_ALL
.L\name\()_again:
	.if \fast
	EXIT_FAST \name, \clock
	.endif
.L\name\()_step:
	mov	graph_tls@gottpoff(%rip), %rsi
	lea	EXIT_SLOT, %rcx
	mov	%fs:GT_CURRENT(%rsi), %r8
	cmp	ST_OPEN(%r8), %rcx
	jne	.L\name\()_stack
	SHADOW_OF %rcx, %rdx, %rax
	cmpq	$0, SHADOW_LINK(%rdx)
	js	.L\name\()_silent
	.ifnc \cpu, multi
	EXIT_WORD
	.if \filtered
	cmpl	$0, graph_retval(%rip)
	jne	.L\name\()_value
	.endif
.L\name\()_record:
	.if \fast
	RECORD_8 \name, \clock, lsl, .L\name\()_page, .L\name\()_done, .L\name\()_elsewhere
	.else
	RECORD_8 \name, \clock, \cpu, .L\name\()_page, .L\name\()_done, .L\name\()_elsewhere
	.endif
	.else
	incl	ST_SKIPPED(%r8)
	.endif
	.if \filtered
	FILTER_LEFT
	.endif
	.cfi_remember_state
	UNWRAP 1
	.cfi_restore_state
	.ifnc \cpu, multi
	.if !\fast
	RECORD_8_REST \name, \clock, \cpu, .L\name\()_page, .L\name\()_done, .L\name\()_elsewhere
	.endif

.L\name\()_page:
	NEW_PAGE \name, 8, \cpu, .L\name\()_noted, .L\name\()_skipped
.L\name\()_noted:
	.if \fast
	NOTE_STACK .L\name\()_again
	.else
	NOTE_STACK .L\name\()_record
	.endif
	/* no record: a later one on this stack must say so */
.L\name\()_skipped:
	lea	EXIT_SLOT, %rcx
	cmp	ST_OPEN(%r8), %rcx
	jne	.L\name\()_slow
	incl	ST_SKIPPED(%r8)
	jmp	.L\name\()_done
	.endif

	/* The thread comes back to a stack by this return. */
.L\name\()_elsewhere:
	mov	graph_tls@gottpoff(%rip), %rsi
	lea	EXIT_SLOT, %rcx
.L\name\()_stack:
	.ifc \cpu, rseq
	RECENT_STACK .L\name\()_slow
	cmp	ST_OPEN(%r8), %rcx
	jne	.L\name\()_slow
	SHADOW_OF %rcx, %rdx, %rax
	cmpq	$0, SHADOW_LINK(%rdx)
	js	.L\name\()_slow
	.if \filtered
	SWITCH_RECORD \name\()_switch, 0, \clock
	jmp	.L\name\()_again
	.else
	EXIT_WORD
	SWITCH_RECORD \name\()_switch, 1, \clock
	jmp	.L\name\()_done
	.endif
	SWITCH_REST \name\()_switch, .L\name\()_slow
	.endif
.L\name\()_slow:
	lea	EXIT_SLOT, %rdi
	mov	$STEP_EXIT, %esi
	mov	%rbp, %rdx
	xor	%ecx, %ecx
	CALL_C	graph_stack_slow
	test	%eax, %eax
	jnz	.L\name\()_again
	.cfi_remember_state
	UNWRAP 0
	.cfi_restore_state

	.if \filtered
	.ifnc \cpu, multi
.L\name\()_value:
	movabs	$WORD_VALUE, %rax
	add	%rax, %rdi
	RECORD_MORE \name\()_value, 16, RESULT, \clock, \cpu, .L\name\()_done, .L\name\()_skipped, .L\name\()_elsewhere
	.endif
	.endif

	/*
	 * The call has no plain entry record: set_graph_notrace, tracing_thresh, several instances.
	 */
.L\name\()_silent:
	mov	EXIT_SLOT, %rsi
	mov	%rcx, %rdi
	mov	%r8, %rdx
	mov	RESULT, %rcx
	CALL_C	graph_silent_exit
	.cfi_remember_state
	UNWRAP 1
	.cfi_restore_state
	.cfi_endproc
	.size	\name, . - \name
	.endm

	/* rdi = the head word of the RECORD_EXIT; rax is free */
	.macro EXIT_WORD
	lea	graph_stubs(%rip), %rdi
	STUB_INDEX EXIT_SLOT
	lea	graph_table(%rip), %rdi
	mov	TARGET_EXIT-5(%rdi,%rax), %rdi
	.endm

	/*
	 * The stubs, under one row that holds at each of their instructions; o = (rip - 1) & 31:
	 *	CFA = rsp + 4 + 8 * (o >= 5), which is S + 12: no other frame has this CFA
	 *	SP  = CFA - 4
	 *	RA  at shadow(CFA - 12) where o < 10, else at CFA - 12
	 */
	.section .text.graph_stubs, "ax", @progbits
	.balign	4096
	.globl	graph_stubs
	.hidden	graph_stubs
	.type	graph_stubs, @function
	.cfi_startproc simple
	.cfi_escape 0x0f,0x0b, 0x77,0x04, 0x80,0x7f,0x4f,0x1a,0x35,0x2a,0x33,0x24,0x22
	.cfi_escape 0x16,0x07,0x02, 0x34,0x1c
	.cfi_escape 0x10,0x10,0x1b, 0x3c,0x1c, 0x80,0x7f,0x4f,0x1a,0x3a,0x2a,0x28,0x10,0x00, 0x08,0x15,0x24, 0x43,0x25, 0x0c,0x40,0x52,0x03,0x00, 0x22, 0x31, 0x08,0x2d, 0x24, 0x22
graph_stubs:
	.set	i, 0
	.rept	STUBS
	call	graph_enter
	lea	-8(%rsp), %rsp
	.byte	0xe9			/* jmp graph_exit, long always */
	.long	graph_exit - . - 4
	int3
	jmp	*graph_table + STUB_BYTES * i(%rip)
	.balign	STUB_BYTES, 0xcc
	.set	i, i + 1
	.endr
	.cfi_endproc
	.size	graph_stubs, . - graph_stubs

	.text
	.macro ALL way, clock, cpu
	.ifc \cpu, rseq
	.section .text.graph_stubs		/* TARGET is a distance from there */
	GRAPH_ENTER graph_enter_\way, \clock, \cpu, 0, 1
	GRAPH_EXIT graph_exit_\way, \clock, \cpu, 0, 1
	.text
	.else
	GRAPH_ENTER graph_enter_\way, \clock, \cpu, 0
	GRAPH_EXIT graph_exit_\way, \clock, \cpu, 0
	.endif
	GRAPH_ENTER graph_enter_filtered_\way, \clock, \cpu, 1
	GRAPH_EXIT graph_exit_filtered_\way, \clock, \cpu, 1
	.endm

	EACH_WAY ALL

	GRAPH_ENTER graph_enter_multi, tsc, multi, 1
	GRAPH_ENTER graph_enter_multi_mono, mono, multi, 1
	/* the top instance makes no graph, others do: calls that are its alone just return */
	GRAPH_EXIT graph_exit_multi, tsc, multi, 1

	/* Nothing is recorded any more; open calls still return. */
	.globl	graph_exit_off
	.hidden	graph_exit_off
	.type	graph_exit_off, @function
graph_exit_off:
	.cfi_startproc
	RETURN_IN_SHADOW
	SAVE_ALL
	mov	graph_tls@gottpoff(%rip), %rsi
	lea	EXIT_SLOT, %rdi
	mov	%fs:GT_CURRENT(%rsi), %rsi
	cmp	ST_OPEN(%rsi), %rdi
	jne	2f
	CALL_C	graph_calls_skipped
2:	UNWRAP 0
	.cfi_endproc
	.size	graph_exit_off, . - graph_exit_off

	.globl	graph_enter, graph_exit
	.hidden	graph_enter, graph_exit
	.type	graph_enter, @function
	.type	graph_exit, @function
	.balign	64
graph_enter:
	.cfi_startproc
	.cfi_def_cfa rsp, 16
	jmp	*graph_enter_to(%rip)
	.cfi_endproc
	.size	graph_enter, . - graph_enter
	.balign	16
graph_exit:
	.cfi_startproc
	RETURN_IN_SHADOW
	jmp	*graph_exit_to(%rip)
	.cfi_endproc
	.size	graph_exit, . - graph_exit

	/*
	 * The same for the nongnu libunwind (graph_libunwind.h); no other unwinder reads it:
	 *	CFA = rsp + 8 * (o >= 5), which is S + 8
	 *	RA  at shadow(CFA - 8) where o < 10, else at CFA - 8
	 */
	.section .rodata.graph_libunwind, "a", @progbits
	.balign	8
	.globl	graph_libunwind_rows, graph_libunwind_fde
	.hidden	graph_libunwind_rows
	.hidden	graph_libunwind_fde
graph_libunwind_rows:
	.long	2f - 1f			/* the CIE: version 1, "zR", 1, -8, rip, pc-relative */
1:	.long	0
	.byte	1
	.asciz	"zR"
	.byte	1, 0x78, 16, 1, 0x1b
	.byte	0x0f,0x0b, 0x77,0x00, 0x80,0x7f,0x4f,0x1a,0x35,0x2a,0x33,0x24,0x22
	.byte	0x10,0x10,0x1b, 0x38,0x1c, 0x80,0x7f,0x4f,0x1a,0x3a,0x2a,0x28,0x10,0x00, 0x08,0x15,0x24, 0x43,0x25, 0x0c,0x40,0x52,0x03,0x00, 0x22, 0x31, 0x08,0x2d, 0x24, 0x22
	.balign	8, 0
2:
graph_libunwind_fde:
	.long	4f - 3f
3:	.long	3b - graph_libunwind_rows
	.long	graph_stubs - .
	.long	STUBS * STUB_BYTES
	.byte	0
	.balign	8, 0
4:

	.section .note.GNU-stack, "", @progbits
