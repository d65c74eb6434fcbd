/* SPDX-License-Identifier: MIT */
/*
 * Reads pages of a growing source (pages.h). The turns give the same records as a reader of the
 * whole source.
 *
 * A page waits until all pages that begin before it are there: until the horizon passes it. The
 * caller sets the horizon; no later page begins before it. Then stamps are converted, by lines that
 * no later pair of clocks changes. After a turn only pages with records behind the horizon are
 * kept; of the others a checksum is. pages_take_over() compares it with the checksum of the
 * complete source, to find out if something was read wrong: a page came too late, a pair of clocks
 * came in between, or tables changed.
 *
 * A page that a thread still owns is added several times, each copy with more records. A record is
 * read from the first copy that has it. A record that comes too late is found in the next copy
 * (pages_reopen()).
 *
 * Owns the waiting pages' references. One thread. A turn costs reading the open pages again, and
 * sorting the new ones. Tests: tests/unit/reader/test_dat_live.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/pages_impl.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"

/* For a CPU of a member: the cumulative losses of the page that was taken last. */
struct losses {
	uint64_t total;
	bool any;
};

/* For a CPU: the checksum. */
struct begun {
	uint64_t nr, sum; /* pages that begin up to the horizon */
};

/*
 * A page that a thread still owns, as it was when last added. If its records had to wait until it
 * is complete, the horizon could not move while the thread sleeps or writes on another CPU.
 */
struct held {
	struct page_ref ref; /* base and lost are final when it leaves `waiting` */
	uint32_t loaded;     /* records that the stream has, or gets in this turn */
	bool taken, whole;
};

struct pages_grow {
	struct page_ref *waiting; /* unconverted: base in clock units, lost cumulative */
	size_t nr_waiting, room;
	struct held *held; /* by key_of() */
	size_t nr_held, room_held;
	bool opens; /* pages_grow_opens() */
	struct begun *cpus;
	struct losses *losses; /* nr_cpus for each member */
	uint32_t nr_members;
	uint64_t horizon; /* ns: records up to it are read */
	uint64_t stamp;	  /* the same in clock units, exclusive */
};

/* A page with unread records: its reference, and the number of read ones. */
struct rest {
	struct page_ref ref;
	uint32_t pos;
};

int pages_grow(struct pages *p)
{
	p->grow = calloc(1, sizeof(*p->grow));
	if (!p->grow)
		return fail(ENOMEM, "out of memory for pages");
	p->horizon = 0;
	return 0;
}

void grow_free(struct pages *p)
{
	if (!p->grow)
		return;
	free(p->grow->waiting);
	free(p->grow->held);
	free(p->grow->cpus);
	free(p->grow->losses);
	free(p->grow);
	p->grow = NULL;
}

bool pages_grow_opens(struct pages *p, bool opens)
{
	if (p->grow)
		p->grow->opens = opens;
	return p->grow;
}

/* Order by the identity of a page. */
static int by_key(const struct page_ref *a, const struct page_ref *b)
{
	int c = CMP(a->member, b->member);

	return c ? c : CMP(a->seq, b->seq);
}

/* The number of the first held page that is not before @ref. */
static size_t held_at(const struct pages_grow *g, const struct page_ref *ref)
{
	return LOWER_BOUND(i, 0, g->nr_held, by_key(&g->held[i].ref, ref) < 0);
}

static struct held *find_held(const struct pages_grow *g, const struct page_ref *ref)
{
	size_t at = held_at(g, ref);

	return at < g->nr_held && !by_key(&g->held[at].ref, ref) ? &g->held[at] : NULL;
}

static void drop_held(struct pages_grow *g, size_t at)
{
	g->nr_held--;
	memmove(&g->held[at], &g->held[at + 1], (g->nr_held - at) * sizeof(*g->held));
}

static int add_held(struct pages_grow *g, const struct page_ref *ref)
{
	size_t at = held_at(g, ref);

	if (ARRAY_ROOM(g->held, g->nr_held, g->room_held, 64))
		return fail(ENOMEM, "out of memory for more than %zu open pages", g->nr_held);
	memmove(&g->held[at + 1], &g->held[at], (g->nr_held - at) * sizeof(*g->held));
	g->nr_held++;
	g->held[at] = (struct held){.ref = *ref};
	return 1;
}

