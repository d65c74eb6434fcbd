/* SPDX-License-Identifier: MIT */
/*
 * One step of a walk up a stack, from a function to its caller: by the tables of exceptions
 * (process/eh_frame.h), with no lock, no memory and no system call. The user says which memory may
 * be read; a walk that needs other memory is lost. Any context.
 */
#ifndef VESTIGE_CORE_UNWIND_H
#define VESTIGE_CORE_UNWIND_H

#include <stdint.h>

/* Where the walk is. */
struct unwind {
	uint64_t ip, sp, fp;
	int exact; /* @ip was interrupted there; 0: it is behind a call */
};

#define UNWIND_RANGES 3u

/* What may be read: from lo to below hi. */
struct unwind_memory {
	struct {
		uint64_t lo, hi;
		const uint64_t *copy; /* of what is at lo and behind it; NULL: it is read there */
	} of[UNWIND_RANGES];
};

enum unwind_step {
	UNWIND_CALLER,	    /* now it is at the caller */
	UNWIND_INTERRUPTED, /* a handler was left for the code that it had interrupted */
	UNWIND_END,	    /* this was the outermost function */
	UNWIND_LOST,	    /* the tables lead to memory that may not be read, or nowhere */
	UNWIND_NO_TABLE,    /* no table has it; see unwind_by_frame_pointer() */
};

/*
 * unwind_exact() - where interrupted code is that the engine has moved: @ip, or the instruction of
 * the program in whose place it runs. unwind_originals(): a hook has such code.
 */
uint64_t unwind_exact(uint64_t ip);
void unwind_originals(uint64_t (*of)(uint64_t ip));

/* unwind_step() - to the caller. @u changes if a caller or interrupted code is found. */
enum unwind_step unwind_step(struct unwind *u, const struct unwind_memory *memory);

/*
 * unwind_by_frame_pointer() - to the caller, as functions with a frame pointer have it. It is a
 * guess: another function keeps any value in that register.
 * Return: UNWIND_CALLER; UNWIND_LOST: the register cannot be a frame's.
 */
enum unwind_step unwind_by_frame_pointer(struct unwind *u, const struct unwind_memory *memory);

#endif
