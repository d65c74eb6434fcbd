/* SPDX-License-Identifier: MIT */
/* Prints btt's tables with btt's widths, rules and digits, because scripts read them. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/blk/blk_model.h"

static void put_title(struct out *o, const char *title)
{
	out_printf(o, "==================== %s ====================\n\n", title);
}

static const char *device_text(char text[32], uint32_t device)
{
	snprintf(text, 32, "(%3u,%3u)", BLK_MAJOR(device), BLK_MINOR(device));
	return text;
}

bool blk_is_device_asked(const struct blk_model *m, uint32_t device)
{
	const char *p = m->f->devices;
	unsigned int major, minor;

	for (; p; p = strchr(p, ';') ? strchr(p, ';') + 1 : NULL)
		if (sscanf(p, "%u,%u", &major, &minor) == 2 && BLK_DEV(major, minor) == device)
			return true;
	return !m->f->devices;
}

/* Does -e name it? */
bool blk_is_program_asked(const struct blk_model *m, const char *name)
{
	const char *p = m->f->programs;
	size_t n = strlen(name);

	for (; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, name, n) && (!p[n] || p[n] == ','))
			return true;
	return !m->f->programs;
}

/* The next device that -D names. */
struct blk_device *blk_next_device(const struct blk_model *m, struct blk_device *d)
{
	for (d = d ? d + 1 : m->devices; d && d < m->devices + m->nr_devices; d++)
		if (blk_is_device_asked(m, d->device))
			return d;
	return NULL;
}

static void put_sum_head(struct out *o, const char *name)
{
	out_printf(o, "%15s %13s %13s %13s %11s\n", name, "MIN", "AVG", "MAX", "N");
	out_text(o, "--------------- ------------- ------------- ------------- -----------\n");
}

static void put_sum(struct out *o, const char *name, const struct blk_sum *s)
{
	if (s->n && (int64_t)s->n > 0)
		out_printf(o, "%-15s %13.9f %13.9f %13.9f %11" PRIu64 "\n", name,
			   blk_seconds(s->min), blk_seconds(s->total) / (double)s->n,
			   blk_seconds(s->max), s->n);
}

const struct blk_step_row blk_step_rows[] = {
	{Q2Q_DM, "Q2Qdm", true}, {Q2A_DM, "Q2Adm", true}, {Q2C_DM, "Q2Cdm", true},
	{BLK_STEPS, NULL, true}, /* an empty line */
	{Q2Q, "Q2Q", true},	 {Q2A, "Q2A", true},	  {Q2G, "Q2G", true},
	{S2G, "S2G", true},	 {G2I, "G2I", true},	  {Q2M, "Q2M", true},
	{I2D, "I2D", true},	 {M2D, "M2D", false},	  {D2C, "D2C", true},
	{Q2C, "Q2C", true},
};
#define steps	 blk_step_rows
#define NR_STEPS BLK_STEP_ROWS
static_assert(sizeof(steps) / sizeof(*steps) == NR_STEPS, "blk_model.h has their number");

static void put_processes(struct out *o, const struct blk_model *m)
{
	put_title(o, "Per Process");
	for (size_t i = 0; i < NR_STEPS; i++) {
		if (!steps[i].name)
			out_text(o, "\n");
		if (!steps[i].name || !steps[i].of_each)
			continue;
		put_sum_head(o, steps[i].name);
		for (size_t k = 0; k < m->nr_processes; k++) {
			const struct blk_process *p = &m->processes[k];
			char name[15];

			snprintf(name, sizeof(name), "%.14s", p->name);
			if (blk_is_program_asked(m, p->name))
				put_sum(o, name, &p->sums[steps[i].step]);
		}
		out_text(o, "\n");
	}
}

static void put_devices(struct out *o, const struct blk_model *m)
{
	char name[32];

	put_title(o, "Per Device");
	for (size_t i = 0; i < NR_STEPS; i++) {
		struct blk_device *d = NULL;

		if (!steps[i].name)
			out_text(o, "\n");
		if (!steps[i].name || !steps[i].of_each)
			continue;
		put_sum_head(o, steps[i].name);
		while ((d = blk_next_device(m, d)))
			put_sum(o, device_text(name, d->device), &d->sums[steps[i].step]);
		out_text(o, "\n");
	}
}

