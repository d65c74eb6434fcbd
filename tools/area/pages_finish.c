/* SPDX-License-Identifier: MIT */
/*
 * Makes a reader of all pages that were added: its clock, objects, threads, statistics and latency.
 * See pages.h.
 */
#include "tools/area/pages_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/area/object_space.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"
#include "tools/base/time_ns.h"
#include "tools/code/elf_data.h"
#include "tools/reader/tasks.h"

#define NS_PER_TICK 10000000u /* of trace_clock uptime */

/* The conversion from stamps to the first process's trace_clock. */
static int make_trace_clock(struct pages *p)
{
	static const char *const names[] = {
		[AREA_TRACE_LOCAL] = "local",	    [AREA_TRACE_GLOBAL] = "global",
		[AREA_TRACE_MONO] = "mono",	    [AREA_TRACE_BOOT] = "boot",
		[AREA_TRACE_TAI] = "tai",	    [AREA_TRACE_X86_TSC] = "x86-tsc",
		[AREA_TRACE_NONE] = "none",	    [AREA_TRACE_COUNTER] = "counter",
		[AREA_TRACE_UPTIME] = "uptime",	    [AREA_TRACE_PERF] = "perf",
		[AREA_TRACE_MONO_RAW] = "mono_raw",
	};
	const struct area_buffer *b = NULL;
	uint32_t clock;
	int err;

	for (uint32_t i = 0; i < p->nr_members && !b; i++) {
		const struct meta *m = pages_member(p, i);

		b = m && m->nr_buffers ? &m->buffers[0] : NULL;
	}
	clock = b && b->trace_clock < sizeof(names) / sizeof(*names) ? b->trace_clock : 0;
	strcpy(p->reader.clock, names[clock]);
	p->trace_clock = clock;
	if (clock == AREA_TRACE_X86_TSC || clock == AREA_TRACE_COUNTER)
		return clock_make(&p->clock, NULL, 0);
	p->clock_offset_ns =
		clock == AREA_TRACE_BOOT || clock == AREA_TRACE_TAI || clock == AREA_TRACE_MONO_RAW
			? (uint64_t)b->clock_offset_ns
			: 0;
	for (size_t i = 0; i < p->nr_pairs; i++)
		p->pairs[i].mono_ns += p->clock_offset_ns;
	err = clock_make(&p->clock, p->pairs, p->nr_pairs);
	if (!err && clock == AREA_TRACE_UPTIME)
		clock_divide(&p->clock, NS_PER_TICK);
	return err;
}

/* A hash that changes when the records do. */
static uint64_t hash_pages(const struct pages *p)
{
	uint64_t hash = p->nr_refs;

	for (size_t i = 0; i < p->nr_refs; i++) {
		const struct page_ref *r = &p->refs[i];
		const uint64_t parts[] = {r->base, r->seq, r->nr_bytes};

		for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
			hash = hash_u64(hash ^ parts[k]);
	}
	return hash;
}

static int make_clock(struct pages *p, bool sample)
{
	bool counter = false;
	int err;

	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct meta *m = pages_member(p, i);

		if (!m || m->head.clock != AREA_CLOCK_TSC)
			continue;
		counter = true;
		for (uint32_t c = 0; c < m->nr_clocks; c++) {
			err = pages_add_clock(p, &m->clocks[c]);
			if (err)
				return err;
		}
	}
	if (sample && counter && p->nr_pairs) {
		const struct meta *m = pages_member(p, 0);
		struct area_clock now;

		/* Pairs are not sorted yet; any pair shows the machine and the boot. */
		if (clock_sample_of(m ? m->head.start_time * 31 + m->head.pid : 0, hash_pages(p),
				    &now, 200) &&
		    clock_sample_fits(&p->pairs[p->nr_pairs - 1], &now)) {
			err = pages_add_clock(p, &now);
			if (err)
				return err;
		}
	}
	err = make_trace_clock(p);
	if (err)
		return err;
	p->reader.ts_is_ns = !counter || !p->clock.identity;
	/* not converted: numbers, or stamps without pairs of clocks */
	if (p->trace_clock == AREA_TRACE_COUNTER || p->trace_clock == AREA_TRACE_UPTIME)
		p->reader.ts_is_ns = false;
	else if (!p->reader.ts_is_ns)
		strcpy(p->reader.clock, "x86-tsc");
	p->reader.realtime_offset_ns = p->clock.realtime_offset_ns;
	if (!counter)
		for (uint32_t i = 0; i < p->nr_members; i++) {
			const struct meta *m = pages_member(p, i);
			const struct area_clock *c;

			if (!m || !m->nr_clocks)
				continue;
			c = &m->clocks[m->nr_clocks - 1];
			if (c->real_ns > c->mono_ns)
				p->reader.realtime_offset_ns = c->real_ns - c->mono_ns;
		}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct map *x = a, *y = b;

	return CMP(x->lo, y->lo) ? CMP(x->lo, y->lo) : CMP(x->unload, y->unload);
}

