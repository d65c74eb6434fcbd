/* SPDX-License-Identifier: MIT */
/* The consuming reader of areas, which writes into them; in turns, as trace_pipe. A second reader
 * joins. */
#include "fuzz.h"

#include <errno.h>

#include "tools/analysis/graph_events.h"
#include "tools/area/follow.h"
#include "tools/text/printk_text.h"

#define TURNS	   4
#define MAX_EVENTS 100000u

/* As trace_pipe does: an id that the tables lack is looked up in the area. */
static void print(struct reader *r, const struct record *rec)
{
	static char text[PRINTK_TEXT_BYTES];
	struct record copy = *rec;

	PROMISE(!printk_text_take(r, &copy, text) || copy.data_bytes < sizeof(text));
}

/*
 * Read the records up to now, as events of a trace of calls; every other turn consumes half of
 * them.
 */
static void turn(struct follow *f, struct graph_events *g, unsigned int number)
{
	const struct graph_event *ev;
	unsigned int nr = 0;

	for (; nr < MAX_EVENTS && graph_events_next(g, &ev) > 0; nr++)
		print(follow_reader(f), ev->rec);
	fuzz_file_records += nr;
	for (unsigned int cpu = 0; cpu < follow_reader(f)->nr_cpus; cpu++) {
		uint64_t taken = graph_events_nr_taken(g, cpu);

		follow_take(f, cpu, number & 1 ? taken / 2 : taken);
	}
}

/* From the second question on it has ended. */
static bool lives(const void *asked)
{
	return !(*(unsigned int *)asked)++;
}

static void use(const char *path)
{
	unsigned int asked = 0;
	const struct followed what = {.path = path, .lives = lives, .arg = &asked};
	struct graph_events *g;
	struct follow *f;
	int err;

	if (follow_open(&what, false, &f))
		return;
	for (unsigned int i = 0; i < TURNS; i++) {
		if (i == 1 && follow_add(f, &what))
			break;
		err = follow_turn(f, NULL, i & 1 ? FOLLOW_HOLD_NS : 0);
		if (err == -ESTALE && follow_renew(f))
			break;
		if (err <= 0)
			continue;
		g = graph_events_new(follow_reader(f), NULL, true, &err);
		if (!g)
			break;
		turn(f, g, i);
		graph_events_free(g);
		follow_any(f, NULL);
		follow_lives(f);
		follow_tracing_on(f);
	}
	follow_close(f);
}

static void run(const uint8_t *data, size_t n)
{
	fuzz_file_use(data, n, use);
}

static void mutate(struct mangle *m)
{
	fuzz_area.mutate(m);
}

const struct fuzz_target fuzz_follow = {"follow", run, mutate};