static void put_all(struct out *o, const struct blk_model *m)
{
	put_title(o, "All Devices");
	put_sum_head(o, "ALL");
	for (size_t i = 0; i < NR_STEPS; i++)
		if (steps[i].name)
			put_sum(o, steps[i].name, &m->sums[steps[i].step]);
		else
			out_text(o, "\n");
	out_text(o, "\n");
}

const enum blk_step blk_shares[] = {Q2G, G2I, Q2M, I2D, D2C};
#define shares	  blk_shares
#define NR_SHARES BLK_SHARES
static_assert(sizeof(shares) / sizeof(*shares) == NR_SHARES, "blk_model.h has their number");

static void put_shares(struct out *o, const char *name, const struct blk_sum *sums, double all)
{
	out_printf(o, "%10s |", name);
	for (size_t i = 0; i < NR_SHARES; i++)
		out_printf(o, " %8.4f%%", 100.0 * (double)sums[shares[i]].total / all);
	out_text(o, "\n");
}

static void put_overhead(struct out *o, const struct blk_model *m)
{
	static const char rule[] =
		"---------- | --------- --------- --------- --------- ---------\n";
	struct blk_sum total[BLK_STEPS] = {0};
	struct blk_device *d = NULL;
	char name[32];
	bool any = false;

	put_title(o, "Device Overhead");
	out_printf(o, "%10s | %9s %9s %9s %9s %9s\n%s", "DEV", "Q2G", "G2I", "Q2M", "I2D", "D2C",
		   rule);
	while ((d = blk_next_device(m, d))) {
		if (!d->sums[Q2C].n || !d->sums[Q2C].total)
			continue;
		put_shares(o, device_text(name, d->device), d->sums, (double)d->sums[Q2C].total);
		for (int i = 0; i < BLK_STEPS; i++) {
			total[i].total += d->sums[i].total;
			total[i].n += d->sums[i].n;
		}
	}
	for (size_t i = 0; i < NR_SHARES; i++)
		any |= total[shares[i]].n != 0;
	if (any) {
		out_text(o, rule);
		put_shares(o, "Overall", total, (double)total[Q2C].total);
	}
	out_text(o, "\n");
}

static void put_merges(struct out *o, const struct blk_model *m)
{
	static const char rule[] =
		"---------- | -------- -------- ------- | -------- -------- -------- --------\n";
	static const char head[] = "%10s | %8s %8s %7s | %8s %8s %8s %8s\n";
	static const char row[] = "%10s | %8" PRIu64 " %8" PRIu64 " %7.1f | %8" PRIu64 " %8" PRIu64
				  " %8" PRIu64 " %8" PRIu64 "\n";
	struct blk_device *d = NULL;
	struct blk_sum all = {0};
	uint64_t nr_q = 0, nr_d = 0;
	char name[32];

	put_title(o, "Device Merge Information");
	out_printf(o, head, "DEV", "#Q", "#D", "Ratio", "BLKmin", "BLKavg", "BLKmax", "Total");
	out_text(o, rule);
	while ((d = blk_next_device(m, d))) {
		if (!d->nr_q || !d->nr_d)
			continue;
		out_printf(o, row, device_text(name, d->device), d->nr_q, d->nr_d,
			   (double)d->nr_q / (double)d->nr_d, d->blocks.min,
			   (uint64_t)((double)d->blocks.total / (double)d->nr_d), d->blocks.max,
			   d->blocks.total);
		if (!all.n || d->blocks.min < all.min)
			all.min = d->blocks.min;
		if (d->blocks.max > all.max)
			all.max = d->blocks.max;
		all.n++;
		all.total += d->blocks.total;
		nr_q += d->nr_q;
		nr_d += d->nr_d;
	}
	if (all.n > 1) {
		out_text(o, rule);
		out_printf(o, head, "DEV", "#Q", "#D", "Ratio", "BLKmin", "BLKavg", "BLKmax",
			   "Total");
		out_printf(o, row, "TOTAL", nr_q, nr_d, (double)((float)nr_q / (float)nr_d),
			   all.min, all.total / nr_d, all.max, all.total);
	}
	out_text(o, "\n");
}

/* The modes of all devices: the distances with the greatest count, the last found first. */
struct mode {
	int64_t distance;
	uint64_t n;
};

struct seek_total {
	uint64_t n;
	double mean;
	__int128 median;       /* distances may be of any size */
	struct mode modes[64]; /* in the order in which they were found */
	size_t nr_modes;
	bool any;
};

