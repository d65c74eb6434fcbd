/* SPDX-License-Identifier: MIT */
/*
 * Finds the caller of a function by the tables for exceptions that each object has (.eh_frame,
 * through .eh_frame_hdr). It works as libc's unwinder, but with no lock and no memory, and does not
 * read the stack. The rule of an instruction is cached, so most calls are one lookup.
 */
#ifndef VESTIGE_PROCESS_EH_FRAME_H
#define VESTIGE_PROCESS_EH_FRAME_H

#include <stdint.h>

/* How to find the end of a frame (CFA: the caller's stack pointer). */
enum eh_cfa {
	EH_NONE,     /* no table has the instruction */
	EH_SP,	     /* stack pointer + cfa_offset */
	EH_FP,	     /* frame pointer + cfa_offset */
	EH_FP_DEREF, /* the word at frame pointer + cfa_offset */
	EH_STUB,     /* of a linker's stub: see arch_stub_cfa() */
	/* the return from a signal handler: the kernel's struct ucontext is at the stack pointer */
	EH_SIGNAL,
	EH_END, /* the outermost function */
};

/* Where the caller's frame pointer is saved. */
enum eh_fp {
	EH_FP_SAME,   /* in the register itself */
	EH_FP_AT_CFA, /* at CFA + fp_offset */
	EH_FP_AT_FP,  /* at frame pointer + fp_offset */
};

/* The rule of an instruction. The return address is in the word below the CFA. */
struct eh_rule {
	enum eh_cfa cfa;
	enum eh_fp fp;
	int32_t cfa_offset, fp_offset;
};

/* Get the rule for the instruction at @ip. Any context. */
struct eh_rule eh_frame_rule(uint64_t ip);

#endif