void pages_settle_maps(struct member *m)
{
	for (size_t i = 0; i < m->nr_maps; i++) {
		struct map *map = &m->maps[i];
		uint64_t before = i ? map[-1].reach : 0;

		map->reach = map->hi > before ? map->hi : before;
		map->alone = before <= map->lo && (i + 1 == m->nr_maps || map[1].lo >= map->hi);
	}
}

/* Make the tables that convert run-time addresses and function ids to addresses of a trace.dat. */
static int make_maps(struct member *mb, const struct object_space *space, const int *numbers)
{
	const struct meta *m = mb->meta;

	mb->maps = calloc(m->nr_objects + 1, sizeof(*mb->maps));
	mb->functions = calloc((size_t)m->nr_functions + 1, sizeof(*mb->functions));
	if (!mb->maps || !mb->functions)
		return fail(ENOMEM, "out of memory for %u functions", m->nr_functions);
	mb->nr_functions = m->nr_functions;
	mb->counter = m->head.clock == AREA_CLOCK_TSC;
	for (uint32_t i = 0; i < m->nr_objects; i++) {
		const struct area_object *o = &m->objects[i];

		if (o->lo < o->hi)
			mb->maps[mb->nr_maps++] = (struct map){
				.lo = o->lo,
				.hi = o->hi,
				.bias = o->bias,
				.base = object_space_base(space, numbers[i]),
				.unload = o->unload_stamp ? o->unload_stamp : UINT64_MAX,
			};
	}
	mb->no_gaps = true;
	for (uint32_t i = 0; i < m->nr_functions; i++) {
		const struct area_function *f = &m->functions[i];

		if (f->object < m->nr_objects)
			mb->functions[i] = object_space_addr(
				object_space_base(space, numbers[f->object]), f->offset);
		mb->no_gaps &= mb->functions[i] != 0;
	}
	if (mb->nr_maps)
		qsort(mb->maps, mb->nr_maps, sizeof(*mb->maps), by_address);
	pages_settle_maps(mb);
	return 0;
}

/* Get the symbols of all objects: from the source if it has them, else from the objects' files. */
static int load_names(struct pages *p, struct object_space *space, const struct pages_finish *how)
{
	struct symbols *symbols = p->reader.symbols;

	if (!how->names)
		return object_space_load(space, symbols, how->note);
	if (symbols_add_kallsyms(symbols, how->names, how->names_bytes))
		return fail(ENOMEM, "out of memory for the symbols");
	return object_space_paths(space, symbols);
}

int pages_make_objects(struct pages *p, const struct pages_finish *how)
{
	struct object_space *space = object_space_new();
	int **numbers = calloc(p->nr_members + 1, sizeof(*numbers));
	int err = 0;

	if (!space || !numbers)
		err = fail(ENOMEM, "out of memory for objects");
	for (uint32_t i = 0; i < p->nr_members && !err; i++) {
		const struct meta *m = pages_member(p, i);

		if (!m)
			continue;
		numbers[i] = calloc(m->nr_objects + 1, sizeof(int));
		if (!numbers[i])
			err = fail(ENOMEM, "out of memory for objects");
		for (uint32_t o = 0; o < m->nr_objects && !err; o++) {
			numbers[i][o] = object_space_add(space, m, o);
			if (numbers[i][o] < 0)
				err = numbers[i][o];
		}
	}
	if (!err)
		err = object_space_assign(space);
	for (uint32_t i = 0; i < p->nr_members && !err; i++) {
		struct member *mb = p->members[i];

		if (mb && mb->meta)
			err = make_maps(mb, space, numbers[i]);
	}
	if (!err && !how->no_names)
		err = load_names(p, space, how);
	for (uint32_t i = 0; numbers && i < p->nr_members; i++)
		free(numbers[i]);
	free(numbers);
	object_space_free(space);
	return err;
}