static void add_modes(struct seek_total *t, const struct blk_modes *modes)
{
	for (size_t i = 0; i < modes->nr; i++) {
		size_t k;

		for (k = 0; k < t->nr_modes; k++)
			if (t->modes[k].distance == modes->of[i])
				break;
		if (k < t->nr_modes)
			t->modes[k].n += modes->n;
		else if (t->nr_modes < sizeof(t->modes) / sizeof(*t->modes))
			t->modes[t->nr_modes++] = (struct mode){modes->of[i], modes->n};
	}
}

static void put_seek_total(struct out *o, const struct seek_total *t)
{
	const struct mode *best = NULL;
	size_t more = 0;

	for (size_t i = t->nr_modes; i--;) {
		const struct mode *mode = &t->modes[i];

		if (!best || mode->n > best->n) {
			best = mode;
			more = 0;
		} else if (mode->n == best->n) {
			best = mode;
			more++;
		}
	}
	out_printf(o, "%10s | %15" PRIu64 " %15.1f %15" PRId64 " | %" PRId64 "(%" PRIu64 ")",
		   "Average", t->n, t->mean / (double)t->n, (int64_t)(t->median / t->n),
		   best ? best->distance : 0, best ? best->n : 0);
	if (more)
		out_printf(o, "\n%10s   %15s %15s %15s   ...(%zu more)\n", "", "", "", "", more);
	out_text(o, "\n");
}

static void put_seeks(struct out *o, const struct blk_model *m, bool of_q)
{
	static const char rule[] = "---------- | --------------- --------------- --------------- | "
				   "---------------\n";
	struct seek_total total = {0};
	struct blk_device *d = NULL;
	char name[32];

	put_title(o, of_q ? "Device Q2Q Seek Information" : "Device D2D Seek Information");
	out_printf(o, "%10s | %15s %15s %15s | %-15s\n%s", "DEV", "NSEEKS", "MEAN", "MEDIAN",
		   "MODE", rule);
	while ((d = blk_next_device(m, d))) {
		const struct blk_seeks *s = of_q ? &d->q_seeks : &d->d_seeks;
		struct blk_modes modes;
		double mean;

		if (!s->n || blk_seeks_modes(s, &modes))
			continue;
		mean = s->sectors / (double)s->n;
		out_printf(o,
			   "%10s | %15" PRIu64 " %15.1f %15" PRId64 " | %" PRId64 "(%" PRIu64 ")",
			   device_text(name, d->device), s->n, mean, blk_seeks_median(s),
			   modes.of[0], modes.n);
		if (modes.nr > 2)
			out_printf(o, "\n%10s   %15s %15s %15s   ...(%zu more)\n", "", "", "", "",
				   modes.nr - 1);
		else
			out_printf(o, modes.nr == 2 ? " %" PRId64 "\n" : "\n",
				   modes.of[modes.nr - 1]);
		total.any = true;
		total.n += s->n;
		total.mean += (double)s->n * mean;
		total.median += (__int128)s->n * blk_seeks_median(s);
		add_modes(&total, &modes);
		free(modes.of);
	}
	if (total.any) {
		out_text(o, rule);
		out_printf(o, "%10s | %15s %15s %15s | %-15s\n", "Overall", "NSEEKS", "MEAN",
			   "MEDIAN", "MODE");
		put_seek_total(o, &total);
	}
	out_text(o, "\n");
}

static double average(uint64_t ios, uint64_t n)
{
	return ios && n ? (double)ios / (double)n : 0.0;
}

