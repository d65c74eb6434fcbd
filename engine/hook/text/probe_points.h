/* SPDX-License-Identifier: MIT */
/*
 * Of probe_points.c (jumps at instructions) and probe_moved.c (instructions that a redirect moves)
 * alone, but for what redirects ask below. All under the tree's lock.
 */
#ifndef VESTIGE_HOOK_TEXT_PROBE_POINTS_H
#define VESTIGE_HOOK_TEXT_PROBE_POINTS_H

#include "engine/hook/text/text_island.h"

/* The instructions at a function's beginning that a redirect moves, or has moved. */
struct text_window {
	uint64_t from;	     /* the first */
	const uint8_t *text; /* as the file has them */
	uint32_t bytes;	     /* of them */
	uint32_t jump_bytes; /* of the redirect's jump in their place */
	int is_moved;	     /* whether that is there */
	const struct object *o;
	uint32_t i; /* the function's number in it */
};

/*
 * What redirects report. @at: the window that the instruction at @address is in. Return: whether
 * it is in one. @copy: where the instruction is on the window's island, once that is made; 0: it is not.
 * @claim: whether jumps of redirects have bytes in @lo .. @hi.
 */
struct text_windows {
	int (*at)(const struct object *o, uint64_t address, struct text_window *w);
	uint64_t (*copy)(const struct text_window *w, uint64_t address);
	int (*claim)(const struct object *o, uint64_t lo, uint64_t hi);
};

/* Register this hook with core. */
void probe_points_register(const struct text_windows *windows);
void probe_points_forget(const struct object *o);

/* A probe point's jump relies on the bytes behind those that it writes: `text`, up to `pinned`. */
struct text_way {
	struct text_way *next;
	uint64_t island;
	uint64_t landing; /* where the jump leads; the island itself, or a jump to it */
	uint8_t written, pinned;
	uint8_t back_at;    /* of the island: its jump back */
	uint8_t leads_away; /* that leads to a copy now: not to be used again */
	uint8_t text[TEXT_JUMP_READ], patched[TEXT_JUMP_READ];
};

/* Where the instruction at @address is on the window's island; 0: not there. */
uint64_t probe_points_copy(const struct text_window *w, uint64_t address);

/* The place at @address; NULL: there is none; the one with a jump in its text; one that is made. */
struct text_place *probe_points_find(uint64_t address);
struct text_place *probe_points_armed(uint64_t address);
struct text_place *probe_points_get(uint64_t address);

/* Whether there is, or was, a probe in @lo .. @hi. */
int probe_points_in(uint64_t lo, uint64_t hi);

/* @n bytes of the text up to @hi, and zeros: as it is without our jumps and those of redirects. */
void probe_points_read(uint64_t address, uint64_t hi, uint8_t *out, size_t n);

/* Write or remove a place's own jump. Return: 0; -errno and *@why: all is as before. */
int probe_points_change(struct text_place *place, int on, const char **why);

/* The place of the same instruction on the window's island; NULL: no memory. */
struct text_place *probe_moved_copy(struct text_place *place, const struct text_window *w);

/*
 * What a redirect asks before it moves instructions, and says when it has.
 *
 * probe_moved_any() - whether there is, or was, a probe in @lo .. @hi.
 * probe_moved_on() - whether there is one now.
 * probe_moved_relied() - whether the jump of a probe before @lo relies on bytes in @lo .. @hi.
 * probe_moved_ready() - probes at instructions of the window are at their copies, too, to which no
 * thread comes yet. Return: 0; -errno: not all can be, and none is.
 * probe_moved_done() - @moved: threads run there now, and the window's text has no jumps of probes.
 * Else probes are at the program's instructions alone, as before.
 */
int probe_moved_any(uint64_t lo, uint64_t hi);
int probe_moved_on(uint64_t lo, uint64_t hi);
int probe_moved_relied(uint64_t lo, uint64_t hi);
int probe_moved_ready(const struct text_window *w);
void probe_moved_done(const struct text_window *w, int moved);

/*
 * probe_moved_leads() - islands of probes from which threads go on among the window's instructions:
 * @fn is called for each, with its jump and the copy to which that has to lead then. Return: 0;
 * -ERANGE: one does not reach it.
 */
int probe_moved_leads(const struct text_window *w,
		      void (*fn)(uint64_t jump, uint64_t to, void *arg), void *arg);

#endif