int grow_add(struct pages *p, const struct page_ref *ref)
{
	struct pages_grow *g = p->grow;
	struct held *h = find_held(g, ref);

	if (h && h->taken) {
		h->ref.offset = ref->offset;
		h->ref.index = ref->index;
		h->ref.nr_records = ref->nr_records;
		h->whole = !g->opens;
		return 1;
	}
	if (h)
		drop_held(g, (size_t)(h - g->held));
	if (g->opens)
		return add_held(g, ref);

	if (ARRAY_ROOM(g->waiting, g->nr_waiting, g->room, 1024))
		return fail(ENOMEM, "out of memory for more than %zu pages", g->nr_waiting);
	g->waiting[g->nr_waiting++] = *ref;
	if (p->reader.stats && ref->cpu < p->reader.nr_cpus)
		p->reader.stats[ref->cpu].entries += ref->nr_records;
	return 1;
}

int pages_grow_begin(struct pages *p)
{
	int err;

	pages_make_head(p, &(struct pages_finish){0});
	p->reader.ops = &pages_ops;
	p->grow->cpus = calloc(p->reader.nr_cpus, sizeof(*p->grow->cpus));
	p->reader.stats = calloc(p->reader.nr_cpus, sizeof(*p->reader.stats));
	if (!p->grow->cpus || !p->reader.stats)
		return fail(ENOMEM, "out of memory for %u CPUs", p->reader.nr_cpus);
	for (size_t i = 0; i < p->grow->nr_waiting; i++) {
		const struct page_ref *ref = &p->grow->waiting[i];

		if (ref->cpu < p->reader.nr_cpus)
			p->reader.stats[ref->cpu].entries += ref->nr_records;
	}
	err = pages_make_streams(p);
	return err ? err : pages_grow_tables(p);
}

int pages_grow_tables(struct pages *p)
{
	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct meta *m = pages_member(p, i);
		struct member *mb = p->members[i];

		if (!m)
			continue;
		if (m->head.nr_cpus > p->reader.nr_cpus || meta_overwrites(m))
			return fail(ESTALE, "the processes differ");
		free(mb->maps);
		free(mb->functions);
		mb->maps = NULL;
		mb->functions = NULL;
		mb->nr_maps = 0;
		mb->nr_functions = 0;
	}
	return pages_make_objects(p, &(struct pages_finish){.no_names = true});
}

static bool has_counter(const struct pages *p)
{
	for (uint32_t i = 0; i < p->nr_members; i++)
		if (p->members[i] && p->members[i]->meta)
			return p->members[i]->counter;
	return false;
}

/* Are the lines up to @stamp the same? Both begin at the first pair. */
static bool same_lines(const struct clock *a, const struct clock *b, uint64_t stamp)
{
	for (size_t i = 0; i < a->nr_lines && a->lines[i].stamp < stamp; i++) {
		const struct clock_line *x = &a->lines[i], *y = &b->lines[i];

		if (i >= b->nr_lines || x->stamp != y->stamp || x->ns != y->ns ||
		    x->end != y->end || x->mult != y->mult || x->shift != y->shift)
			return false;
	}
	return true;
}

/*
 * Make the clock from all pairs so far. *@stamp: gets the stamp before which its lines will not
 * change. Return: 0 or -errno with fail() set.
 */
