/* SPDX-License-Identifier: MIT */
/* Writes jumps to islands while threads run in the functions. */
#ifndef VESTIGE_HOOK_REDIRECT_LIVE_H
#define VESTIGE_HOOK_REDIRECT_LIVE_H

#include "engine/hook/redirect.h"

/* The instructions of one function that a jump replaces. */
struct redirect_window {
	uint64_t from;	 /* address of the first one */
	uint64_t island; /* the island to which the jump leads, which is complete */
	uint32_t i;	 /* the caller's number for the function */
	int16_t padding; /* as in struct redirect */
	uint8_t bytes;
	uint8_t written;
	uint8_t busy;	     /* a thread was among the instructions */
	uint8_t to_go_back;  /* restore the program's own bytes instead of writing the jump */
	const uint8_t *text; /* the program's own bytes, without jumps of probes */
};

/* The jump of a probe's island that leads into a window, and its new target. */
struct redirect_lead {
	uint64_t jump, to;
	uint32_t window;
};

/*
 * redirect_write_live() - write the jumps of @nr windows, or restore the program's own bytes (if
 * all are `to_go_back`). @windows: sorted by address; `written` is set in each that was written.
 * The text must be writable. All threads are stopped for it. A window in which a thread is, or to
 * which it will return, is tried again for a while. If threads cannot be stopped, only windows that
 * one store changes are written. @leads: @nr_leads jumps that change with their windows; writable,
 * too. @tid: a thread that could not be stopped; 0: none. Return: 0; -errno of stop_machine(): why
 * threads could not be stopped. Agent context.
 */
int redirect_write_live(struct redirect_window *windows, uint32_t nr,
			const struct redirect_lead *leads, uint32_t nr_leads, int *tid);

#endif
