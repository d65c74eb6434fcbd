/* SPDX-License-Identifier: MIT */
/* `vestige blk times --json`: btt's times from step to step. Tests: tests/cli/test_json.py. */
#include <stdio.h>

#include "tools/blk/blk_model.h"
#include "tools/text/json.h"

/* Those that were seen, by name; a row that is of all alone is left out of @of_each. */
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

void blk_json_put(struct out *o, const struct blk_model *m)
{
	struct blk_device *d = NULL;
	struct json j = {.o = o};
	char name[32];

	json_open(&j, NULL, '{');
	json_open(&j, "all", '{');
	put_sums(&j, m->sums, false);
	json_close(&j, '}');
	json_open(&j, "devices", '[');
	while ((d = blk_next_device(m, d))) {
		snprintf(name, sizeof(name), "%u,%u", BLK_MAJOR(d->device), BLK_MINOR(d->device));
		json_open(&j, NULL, '{');
		json_text(&j, "device", name);
		put_sums(&j, d->sums, true);
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
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	out_text(o, "\n");
}