static int renew_clock(struct pages *p, uint64_t *stamp)
{
	struct clock old = p->clock;
	size_t nr = p->nr_pairs;
	struct area_clock *all;
	int err;

	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct meta *m = pages_member(p, i);

		nr += m ? m->nr_clocks : 0;
		if (m && (m->head.clock == AREA_CLOCK_TSC) != has_counter(p))
			return fail(ESTALE, "the processes' clocks differ");
		if (m && m->nr_buffers && m->buffers[0].trace_clock != AREA_TRACE_LOCAL &&
		    m->buffers[0].trace_clock != AREA_TRACE_GLOBAL &&
		    m->buffers[0].trace_clock != AREA_TRACE_MONO)
			return fail(ESTALE, "the trace_clock is another one");
	}
	if (!has_counter(p))
		return 0;
	all = malloc((nr + 1) * sizeof(*all));
	if (!all)
		return fail(ENOMEM, "out of memory for clock pairs");
	nr = p->nr_pairs;
	if (nr)
		memcpy(all, p->pairs, nr * sizeof(*all));
	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct meta *m = pages_member(p, i);

		if (m && m->nr_clocks)
			memcpy(all + nr, m->clocks, m->nr_clocks * sizeof(*all));
		nr += m ? m->nr_clocks : 0;
	}
	err = clock_make(&p->clock, all, nr);
	free(all);
	if (!err && !same_lines(&old, &p->clock, p->grow->stamp))
		err = fail(ESTALE, "the clock's lines have changed");
	clock_free(&old);
	/* another pair may change the begin of the last line */
	nr = p->clock.nr_lines;
	if (nr < 2)
		*stamp = 0;
	else if (*stamp > p->clock.lines[nr - 1].stamp)
		*stamp = p->clock.lines[nr - 1].stamp;
	return err;
}

/* Make room for the losses of all members. */
static int losses_room(struct pages *p)
{
	struct pages_grow *g = p->grow;
	size_t cpus = p->reader.nr_cpus;
	struct losses *more;

	if (g->nr_members >= p->nr_members)
		return 0;
	more = realloc(g->losses, p->nr_members * cpus * sizeof(*more));
	if (!more)
		return fail(ENOMEM, "out of memory for %u processes", p->nr_members);
	memset(more + g->nr_members * cpus, 0,
	       (p->nr_members - g->nr_members) * cpus * sizeof(*more));
	g->losses = more;
	g->nr_members = p->nr_members;
	return 0;
}

static uint64_t sum_with(uint64_t sum, const struct page_ref *r)
{
	const uint64_t parts[] = {r->base, r->seq, r->lost, r->member};

	for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
		sum = hash_u64(sum ^ parts[k]);
	return sum;
}

/*
 * Move the waiting pages that begin up to the horizon to @out, with their losses, by CPU and time.
 * @out has room for all. Return: their number.
 */
static size_t take_waiting(struct pages *p, bool counter, struct page_ref *out)
{
	struct pages_grow *g = p->grow;
	size_t nr = 0, kept = 0;

	for (size_t i = 0; i < g->nr_waiting; i++) {
		struct page_ref r = g->waiting[i];

		if (!pages_member(p, r.member) || r.cpu >= p->reader.nr_cpus)
			continue;
		if ((counter ? clock_ns(&p->clock, r.base) : r.base) > g->horizon) {
			g->waiting[kept++] = r;
			continue;
		}
		out[nr++] = r;
	}
	g->nr_waiting = kept;
	for (size_t i = 0; i < g->nr_held; i++) {
		struct held *h = &g->held[i];

		if (h->taken || !pages_member(p, h->ref.member) ||
		    h->ref.cpu >= p->reader.nr_cpus ||
		    (counter ? clock_ns(&p->clock, h->ref.base) : h->ref.base) > g->horizon)
			continue;
		h->taken = true;
		h->loaded = h->ref.nr_records;
		out[nr++] = h->ref;
	}
	if (nr)
		qsort(out, nr, sizeof(*out), pages_by_taking);
	for (size_t i = 0; i < nr; i++) {
		struct page_ref *r = &out[i];
		struct losses *l = &g->losses[r->member * (size_t)p->reader.nr_cpus + r->cpu];
		uint64_t total = r->lost;

		r->lost = total > l->total ? total - l->total : 0;
		l->total = total > l->total ? total : l->total;
		if (counter)
			r->base = clock_ns(&p->clock, r->base);
	}
	for (size_t i = 0; i < nr && g->nr_held; i++) {
		struct held *h = find_held(g, &out[i]);

		if (h)
			h->ref = out[i];
	}
	if (nr)
		qsort(out, nr, sizeof(*out), pages_by_time);
	return nr;
}