static void put_plugs(struct out *o, const struct blk_model *m)
{
	uint64_t n = 0, unplugs = 0, timer = 0, ios = 0, ios_timer = 0, by_ios = 0, by_timer = 0;
	struct blk_device *d = NULL;
	double share = 0;
	char name[32];

	put_title(o, "Plug Information");
	out_printf(o, "%10s | %10s %10s  | %s\n", "DEV", "# Plugs", "# Timer Us",
		   "% Time Q Plugged");
	out_text(o, "---------- | ---------- ----------  | ----------------\n");
	while ((d = blk_next_device(m, d))) {
		double percent;

		if (!d->nr_unplugs && !d->nr_timer_unplugs)
			continue;
		percent = 100.0 * (d->plugged_s / (d->end_s - d->begin_s));
		out_printf(o, "%10s | %10" PRIu64 "(%10" PRIu64 ") | %13.9f%%\n",
			   device_text(name, d->device), d->nr_unplugs, d->nr_timer_unplugs,
			   percent);
		n++;
		unplugs += d->nr_unplugs;
		timer += d->nr_timer_unplugs;
		share += percent;
	}
	if (n > 1) {
		out_text(o, "---------- | ---------- ----------  | ----------------\n");
		out_printf(o, "%10s | %10s %10s  | %s\n", "Overall", "# Plugs", "# Timer Us",
			   "% Time Q Plugged");
		out_printf(o, "%10s | %10" PRIu64 "(%10" PRIu64 ") | %13.9f%%\n", "Average",
			   unplugs / n, timer / n, share / (double)n);
	}
	out_printf(o, "\n%10s | %10s   %10s\n", "DEV", "IOs/Unp", "IOs/Unp(to)");
	out_text(o, "---------- | ----------   ----------\n");
	while ((d = blk_next_device(m, d))) {
		out_printf(o, "%10s | %10.1f   %10.1f\n", device_text(name, d->device),
			   average(d->ios_up, d->nr_unplugs),
			   average(d->ios_up_timer, d->nr_timer_unplugs));
		if (d->ios_up && d->nr_unplugs) {
			by_ios += d->nr_unplugs;
			ios += d->ios_up;
		}
		if (d->ios_up_timer && d->nr_timer_unplugs) {
			by_timer += d->nr_timer_unplugs;
			ios_timer += d->ios_up_timer;
		}
	}
	if (by_ios || by_timer) {
		out_text(o, "---------- | ----------   ----------\n");
		out_printf(o, "%10s | %10s   %10s\n", "Overall", "IOs/Unp", "IOs/Unp(to)");
		out_printf(o, "%10s | %10.1f   %10.1f\n", "Average", average(ios, by_ios),
			   average(ios_timer, by_timer));
	}
	out_text(o, "\n");
}

static void put_depths(struct out *o, const struct blk_model *m)
{
	struct blk_device *d = NULL;
	uint64_t n = 0, nr_q = 0, at_q = 0;
	char name[32];

	put_title(o, "Active Requests At Q Information");
	out_printf(o, "%10s | %13s\n---------- | -------------\n", "DEV", "Avg Reqs @ Q");
	while ((d = blk_next_device(m, d))) {
		if (!d->nr_q || blk_is_remapper(d->device))
			continue;
		out_printf(o, "%10s | %13.1f\n", device_text(name, d->device),
			   (double)d->at_q / (double)d->nr_q);
		n++;
		nr_q += d->nr_q;
		at_q += d->at_q;
	}
	if (n > 1) {
		out_printf(o, "---------- | -------------\n%10s | %13s\n", "Overall",
			   "Avgs Reqs @ Q");
		out_printf(o, "%10s | %13.1f\n", "Average", (double)at_q / (double)nr_q);
	}
	out_text(o, "\n");
}

struct blk_live blk_live_of(const struct blk_ranges *r)
{
	struct blk_live l = {.share = r->nr == 1 ? 100.0 : 0.0};
	uint64_t live_ns = 0;

	for (size_t i = 0; i < r->nr; i++)
		live_ns += r->of[i].to_ns - r->of[i].from_ns;
	if (r->nr > 1) {
		/* as in btt, the time begins at 0 */
		double all = blk_seconds(r->of[r->nr - 1].to_ns), live = blk_seconds(live_ns);

		l.share = 100.0 * (live / all);
		l.act = live / (double)r->nr;
		l.pause = (all - live) / (double)(r->nr - 1);
	}
	return l;
}

static void put_live_row(struct out *o, const char *name, const struct blk_ranges *r)
{
	struct blk_live l = blk_live_of(r);

	out_printf(o, "%10s | %10zu %13.9f %13.9f %6.2f\n", name, r->nr, l.act, l.pause, l.share);
}

static void put_live(struct out *o, const struct blk_model *m)
{
	static const char rule[] = "---------- | ---------- ------------- ------------- ------\n";
	struct blk_device *d = NULL;
	char name[32];

	put_title(o, "I/O Active Period Information");
	out_printf(o, "%10s | %10s %13s %13s %6s\n%s", "DEV", "# Live", "Avg. Act", "Avg. !Act",
		   "% Live", rule);
	while ((d = blk_next_device(m, d)))
		put_live_row(o, device_text(name, d->device), &d->live);
	out_text(o, rule);
	put_live_row(o, "Total Sys", &m->live);
	out_text(o, "\n");
}

