/* SPDX-License-Identifier: MIT */
/* `vestige blk times --json`: btt's tables as an object. Tests: tests/cli/test_json.py. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/blk/blk_model.h"
#include "tools/text/json.h"

static const char *step_name(enum blk_step step)
{
	for (size_t i = 0; i < BLK_STEP_ROWS; i++)
		if (blk_step_rows[i].name && blk_step_rows[i].step == step)
			return blk_step_rows[i].name;
	return NULL;
}

/*
 * Sums that have a count, by name. @of_each: of one process or device: leave out rows that only the
 * total has.
 */
static void put_sums(struct json *j, const struct blk_sum *sums, bool of_each)
{
	json_open(j, "steps", '{');
	for (size_t i = 0; i < BLK_STEP_ROWS; i++) {
		const struct blk_step_row *row = &blk_step_rows[i];
		const struct blk_sum *s = row->name ? &sums[row->step] : NULL;

		if (!s || !s->n || (int64_t)s->n < 0 || (of_each && !row->of_each))
			continue;
		json_open(j, row->name, '{');
		json_real(j, "min", blk_seconds(s->min), 9);
		json_real(j, "avg", blk_seconds(s->total) / (double)s->n, 9);
		json_real(j, "max", blk_seconds(s->max), 9);
		json_number(j, "n", s->n);
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void put_shares(struct json *j, const struct blk_device *d)
{
	if (!d->sums[Q2C].n || !d->sums[Q2C].total)
		return;
	json_open(j, "overhead", '{');
	for (size_t i = 0; i < BLK_SHARES; i++)
		json_real(j, step_name(blk_shares[i]),
			  100.0 * (double)d->sums[blk_shares[i]].total / (double)d->sums[Q2C].total,
			  4);
	json_close(j, '}');
}

static void put_merges(struct json *j, const struct blk_device *d)
{
	if (!d->nr_q || !d->nr_d)
		return;
	json_open(j, "merges", '{');
	json_number(j, "queued", d->nr_q);
	json_number(j, "issued", d->nr_d);
	json_real(j, "ratio", (double)d->nr_q / (double)d->nr_d, 3);
	json_number(j, "min", d->blocks.min);
	json_real(j, "avg", (double)d->blocks.total / (double)d->nr_d, 3);
	json_number(j, "max", d->blocks.max);
	json_number(j, "total", d->blocks.total);
	json_close(j, '}');
}

static void put_seeks(struct json *j, const char *name, const struct blk_seeks *s)
{
	struct blk_modes modes;

	if (!s->n || blk_seeks_modes(s, &modes))
		return;
	json_open(j, name, '{');
	json_number(j, "n", s->n);
	json_real(j, "mean", s->sectors / (double)s->n, 1);
	json_number(j, "median", (uint64_t)blk_seeks_median(s));
	json_open(j, "modes", '[');
	for (size_t i = 0; i < modes.nr; i++)
		json_number(j, NULL, (uint64_t)modes.of[i]);
	json_close(j, ']');
	json_number(j, "mode_n", modes.n);
	json_close(j, '}');
	free(modes.of);
}

static void put_plugs(struct json *j, const struct blk_device *d)
{
	if (!d->nr_unplugs && !d->nr_timer_unplugs)
		return;
	json_open(j, "plugs", '{');
	json_number(j, "n", d->nr_unplugs);
	json_number(j, "timer", d->nr_timer_unplugs);
	if (d->end_s > d->begin_s)
		json_real(j, "percent", 100.0 * (d->plugged_s / (d->end_s - d->begin_s)), 9);
	json_number(j, "ios", d->ios_up);
	json_number(j, "timer_ios", d->ios_up_timer);
	json_close(j, '}');
}

static void put_live(struct json *j, const struct blk_ranges *r)
{
	struct blk_live l = blk_live_of(r);

	json_open(j, "active", '{');
	json_number(j, "n", r->nr);
	json_real(j, "avg", l.act, 9);
	json_real(j, "avg_pause", l.pause, 9);
	json_real(j, "percent", l.share, 2);
	json_close(j, '}');
}

static void put_q2d(struct json *j, const struct blk_q2d *h)
{
	json_open(j, "q2d", '[');
	for (int i = 0; i < BLK_Q2D_CLASSES; i++)
		json_number(j, NULL, h->of[i]);
	json_close(j, ']');
}

static void put_ranges(struct json *j, const char *name, const struct blk_ranges *r)
{
	json_open(j, name, '[');
	for (size_t i = 0; i < r->nr; i++) {
		json_open(j, NULL, '[');
		json_real(j, NULL, blk_seconds(r->of[i].from_ns), 9);
		json_real(j, NULL, blk_seconds(r->of[i].to_ns), 9);
		json_close(j, ']');
	}
	json_close(j, ']');
}

static void put_activity(struct json *j, const struct blk_activity *a)
{
	put_ranges(j, "q_activity", &a->q);
	put_ranges(j, "c_activity", &a->c);
}

static void put_device(struct json *j, const struct blk_device *d)
{
	put_sums(j, d->sums, true);
	put_shares(j, d);
	put_merges(j, d);
	put_seeks(j, "q2q_seeks", &d->q_seeks);
	put_seeks(j, "d2d_seeks", &d->d_seeks);
	put_plugs(j, d);
	if (d->nr_q && !blk_is_remapper(d->device))
		json_real(j, "active_at_q", (double)d->at_q / (double)d->nr_q, 3);
	put_live(j, &d->live);
	put_q2d(j, &d->q2d);
	put_activity(j, &d->activity);
}

int blk_json_put(struct out *o, const struct blk_model *m)
{
	struct blk_device *d = NULL;
	struct json j = {.o = o};
	char name[32];
	int err = 0;

	json_open(&j, NULL, '{');
	json_open(&j, "all", '{');
	put_sums(&j, m->sums, false);
	put_live(&j, &m->live);
	put_activity(&j, &m->activity);
	json_close(&j, '}');
	json_open(&j, "devices", '[');
	while ((d = blk_next_device(m, d))) {
		snprintf(name, sizeof(name), "%u,%u", BLK_MAJOR(d->device), BLK_MINOR(d->device));
		json_open(&j, NULL, '{');
		json_text(&j, "device", name);
		put_device(&j, d);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_open(&j, "processes", '[');
	for (size_t i = 0; i < m->nr_processes; i++) {
		const struct blk_process *p = &m->processes[i];

		if (!blk_is_program_asked(m, p->name))
			continue;
		json_open(&j, NULL, '{');
		json_text(&j, "name", p->name);
		put_sums(&j, p->sums, true);
		put_activity(&j, &p->activity);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	if (m->f->program)
		err = blk_ios_json(&j, &m->ios);
	json_close(&j, '}');
	out_text(o, "\n");
	return err;
}
