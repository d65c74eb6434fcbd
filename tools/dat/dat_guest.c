/* SPDX-License-Identifier: MIT */
/* See dat_guest.h. Tests: tests/cli/test_report_kernels.py, test_view_guest.py. */
#include "tools/dat/dat_guest.h"

#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/dat/dat_format.h"

static int damaged(const struct dat_reader *d)
{
	return dat_damaged(d, "its option about the guest's time");
}

static int read_samples(const struct dat_reader *d, struct cursor *c, struct dat_shift *s)
{
	uint32_t nr = cursor_u32(c);

	if (c->bad || nr > (c->end - c->pos) / (3 * sizeof(uint64_t)))
		return damaged(d);
	s->at = calloc(nr + 1u, sizeof(*s->at));
	if (!s->at)
		return dat_no_memory(d);
	s->nr = nr;
	for (uint32_t i = 0; i < nr; i++)
		s->at[i].time = (int64_t)cursor_u64(c);
	for (uint32_t i = 0; i < nr; i++)
		s->at[i].offset = (int64_t)cursor_u64(c);
	for (uint32_t i = 0; i < nr; i++)
		s->at[i].scaling = (int64_t)cursor_u64(c);
	return 0;
}

static int read_shifts(const struct dat_reader *d, const struct dat_option_data *o,
		       struct dat_shifts *out)
{
	struct cursor c;
	int ret = 0;

	dat_cursor_on_memory(d, &c, o->data, o->bytes);
	cursor_u64(&c); /* the peer's trace */
	out->interpolates = cursor_u32(&c) & 1;
	out->nr_cpus = cursor_u32(&c);
	if (c.bad || out->nr_cpus > o->bytes / sizeof(uint32_t)) {
		out->nr_cpus = 0;
		return damaged(d);
	}
	out->cpus = calloc(out->nr_cpus + 1u, sizeof(*out->cpus));
	if (!out->cpus)
		return dat_no_memory(d);
	for (uint32_t cpu = 0; !ret && cpu < out->nr_cpus; cpu++)
		ret = read_samples(d, &c, &out->cpus[cpu]);
	for (uint32_t cpu = 0; !ret && cpu < out->nr_cpus; cpu++)
		for (uint32_t i = 0; i < out->cpus[cpu].nr; i++)
			out->cpus[cpu].at[i].fraction =
				cursor_u64(&c) & 63; /* old files have none */
	return ret;
}

int dat_shifts_read(const struct dat_reader *d, struct dat_shifts *out)
{
	for (size_t i = 0; i < d->nr_options; i++)
		if (d->options[i].id == DAT_TIME_SHIFT)
			return read_shifts(d, &d->options[i], out);
	return 0;
}

void dat_shifts_free(struct dat_shifts *s)
{
	for (uint32_t cpu = 0; s->cpus && cpu < s->nr_cpus; cpu++)
		free(s->cpus[cpu].at);
	free(s->cpus);
	*s = (struct dat_shifts){0};
}

uint64_t dat_shifts_apply(const struct dat_shifts *shifts, unsigned int cpu, uint64_t ts)
{
	const struct dat_shift *s = cpu < shifts->nr_cpus ? &shifts->cpus[cpu] : NULL;
	const struct dat_shift_sample *a, *b;
	__int128 offset, span;

	if (!s || !s->nr)
		return ts;
	a = s->at;
	/* the two samples around it, or the first or last two */
	for (uint32_t i = 1; i + 1 < s->nr && (int64_t)ts >= s->at[i].time; i++)
		a = &s->at[i];
	offset = a->offset;
	b = s->nr > 1 ? a + 1 : a;
	span = (__int128)b->time - a->time;
	if (shifts->interpolates && span)
		offset += (((__int128)(int64_t)ts - a->time) * ((__int128)b->offset - a->offset) +
			   span / 2) /
			  span;
	return (uint64_t)((__int128)ts * a->scaling >> a->fraction) + (uint64_t)offset;
}

static int read_guest(const struct dat_reader *d, const struct dat_option_data *o,
		      struct dat_peers *out)
{
	struct dat_guest *g;
	struct cursor c;

	if (ARRAY_ROOM(out->guests, out->nr_guests, out->room, 4))
		return dat_no_memory(d);
	g = &out->guests[out->nr_guests++];
	*g = (struct dat_guest){0};
	dat_cursor_on_memory(d, &c, o->data, o->bytes);
	cursor_string(&c, g->name, sizeof(g->name));
	g->trace_id = cursor_u64(&c);
	g->nr_cpus = cursor_u32(&c);
	if (c.bad || g->nr_cpus > (c.end - c.pos) / (2 * sizeof(uint32_t))) {
		g->nr_cpus = 0;
		return dat_damaged(d, "its option about a guest");
	}
	g->cpus = calloc(g->nr_cpus + 1u, sizeof(*g->cpus));
	if (!g->cpus)
		return dat_no_memory(d);
	for (uint32_t i = 0; i < g->nr_cpus; i++) {
		g->cpus[i].cpu = cursor_u32(&c);
		g->cpus[i].tid = (int32_t)cursor_u32(&c);
	}
	return 0;
}

int dat_peers_read(const char *path, struct dat_peers *out)
{
	struct dat_reader *d;
	int ret = dat_open(path, true, &d);

	*out = (struct dat_peers){0};
	if (ret)
		return ret;
	ret = dat_shifts_read(d, &out->shifts);
	for (size_t i = 0; !ret && i < d->nr_options; i++) {
		const struct dat_option_data *o = &d->options[i];
		struct cursor c;

		dat_cursor_on_memory(d, &c, o->data, o->bytes);
		if (o->id == DAT_TRACEID)
			out->trace_id = cursor_u64(&c);
		else if (o->id == DAT_GUEST)
			ret = read_guest(d, o, out);
	}
	reader_close(&d->head);
	return ret;
}

void dat_peers_free(struct dat_peers *p)
{
	for (size_t i = 0; i < p->nr_guests; i++)
		free(p->guests[i].cpus);
	free(p->guests);
	dat_shifts_free(&p->shifts);
	*p = (struct dat_peers){0};
}