struct seen_task {
	const struct area_task *task;
	bool own; /* a thread of the process of this row */
	size_t nr;
};

/*
 * A process's row about its own thread is preferred to another process's. Of two images of one
 * process the later name is kept.
 */
static int by_weight(const void *pa, const void *pb)
{
	const struct seen_task *a = pa, *b = pb;

	if (a->own != b->own)
		return a->own - b->own;
	if (a->task->start_stamp != b->task->start_stamp)
		return a->task->start_stamp < b->task->start_stamp ? -1 : 1;
	return a->nr < b->nr ? -1 : 1;
}

static int make_tasks(struct pages *p)
{
	struct seen_task *seen = NULL;
	size_t nr = 0, room = 0;
	int err = 0;

	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct meta *m = pages_member(p, i);

		for (uint32_t t = 0; m && t < m->nr_tasks && !err; t++) {
			const struct area_task *task = &m->tasks[t];

			if (task->tid <= 0 || !task->comm[0])
				continue;
			err = ARRAY_ROOM(seen, nr, room, 64);
			if (!err) {
				seen[nr] = (struct seen_task){
					task, task->tgid == (int32_t)m->head.pid, nr};
				nr++;
			}
		}
	}
	if (nr && !err)
		qsort(seen, nr, sizeof(*seen), by_weight);
	for (size_t i = 0; i < nr && !err; i++) {
		const struct area_task *task = seen[i].task;

		err = tasks_set(p->reader.tasks, task->tid, task->tgid, task->comm) ||
		      (seen[i].own && tasks_trace(p->reader.tasks, task->tid, task->tgid));
	}
	free(seen);
	return err ? fail(ENOMEM, "out of memory for the names of threads") : 0;
}

static int make_stats(struct pages *p, uint64_t now_ns)
{
	struct reader *r = &p->reader;

	r->stats = calloc(r->nr_cpus, sizeof(*r->stats));
	if (!r->stats)
		return fail(ENOMEM, "out of memory for %u CPUs", r->nr_cpus);
	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct meta *m = pages_member(p, i);
		const struct area_buffer *b = m ? m->buffers : NULL;

		if (!m || !m->nr_buffers)
			continue;
		for (uint32_t c = b->first_cpu; c < b->first_cpu + b->nr_cpus; c++) {
			struct reader_cpu_stats *s = &r->stats[m->cpus[c].cpu];

			s->overrun += m->cpus[c].overrun;
			s->commit_overrun += m->cpus[c].commit_overrun;
			s->dropped_events += m->cpus[c].dropped_events;
			s->read_events += m->cpus[c].read_events;
		}
	}
	for (size_t i = 0; i < p->nr_refs; i++) {
		const struct page_ref *ref = &p->refs[i];
		struct reader_cpu_stats *s = &r->stats[ref->cpu];

		if (!s->entries)
			s->oldest_ts = ref->base;
		s->entries += ref->nr_records;
		s->bytes += ref->nr_bytes;
		if (ref->base > s->now_ts)
			s->now_ts = ref->base;
	}
	if (!p->follow) /* a follower reads more */
		pages_find_lost_at_end(p, r->stats);
	for (unsigned int c = 0; c < r->nr_cpus; c++)
		if (now_ns && r->ts_is_ns)
			r->stats[c].now_ts = now_ns + p->clock_offset_ns;
	return 0;
}

static void copy_text(char *to, size_t room, const char *from)
{
	size_t n = from ? strnlen(from, room - 1) : 0;

	if (n)
		memcpy(to, from, n);
	to[n] = '\0';
}

/* Facts about the processes; most come from the first one. */
void pages_make_head(struct pages *p, const struct pages_finish *how)
{
	struct reader *r = &p->reader;

	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct meta *m = pages_member(p, i);

		if (!m)
			continue;
		if (m->head.nr_cpus > r->nr_cpus)
			r->nr_cpus = m->head.nr_cpus;
		if (m->nr_buffers && !r->tracer[0]) {
			copy_text(r->tracer, sizeof(r->tracer), m->buffers[0].tracer);
			r->overwrite = meta_overwrites(m);
			r->options_flipped = m->buffers[0].options ^ AREA_OPTIONS_DEFAULT;
			r->subbuf_kb = m->buffers[0].subbuf_kb;
		}
	}
	if (!r->nr_cpus)
		r->nr_cpus = 1;
	if (!r->tracer[0])
		strcpy(r->tracer, "nop");
	r->nr_cpus_online = how->nr_cpus_online && how->nr_cpus_online <= r->nr_cpus
				    ? how->nr_cpus_online
				    : r->nr_cpus;
	copy_text(r->uname, sizeof(r->uname), how->uname);
	copy_text(r->cmdline, sizeof(r->cmdline), how->cmdline);
}