/*
 * The streams' pages with unread records. *@out: gets them, malloced. Return: their number, or
 * -errno with fail() set.
 */
static long rests_of(const struct pages *p, struct rest **out)
{
	size_t nr = 0, at = 0;

	for (unsigned int c = 0; c < p->reader.nr_cpus; c++) {
		nr += pages_nr_open(p, c);
		if (!pages_is_read(p, c))
			return fail(ESTALE, "CPU %u is not read to the end of the turn", c);
	}
	*out = malloc((nr + p->grow->nr_held + 1) * sizeof(**out));
	if (!*out)
		return fail(ENOMEM, "out of memory for %zu pages", nr);
	for (unsigned int c = 0; c < p->reader.nr_cpus; c++)
		for (size_t i = 0; i < pages_nr_open(p, c); i++, at++)
			(*out)[at].ref = *pages_open_ref(p, c, i, &(*out)[at].pos);
	return (long)nr;
}

/*
 * Append to the @nr of @rests the held pages that are read to their end. There is room for all.
 * Return: the new number.
 */
static size_t add_read(const struct pages_grow *g, struct rest *rests, size_t nr)
{
	size_t all = nr;

	for (size_t i = 0; i < g->nr_held; i++) {
		bool left = false;

		for (size_t k = 0; k < nr && !left; k++)
			left = !by_key(&rests[k].ref, &g->held[i].ref);
		if (g->held[i].taken && !left)
			rests[all++] = (struct rest){g->held[i].ref, g->held[i].loaded};
	}
	return all;
}

/* Update @rests with the records that were added since; pages without new records are removed. */
static int renew_rests(struct pages_grow *g, struct rest *rests, size_t *nr)
{
	size_t kept = 0;

	*nr = add_read(g, rests, *nr);
	for (size_t i = 0; i < *nr; i++) {
		struct rest *x = &rests[i];
		struct held *h = find_held(g, &x->ref);

		if (h) {
			x->ref = h->ref;
			if (x->pos > h->ref.nr_records)
				return fail(ESTALE, "a page of CPU %u has changed", h->ref.cpu);
			h->loaded = h->ref.nr_records;
			if (h->whole)
				drop_held(g, (size_t)(h - g->held));
		}
		if (x->pos < x->ref.nr_records)
			rests[kept++] = *x;
	}
	*nr = kept;
	return 0;
}

/*
 * Set the streams to new references: first the rests, which are read up to @after, then the new
 * pages.
 */
static int lay_out(struct pages *p, const struct rest *rests, size_t nr_rests,
		   const struct page_ref *added, size_t nr_added, uint64_t after)
{
	struct page_ref *refs = malloc((nr_rests + nr_added + 1) * sizeof(*refs));
	size_t nr = 0;

	if (!refs)
		return fail(ENOMEM, "out of memory for %zu pages", nr_rests + nr_added);
	free(p->refs);
	p->refs = refs;
	p->nr_refs = p->room_refs = nr_rests + nr_added;
	for (unsigned int c = 0; c < p->reader.nr_cpus; c++) {
		size_t first = nr, next;
		int err;

		for (size_t i = 0; i < nr_rests; i++)
			if (rests[i].ref.cpu == c)
				refs[nr++] = rests[i].ref;
		/* records with equal times are given in the order of the pages */
		if (nr > first)
			qsort(refs + first, nr - first, sizeof(*refs), pages_by_time);
		next = nr;
		for (; nr_added && added->cpu == c; added++, nr_added--) {
			struct begun *b = &p->grow->cpus[c];

			b->nr++;
			b->sum = sum_with(b->sum, added);
			refs[nr++] = *added;
		}
		pages_stream_set(p, c, first, next, nr);
		for (size_t i = 0; i < nr_rests; i++) {
			size_t k = first;

			if (rests[i].ref.cpu != c)
				continue;
			while (refs[k].offset != rests[i].ref.offset)
				k++;
			err = pages_reopen(p, c, &refs[k], rests[i].pos, after);
			if (err)
				return err;
		}
	}
	return 0;
}

