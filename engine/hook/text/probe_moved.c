/* SPDX-License-Identifier: MIT */
/*
 * Probes at instructions that a redirect has moved to its island, or is about to move
 * (probe_points.h). A probe is at the program's instruction, wherever that runs. The probe point in
 * the program has the probes; a probe point of its own at the copy has the jump. The island of
 * either calls the former's probes.
 *
 * A new redirect finds probes at instructions that it will move. Their copies get jumps while
 * nothing leads to the island yet. Then the redirect's jump is written while all threads are
 * stopped. Threads on a probe's island, from which they would return among the moved instructions,
 * are led to the next copy instead. So no probe misses a hit. Then the jumps in the program's text,
 * which no thread reaches any more, are removed.
 *
 * Owns nothing: probe points belong to probe_points.c. Under the tree lock. fork: the child has the
 * same.
 * Tests: tests/cli/test_moved_probes.py.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/core/text_patch.h"
#include "engine/hook/text/probe_points.h"

struct text_place *probe_moved_copy(struct text_place *place, const struct text_window *w)
{
	uint64_t at = probe_points_copy(w, place->address);

	if (!place->copy && at) {
		place->copy = probe_points_get(at);
		if (place->copy)
			place->copy->of = place;
	}
	return place->copy;
}

/* Whether an instruction in @lo .. @hi has probes. @on: probes that are on. */
static int has_probes(uint64_t lo, uint64_t hi, int on)
{
	uint64_t a;

	for (a = lo; a < hi; a++) {
		const struct text_place *p = probe_points_find(a);

		if (p && (on ? p->on != 0 : p->ways != 0))
			return 1;
	}
	return 0;
}

int probe_moved_any(uint64_t lo, uint64_t hi)
{
	return has_probes(lo, hi, 0);
}

int probe_moved_on(uint64_t lo, uint64_t hi)
{
	return has_probes(lo, hi, 1);
}

int probe_moved_relied(uint64_t lo, uint64_t hi)
{
	uint64_t a;

	for (a = lo - TEXT_JUMP_READ; a < hi; a++) {
		const struct text_place *p = a < lo ? probe_points_armed(a) : NULL;

		if (p && a + p->way->pinned > lo)
			return 1;
	}
	return 0;
}

/* Remove the jumps at copies, except for instructions that have probes and run there. */
static void clear_copies(const struct text_window *w)
{
	const char *ignored;
	uint64_t a;

	for (a = w->from; a < w->from + w->bytes; a++) {
		const struct text_place *p = probe_points_find(a);

		if (p && p->copy && p->copy->armed)
			probe_points_change(p->copy, 0, &ignored);
	}
}

int probe_moved_ready(const struct text_window *w)
{
	const char *ignored;
	uint64_t a;
	int err = 0;

	/* the last one first: a jump may rely on the bytes behind it */
	for (a = w->from + w->bytes; a-- > w->from && !err;) {
		struct text_place *p = probe_points_find(a);

		if (!p || !p->on)
			continue;
		if (!probe_moved_copy(p, w))
			err = -ENOMEM;
		else if (!p->copy->armed)
			err = probe_points_change(p->copy, 1, &ignored);
	}
	if (err)
		clear_copies(w);
	return err;
}

void probe_moved_done(const struct text_window *w, int moved)
{
	struct text_way *way;
	uint64_t a;

	if (!moved) {
		clear_copies(w);
		return;
	}
	if (!probe_moved_any(w->from, w->from + w->bytes))
		return;
	/* the jump of a short function continues in the padding behind the function */
	if (w->bytes > w->jump_bytes)
		memcpy(text_at((void *)(w->from + w->jump_bytes)), w->text + w->jump_bytes,
		       w->bytes - w->jump_bytes);
	for (a = w->from; a < w->from + w->bytes; a++) {
		struct text_place *p = probe_points_find(a);

		if (!p)
			continue;
		p->armed = 0;
		for (way = p->ways; way; way = way->next)
			way->leads_away = 1;
	}
}

int probe_moved_leads(const struct text_window *w,
		      void (*fn)(uint64_t jump, uint64_t to, void *arg), void *arg)
{
	const struct text_place *p;
	const struct text_way *way;
	uint64_t a;

	for (a = w->from; a < w->from + w->bytes; a++) {
		p = probe_points_find(a);
		for (way = p ? p->ways : NULL; way; way = way->next) {
			uint64_t jump = way->island + way->back_at;
			uint64_t to = probe_points_copy(w, a + p->bytes);
			int64_t disp = (int64_t)(to - jump);

			/* behind the last instruction it leads to the function itself */
			if (!to || way->leads_away)
				continue;
			if (disp != (int32_t)disp)
				return -ERANGE;
			fn(jump, to, arg);
		}
	}
	return 0;
}
