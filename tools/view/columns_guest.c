/* SPDX-License-Identifier: MIT */
/*
 * See columns.h. The clock of a guest's first CPU with samples is used for all its CPUs: rows of
 * threads go from CPU to CPU, and the samples of the CPUs differ only by their error.
 * Tests: tests/cli/test_view_guest.py.
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/base/spill_array.h"
#include "tools/dat/dat_guest.h"
#include "tools/view/columns.h"

struct clock_of_host {
	const struct dat_shifts *shifts;
	unsigned int cpu;
};

static uint64_t host_time(const struct clock_of_host *k, uint64_t ts)
{
	return dat_shifts_apply(k->shifts, k->cpu, ts);
}

/* Spans keep their order, also if the file's clock samples would change it. */
static int move_row(struct span_row *row, const struct clock_of_host *k)
{
	uint64_t end = 0;

	for (size_t i = 0; i < row->nr; i++) {
		uint64_t from = host_time(k, row->start[i]);
		uint64_t to = host_time(k, row->start[i] + row->length[i]);

		row->start[i] = from > end ? from : end;
		end = to > row->start[i] && row->length[i] ? to : row->start[i];
		row->length[i] = end - row->start[i];
	}
	span_row_clear_tree(row);
	return span_row_finish(row);
}

static int move_times(struct columns *c, const struct clock_of_host *k)
{
	struct column_events *e = &c->events;
	int err = 0;

	for (size_t i = 0; i < c->nr_tracks; i++) {
		for (uint32_t row = 0; row < c->tracks[i].nr_rows && !err; row++)
			err = move_row(&c->tracks[i].rows[row], k);
		spill_arrays_trim();
	}
	for (size_t i = 0; i < e->nr; i++) {
		e->ts[i] = host_time(k, e->ts[i]);
		if (i && e->ts[i] < e->ts[i - 1])
			e->ts[i] = e->ts[i - 1];
	}
	for (size_t i = 0; i < c->nr_lost; i++)
		c->lost[i].ts = host_time(k, c->lost[i].ts);
	c->files[0].offset = (int64_t)(host_time(k, c->first) - c->first);
	c->first = host_time(k, c->first);
	c->last = host_time(k, c->last);
	if (c->last < c->first)
		c->last = c->first;
	return err;
}

/* @guest is a guest of the file numbered @host. */
static int join_host(struct columns *guest, const struct dat_peers *its, uint32_t host,
		     const struct dat_guest *g)
{
	struct column_file *f = &guest->files[0];
	struct clock_of_host k = {.shifts = &its->shifts};

	f->vcpus = calloc(g->nr_cpus + 1u, sizeof(*f->vcpus));
	if (!f->vcpus)
		return fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < g->nr_cpus; i++)
		f->vcpus[i] = (struct column_vcpu){g->cpus[i].cpu, g->cpus[i].tid};
	f->nr_vcpus = g->nr_cpus;
	f->host = host + 1;
	while (k.cpu < its->shifts.nr_cpus && !its->shifts.cpus[k.cpu].nr)
		k.cpu++;
	return k.cpu < its->shifts.nr_cpus ? move_times(guest, &k) : 0;
}

static int find_host(struct columns *const *c, const struct dat_peers *peers, unsigned int nr,
		     unsigned int guest)
{
	for (unsigned int host = 0; host < nr && peers[guest].trace_id; host++)
		for (size_t i = 0; host != guest && i < peers[host].nr_guests; i++)
			if (peers[host].guests[i].trace_id == peers[guest].trace_id)
				return join_host(c[guest], &peers[guest], host,
						 &peers[host].guests[i]);
	return 0;
}

int columns_guests(struct columns *const *c, unsigned int nr)
{
	struct dat_peers *peers = calloc(nr + 1u, sizeof(*peers));
	int err = peers ? 0 : fail(ENOMEM, "out of memory");

	for (unsigned int i = 0; !err && i < nr; i++) {
		err = dat_peers_read(c[i]->files[0].path, &peers[i]);
		/* another format; the records were read */
		if (err && err != -ENOMEM) {
			dat_peers_free(&peers[i]);
			err = 0;
		}
	}
	for (unsigned int i = 0; !err && i < nr; i++)
		err = find_host(c, peers, nr, i);
	for (unsigned int i = 0; peers && i < nr; i++)
		dat_peers_free(&peers[i]);
	free(peers);
	return err;
}