int pages_grow_turn(struct pages *p, uint64_t stamp)
{
	struct pages_grow *g = p->grow;
	struct page_ref *added = NULL;
	struct rest *rests = NULL;
	uint64_t after = g->horizon;
	size_t nr_added = 0, nr_rests;
	long nr;
	int err;

	err = losses_room(p);
	if (!err)
		err = renew_clock(p, &stamp);
	if (err)
		return err;
	/* the horizon never goes back */
	if (stamp <= g->stamp)
		return 0;
	nr = rests_of(p, &rests);
	if (nr < 0)
		return (int)nr;
	nr_rests = (size_t)nr;
	err = renew_rests(g, rests, &nr_rests);
	if (err) {
		free(rests);
		return err;
	}
	g->stamp = stamp;
	g->horizon = p->horizon = (has_counter(p) ? clock_ns(&p->clock, stamp) : stamp) - 1;
	added = malloc((g->nr_waiting + g->nr_held + 1) * sizeof(*added));
	if (added) {
		nr_added = take_waiting(p, has_counter(p), added);
		err = lay_out(p, rests, nr_rests, added, nr_added, after);
	} else {
		err = fail(ENOMEM, "out of memory for %zu pages", g->nr_waiting);
	}
	free(added);
	free(rests);
	return err ? err : 1;
}

/* Do all functions of @from's members have the same addresses in @to? */
static bool same_members(const struct pages *to, const struct pages *from)
{
	if (from->nr_members > to->nr_members)
		return false;
	for (uint32_t i = 0; i < from->nr_members; i++) {
		const struct member *x = from->members[i], *y = to->members[i];

		if (!x || !x->meta)
			continue;
		if (!y || !y->meta || x->counter != y->counter || x->nr_functions > y->nr_functions)
			return false;
		for (uint32_t k = 0; k < x->nr_functions; k++)
			if (x->functions[k] && x->functions[k] != y->functions[k])
				return false;
	}
	return true;
}

/* The page of @to that is @rest's; NULL: there is none. It is near the end of the read pages. */
static const struct page_ref *find_rest(const struct pages *to, const struct rest *rest,
					size_t first, size_t next)
{
	while (next-- > first)
		if (!by_key(&to->refs[next], &rest->ref))
			return &to->refs[next];
	return NULL;
}

static int go_on_cpu(struct pages *to, const struct pages *from, unsigned int cpu,
		     const struct rest *rests, size_t nr_rests)
{
	const struct begun *b = &from->grow->cpus[cpu];
	size_t first, next, end;
	uint64_t sum = 0;
	int err;

	pages_cpu_refs(to, cpu, &first, &end);
	for (next = first; next < end && to->refs[next].base <= from->grow->horizon; next++)
		sum = sum_with(sum, &to->refs[next]);
	if (next - first != b->nr || sum != b->sum)
		return fail(ESTALE, "CPU %u has other pages", cpu);
	pages_stream_take_over(to, from, cpu, next);
	for (size_t i = 0; i < nr_rests; i++) {
		const struct page_ref *ref;

		if (rests[i].ref.cpu != cpu)
			continue;
		ref = find_rest(to, &rests[i], first, next);
		if (!ref)
			return fail(ESTALE, "CPU %u has other pages", cpu);
		/* a held page may have no more records */
		if (rests[i].pos == ref->nr_records)
			continue;
		err = pages_reopen(to, cpu, ref, rests[i].pos, from->grow->horizon);
		if (err)
			return err;
	}
	return 0;
}

int pages_take_over(struct pages *to, const struct pages *from)
{
	struct rest *rests;
	long nr;
	int err = 0;

	if (to->reader.nr_cpus != from->reader.nr_cpus || !same_members(to, from) ||
	    to->clock_offset_ns || !same_lines(&from->clock, &to->clock, from->grow->stamp))
		return fail(ESTALE, "the tables have changed");
	nr = rests_of(from, &rests);
	if (nr < 0)
		return (int)nr;
	nr = (long)add_read(from->grow, rests, (size_t)nr);
	for (unsigned int c = 0; c < to->reader.nr_cpus && !err; c++)
		err = go_on_cpu(to, from, c, rests, (size_t)nr);
	free(rests);
	return err;
}
