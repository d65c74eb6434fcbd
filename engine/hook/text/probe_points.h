/* SPDX-License-Identifier: MIT */
/*
 * Shared by probe_points.c (jumps at instructions) and probe_moved.c (instructions that a redirect
 * moves) alone; redirects use the last functions below. All under the tree lock.
 */
#ifndef VESTIGE_HOOK_TEXT_PROBE_POINTS_H
#define VESTIGE_HOOK_TEXT_PROBE_POINTS_H

#include "engine/hook/text/text_island.h"

/* The instructions at a function's beginning that a redirect moves, or has moved. */
struct text_window {
	uint64_t from;	     /* address of the first */
	const uint8_t *text; /* bytes of the instructions, as the file has them */
	uint32_t bytes;	     /* their length */
	uint32_t jump_bytes; /* length of the redirect's jump in their place */
	int is_moved;	     /* the redirect's jump is written */
	const struct object *o;
	uint32_t i; /* the function's index in the object */
};

/*
 * Functions of redirects. at: whether the instruction at @address is in a window, and which. copy:
 * the address of the instruction's copy on the window's island; 0: it has not been made. claim:
 * whether jumps of redirects have bytes in @lo .. @hi.
 */
struct text_windows {
	int (*at)(const struct object *o, uint64_t address, struct text_window *w);
	uint64_t (*copy)(const struct text_window *w, uint64_t address);
	int (*claim)(const struct object *o, uint64_t lo, uint64_t hi);
};

/* Register this hook with core. @windows: the redirects. */
void probe_points_register(const struct text_windows *windows);
void probe_points_forget(const struct object *o);

/*
 * A way in which a probe point jumps. The jump relies on the bytes behind the written ones: `text`,
 * up to `pinned`.
 */
struct text_way {
	struct text_way *next;
	uint64_t island;
	uint64_t landing; /* target of the jump: the island, or a jump to it */
	uint8_t written, pinned;
	uint8_t back_at; /* offset of the island's jump back */
	/* the jump back leads to a copy now, so the island must not be used again */
	uint8_t leads_away;
	uint8_t text[TEXT_JUMP_READ], patched[TEXT_JUMP_READ];
};

/*
 * The address of the copy of the instruction at @address on the window's island; 0: there is none.
 */
uint64_t probe_points_copy(const struct text_window *w, uint64_t address);

/*
 * The probe point at @address; NULL: there is none. The second function: the one with a jump in its
 * text. The third: it is made if there is none.
 */
struct text_place *probe_points_find(uint64_t address);
struct text_place *probe_points_armed(uint64_t address);
struct text_place *probe_points_get(uint64_t address);

/* Whether there is, or was, a probe in @lo .. @hi. */
int probe_points_in(uint64_t lo, uint64_t hi);

/*
 * Read @n bytes of the text up to @hi (the rest is zeros), as it is without jumps of probes and
 * redirects.
 */
void probe_points_read(uint64_t address, uint64_t hi, uint8_t *out, size_t n);

/* Write or remove a probe point's own jump. Return: 0; -errno and *@why: nothing has changed. */
int probe_points_change(struct text_place *place, int on, const char **why);

/* The probe point of the same instruction on the window's island; NULL: no memory. */
struct text_place *probe_moved_copy(struct text_place *place, const struct text_window *w);

/*
 * Called by redirects before and after they move instructions.
 *
 * probe_moved_any() - whether there is, or was, a probe in @lo .. @hi. probe_moved_on() - whether
 * there is a probe now. probe_moved_relied() - whether the jump of a probe before @lo relies on
 * bytes in @lo .. @hi. probe_moved_ready() - probes at instructions of the window also get jumps at
 * the copies, which no thread reaches yet. Return: 0; -errno: not all can have one, so none has.
 * probe_moved_done() - @moved: threads run on the island now, and the jumps of probes in the
 * window's text are removed. Else the jumps at the copies are removed, and all is as before.
 */
int probe_moved_any(uint64_t lo, uint64_t hi);
int probe_moved_on(uint64_t lo, uint64_t hi);
int probe_moved_relied(uint64_t lo, uint64_t hi);
int probe_moved_ready(const struct text_window *w);
void probe_moved_done(const struct text_window *w, int moved);

/*
 * probe_moved_leads() - call @fn for each island of a probe from which threads continue among the
 * window's instructions, with the island's jump and the copy to which it must lead then. Return: 0;
 * -ERANGE: a jump does not reach its copy.
 */
int probe_moved_leads(const struct text_window *w,
		      void (*fn)(uint64_t jump, uint64_t to, void *arg), void *arg);

#endif
