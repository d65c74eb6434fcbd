/* SPDX-License-Identifier: MIT */
/*
 * Finds the caller of a function by the tables that each object has for exceptions (.eh_frame,
 * through .eh_frame_hdr), as libc's unwinder does, but with no lock, no memory, and no read of the
 * stack. The rule of an instruction is cached, so most calls are one look-up.
 */
#ifndef VESTIGE_PROCESS_EH_FRAME_H
#define VESTIGE_PROCESS_EH_FRAME_H

#include <stdint.h>

/* How the frame's end (CFA, where the caller's stack pointer will be) is found. */
enum eh_cfa {
	EH_NONE,     /* no table has it */
	EH_SP,	     /* stack pointer + cfa_offset */
	EH_FP,	     /* frame pointer + cfa_offset */
	EH_FP_DEREF, /* the word at frame pointer + cfa_offset */
	EH_STUB,     /* a stub of the linker's: see arch_stub_cfa() */
	EH_SIGNAL, /* the return from a signal handler: the kernel's struct ucontext is at the stack pointer */
	EH_END, /* the outermost function */
};

/* Where the caller's frame pointer is. */
enum eh_fp {
	EH_FP_SAME,   /* in the register */
	EH_FP_AT_CFA, /* at CFA + fp_offset */
	EH_FP_AT_FP,  /* at frame pointer + fp_offset */
};

/* The return address is in the word below the CFA. */
struct eh_rule {
	enum eh_cfa cfa;
	enum eh_fp fp;
	int32_t cfa_offset, fp_offset;
};

/* The rule for the instruction at @ip. Any context. */
struct eh_rule eh_frame_rule(uint64_t ip);

#endif
