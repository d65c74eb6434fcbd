/* SPDX-License-Identifier: MIT */
/*
 * One step of a walk up a stack, from a function to its caller: by the tables of exceptions
 * (process/eh_frame.h), with no lock, no memory and no system call. The user sets which memory may
 * be read; a walk that needs other memory ends. Any context.
 */
#ifndef VESTIGE_CORE_UNWIND_H
#define VESTIGE_CORE_UNWIND_H

#include <stdint.h>

/* The position of a walk. */
struct unwind {
	uint64_t ip, sp, fp;
	int exact; /* @ip was interrupted; 0: it is behind a call */
};

#define UNWIND_RANGES 3u

/* Memory that may be read: from lo to below hi. */
struct unwind_memory {
	struct {
		uint64_t lo, hi;
		/* copy of the bytes from lo on; NULL: read them at their own address */
		const uint64_t *copy;
	} of[UNWIND_RANGES];
};

enum unwind_step {
	UNWIND_CALLER,	    /* the position is the caller now */
	UNWIND_INTERRUPTED, /* the position is the code that a handler had interrupted */
	UNWIND_END,	    /* this was the outermost function */
	UNWIND_LOST,	    /* the tables lead to memory that may not be read, or to nothing */
	UNWIND_NO_TABLE,    /* no table has the function; see unwind_by_frame_pointer() */
};

/*
 * unwind_exact() - the original address of interrupted code that the engine has moved: @ip, or the
 * program's instruction that runs there. unwind_originals(): a hook has such code.
 */
uint64_t unwind_exact(uint64_t ip);
void unwind_originals(uint64_t (*of)(uint64_t ip));

/* unwind_step() - go to the caller. @u changes if a caller or interrupted code is found. */
enum unwind_step unwind_step(struct unwind *u, const struct unwind_memory *memory);

/*
 * unwind_by_frame_pointer() - go to the caller, assuming that the function has a frame pointer. It
 * is a guess: another function may keep any value in that register. Return: UNWIND_CALLER;
 * UNWIND_LOST: the register cannot be a frame's.
 */
enum unwind_step unwind_by_frame_pointer(struct unwind *u, const struct unwind_memory *memory);

#endif
