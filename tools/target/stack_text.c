/* SPDX-License-Identifier: MIT */
/* See stack_text.h. The numbers are untrusted. Tests: tests/engine/fire/stack_tracer. */
#include "tools/target/stack_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/target/names.h"

#define TRIES  1000
#define TRY_US 100

static int read_once(int fd, uint64_t at, struct area_stack *s, uint32_t *gen)
{
	if (pread(fd, s, sizeof(*s), (off_t)at) != (ssize_t)sizeof(*s) ||
	    pread(fd, gen, sizeof(*gen), (off_t)at) != (ssize_t)sizeof(*gen))
		return fail(EIO, "the area has no room for its deepest stack");
	return 0;
}

/*
 * A consistent copy; if the process was stopped or killed while it wrote, what is there. To be
 * freed. NULL with fail() set.
 */
static struct area_stack *load(const struct meta *m, int fd)
{
	struct area_stack *s = calloc(1, sizeof(*s));
	uint32_t gen;

	if (!s) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	if (!m->head.stack_offset || m->head.stack_offset > INT64_MAX)
		return s;
	for (int i = 0; i < TRIES; i++) {
		if (read_once(fd, m->head.stack_offset, s, &gen)) {
			free(s);
			return NULL;
		}
		if (!(s->gen & 1) && s->gen == gen)
			break;
		usleep(TRY_US);
	}
	if (s->nr_frames > AREA_STACK_FRAMES)
		s->nr_frames = AREA_STACK_FRAMES;
	return s;
}

static void put_frames(const struct area_stack *s, struct names *names, struct out *o)
{
	for (uint32_t i = 0; i < s->nr_frames; i++) {
		uint64_t depth = s->frames[i].depth, outer = 0;

		if (i + 1 < s->nr_frames && s->frames[i + 1].depth < depth)
			outer = s->frames[i + 1].depth;
		out_printf(o, "%3" PRIu32 ") %8" PRIu64 "   %5" PRIu64 "   ", i, depth,
			   depth - outer);
		names_put(names, s->frames[i].ip, o);
		out_text(o, "\n");
	}
}

static void put_disabled(struct out *o)
{
	out_text(o, "#\n"
		    "#  Stack tracer disabled\n"
		    "#\n"
		    "# To enable the stack tracer, either add 'stacktrace' to the\n"
		    "# kernel command line\n"
		    "# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'\n"
		    "#\n");
}

int stack_text_trace(const struct meta *m, int fd, struct out *o)
{
	struct area_stack *s = load(m, fd);
	struct names *names;

	if (!s)
		return -EIO;
	out_printf(o,
		   "        Depth    Size   Location    (%" PRIu32 " entries)\n"
		   "        -----    ----   --------\n",
		   s->nr_frames);
	if (!s->enabled && !s->max_bytes)
		put_disabled(o);
	names = s->nr_frames ? names_new(m) : NULL;
	if (names)
		put_frames(s, names, o);
	names_free(names);
	free(s);
	return 0;
}

int stack_text_max_size(const struct meta *m, int fd, struct out *o)
{
	struct area_stack *s = load(m, fd);

	if (!s)
		return -EIO;
	out_printf(o, "%" PRIu64 "\n", s->max_bytes);
	free(s);
	return 0;
}