static void put_q2d_row(struct out *o, const char *name, const struct blk_q2d *h)
{
	out_printf(o, "%10s | ", name);
	for (int i = 0; i < BLK_Q2D_CLASSES; i++)
		out_printf(o, "%5.1f ", 100.0 * (double)h->of[i] / (double)h->n);
	out_text(o, "\n");
}

static void put_q2d(struct out *o, const struct blk_model *m)
{
	static const char rule[] = "===== ===== ===== ===== ===== ===== ===== ===== ===== ===== \n";
	struct blk_device *d = NULL;
	struct blk_q2d all = {0};
	char name[32];

	put_title(o, "Q2D Histogram");
	out_printf(o, "%10s | <.005 <.010 <.025 <.050 <.075 <.100 <.250 <.500 < 1.0 >=1.0\n",
		   "DEV");
	out_printf(o, " --------- | %s", rule);
	while ((d = blk_next_device(m, d))) {
		if (!d->q2d.n)
			continue;
		put_q2d_row(o, device_text(name, d->device), &d->q2d);
		for (int i = 0; i < BLK_Q2D_CLASSES; i++)
			all.of[i] += d->q2d.of[i];
		all.n += d->q2d.n;
	}
	if (all.n) {
		out_printf(o, "========== | %s", rule);
		put_q2d_row(o, "AVG", &all);
		out_text(o, "\n");
	}
}

static void put_ranges(struct out *o, const struct blk_ranges *r, double base)
{
	for (size_t i = 0; i < r->nr; i++) {
		double from = blk_seconds(r->of[i].from_ns), to = blk_seconds(r->of[i].to_ns);

		out_printf(o, "%13.9f %5.1f\n%13.9f %5.1f\n", from, base, from, base + 0.4);
		out_printf(o, "%13.9f %5.1f\n%13.9f %5.1f\n", to, base + 0.4, to, base);
	}
	out_text(o, "\n");
}

/* Return: was there any activity? */
static bool put_activity(struct out *o, const char *name, const struct blk_activity *a, double base)
{
	if (!a->q.nr && !a->c.nr)
		return false;
	out_printf(o, "# %16s : q activity\n", name);
	put_ranges(o, &a->q, base);
	out_printf(o, "# %16s : c activity\n", name);
	put_ranges(o, &a->c, base + 0.5);
	return true;
}

static void put_activities(struct out *o, const struct blk_model *m)
{
	struct blk_device *d = NULL;
	double base = 0;
	char name[32];

	out_text(o, "# Total System\n");
	base += put_activity(o, "Total System", &m->activity, base);
	if (m->nr_devices > 1) {
		out_text(o, "# Per device\n");
		while ((d = blk_next_device(m, d))) {
			snprintf(name, sizeof(name), "%u,%u", BLK_MAJOR(d->device),
				 BLK_MINOR(d->device));
			base += put_activity(o, name, &d->activity, base);
		}
	}
	out_text(o, "# Per process\n");
	for (size_t i = 0; i < m->nr_processes; i++) {
		if (!blk_is_program_asked(m, m->processes[i].name))
			continue;
		put_activity(o, m->processes[i].name, &m->processes[i].activity, base);
		base += 1;
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct blk_process *)a)->name, ((const struct blk_process *)b)->name);
}

void blk_model_end(struct blk_model *m)
{
	/* blk_pid.process is not used any more, so the processes may be sorted */
	if (m->nr_processes)
		qsort(m->processes, m->nr_processes, sizeof(*m->processes), by_name);
	for (size_t i = 0; i < m->nr_devices; i++) {
		struct blk_device *d = &m->devices[i];

		if (d->nr_q && d->nr_q < d->nr_d)
			d->nr_q = d->nr_d;
		if (d->plugged) {
			d->plugged = false;
			d->nr_unplugs++;
			d->plugged_s += d->end_s - d->plug_s;
		}
	}
}

int blk_tables_put(struct out *o, const struct blk_model *m)
{
	if (m->f->all) {
		put_processes(o, m);
		put_devices(o, m);
	}
	put_all(o, m);
	put_overhead(o, m);
	put_merges(o, m);
	put_seeks(o, m, true);
	put_seeks(o, m, false);
	put_plugs(o, m);
	put_depths(o, m);
	put_live(o, m);
	if (m->f->all)
		put_q2d(o, m);
	put_activities(o, m);
	return m->f->program ? blk_ios_put(o, &m->ios) : 0;
}
