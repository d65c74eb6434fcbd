/* SPDX-License-Identifier: MIT */
/*
 * See function_sums.h. A call is counted when it ends. Only the outermost open call of a function
 * adds to its total, so that recursion does not count twice. span_walk.h cuts calls off at the ends
 * of the range.
 */
#include "tools/view/function_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"

static void sum_enter(void *arg, const struct walk_call *call)
{
	((struct function_sum *)arg)[call->name].open++;
}

static void sum_leave(void *arg, const struct walk_call *call)
{
	struct function_sum *f = &((struct function_sum *)arg)[call->name];

	f->shortest = !f->calls || call->length < f->shortest ? call->length : f->shortest;
	f->longest = call->length > f->longest ? call->length : f->longest;
	f->calls++;
	f->sum += call->length;
	f->self += call->length - call->beneath;
	if (!--f->open)
		f->total += call->length;
}

int walk_tracks(const struct columns *c, const uint32_t *tracks, size_t nr, uint64_t from,
		uint64_t to, const struct walk_ops *ops, void *arg)
{
	int ret = 0;

	for (size_t i = 0; i < (nr ? nr : c->nr_tracks) && !ret; i++) {
		size_t track = nr ? tracks[i] : i;

		if (track < c->nr_tracks && c->tracks[track].kind == TRACK_CALLS)
			ret = walk_calls(&c->tracks[track], from, to, ops, arg);
	}
	return ret;
}

int function_sums(const struct columns *c, const uint32_t *tracks, size_t nr, uint64_t from,
		  uint64_t to, struct function_sum **out)
{
	static const struct walk_ops ops = {sum_enter, sum_leave};
	int ret;

	*out = calloc(c->nr_names + 1, sizeof(**out));
	if (!*out)
		return fail(ENOMEM, "out of memory");
	ret = walk_tracks(c, tracks, nr, from, to, &ops, *out);
	if (ret) {
		free(*out);
		*out = NULL;
	}
	return ret;
}