/* Name the lock by the object in which it lies. */
static void name_lock(const struct meta *m, struct reader_latency *l)
{
	for (uint32_t i = 0; i < m->nr_objects; i++) {
		const struct area_object *o = &m->objects[i];

		if (l->of.lock < o->lo || l->of.lock >= o->hi || o->unload_stamp)
			continue;
		elf_data_name(meta_string(m, o->path), l->of.lock - o->bias, l->lock_name,
			      sizeof(l->lock_name));
		return;
	}
}

/* The longest latency that the processes' tracers keep. */
static void make_latency(struct pages *p)
{
	struct reader_latency *to = &p->latency;

	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct meta *m = pages_member(p, i);
		const struct area_latency *l;

		if (!m || !m->nr_latencies || !m->nr_buffers ||
		    !(m->buffers[0].flags & AREA_BUFFER_PRINT_MAX))
			continue;
		l = &m->latencies[0];
		if (!l->to_stamp || (p->reader.latency && l->latency_ns <= to->of.latency_ns))
			continue;
		p->reader.latency = to;
		to->of = *l;
		to->of.comm[sizeof(l->comm) - 1] = '\0';
		for (uint32_t k = 0; k < AREA_LATENCY_WAITERS; k++)
			to->of.waiters[k].comm[sizeof(l->waiters[k].comm) - 1] = '\0';
		to->of.started_at = pages_canonical(p->members[i], l->started_at, l->from_stamp);
		if (l->lock)
			name_lock(m, to);
		if (l->lock_site)
			to->of.lock_site =
				pages_canonical(p->members[i], l->lock_site, l->from_stamp);
		to->of.ended_at = pages_canonical(p->members[i], l->ended_at, l->to_stamp);
		to->begin_ts =
			p->members[i]->counter ? clock_ns(&p->clock, l->from_stamp) : l->from_stamp;
	}
}

struct reader *pages_finish(struct pages *p, const struct pages_finish *how, int *err)
{
	p->reader.ops = p->follow ? &pages_follow_ops : &pages_ops;
	p->reader.symbols = symbols_new();
	p->reader.tasks = tasks_new();
	if (!p->reader.symbols || !p->reader.tasks) {
		*err = fail(ENOMEM, "out of memory");
		pages_free(p);
		return NULL;
	}
	pages_make_head(p, how);
	*err = make_clock(p, how->sample_clock);
	if (!*err &&
	    symbols_add(p->reader.symbols, SYMBOLS_MARK_ADDR, 'T', SYMBOLS_MARK_NAME, NULL))
		*err = fail(ENOMEM, "out of memory");
	if (!*err)
		*err = pages_make_objects(p, how);
	if (!*err)
		*err = make_tasks(p);
	if (!*err)
		*err = pages_make_events(p);
	if (!*err) {
		pages_settle(p);
		*err = make_stats(p, how->now_ns);
	}
	if (!*err)
		*err = pages_make_streams(p);
	if (!*err && how->latency)
		make_latency(p);
	if (*err) {
		pages_free(p);
		return NULL;
	}
	return &p->reader;
}

int pages_refresh(struct pages *p)
{
	struct area_clock now;
	bool counter = false;
	int err = make_tasks(p);

	for (uint32_t i = 0; i < p->nr_members && !counter; i++) {
		const struct meta *m = pages_member(p, i);

		counter = m && m->head.clock == AREA_CLOCK_TSC;
	}
	if (err || !p->nr_pairs || !follow_clock_is_old(p, time_ns(CLOCK_MONOTONIC)) ||
	    !p->reader.ts_is_ns || !counter || !clock_sample(&now, 200) ||
	    !clock_sample_fits(&p->pairs[p->nr_pairs - 1], &now))
		return err;
	/* the last pair is our own, from before; this one is newer */
	now.mono_ns += p->clock_offset_ns;
	p->pairs[p->nr_pairs - 1] = now;
	clock_free(&p->clock);
	return clock_make(&p->clock, p->pairs, p->nr_pairs);
}
