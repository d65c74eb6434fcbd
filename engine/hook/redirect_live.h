/* SPDX-License-Identifier: MIT */
/* Jumps to islands, written while threads run in the functions. */
#ifndef VESTIGE_HOOK_REDIRECT_LIVE_H
#define VESTIGE_HOOK_REDIRECT_LIVE_H

#include "engine/hook/redirect.h"

/* The instructions of one function that a jump is to replace. */
struct redirect_window {
	uint64_t from;	 /* the first of them */
	uint64_t island; /* to which the jump leads, ready */
	uint32_t i;	 /* the caller's number of the function */
	int16_t padding; /* as in struct redirect */
	uint8_t bytes;
	uint8_t written;
	uint8_t busy;	     /* a thread was among them */
	uint8_t to_go_back;  /* the program's own bytes are to be there again, not the jump */
	const uint8_t *text; /* those bytes, without jumps of probes */
};

/* A jump of an island from which threads go on in a window, and where they are to go on then. */
struct redirect_lead {
	uint64_t jump, to;
	uint32_t window;
};

/*
 * redirect_write_live() - write the jumps of @nr windows, or the program's own bytes (all of them `to_go_back`). They are in
 * order of address; `written` of each that was written is set. The text is writable. All threads are stopped for it. A window that a
 * thread is in, or will return to, is tried again for a while. If threads cannot be stopped, only
 * windows that one store changes are written.
 * @leads: @nr_leads, changed with their windows; writable, too.
 * @tid: a thread that could not be stopped, 0: none.
 * Return: 0; or -errno of stop_machine(): why threads could not be stopped. Agent context.
 */
int redirect_write_live(struct redirect_window *windows, uint32_t nr,
			const struct redirect_lead *leads, uint32_t nr_leads, int *tid);

#endif
