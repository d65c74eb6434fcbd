/* SPDX-License-Identifier: MIT */
/*
 * Members, the index of pages, and what was lost between them: see pages.h. pages_finish.c makes a
 * reader from them, pages_stream.c its streams.
 */
#include "tools/area/pages_impl.h"
#include "tools/area/spool_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"
#include "tools/reader/tasks.h"

#define MAX_MEMBERS (1u << 20)

struct pages *pages_new(const struct pages_source *source)
{
	struct pages *p = calloc(1, sizeof(*p));

	if (!p) {
		source->close(source->arg);
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	p->source = *source;
	p->horizon = UINT64_MAX;
	return p;
}

static void member_free(struct member *m)
{
	if (!m)
		return;
	meta_free(m->meta);
	free(m->maps);
	free(m->functions);
	free(m->events);
	free(m);
}

void pages_free(struct pages *p)
{
	if (!p)
		return;
	pages_free_streams(p);
	follow_free(p);
	grow_free(p);
	for (uint32_t i = 0; i < p->nr_members; i++)
		member_free(p->members[i]);
	free(p->members);
	free(p->refs);
	free(p->pairs);
	clock_free(&p->clock);
	pages_free_events(p); /* before the symbols, whose names it uses */
	symbols_free(p->reader.symbols);
	tasks_free(p->reader.tasks);
	free(p->reader.stats);
	free(p->reader.bases);
	p->source.close(p->source.arg);
	free(p);
}

/* The key of a process; two images of one process have the same key. */
static uint64_t process_key(const struct area_header *head)
{
	/* with the namespaces of its pid and its start time */
	uint64_t key = hash_u64((uint64_t)head->pid_ns << 32 | head->time_ns);

	key = hash_u64(key ^ head->start_time);
	key = hash_u64(key ^ (uint32_t)head->pid);
	return key ? key : 1;
}

int pages_set_member(struct pages *p, uint32_t member, struct meta *m)
{
	if (member >= MAX_MEMBERS) {
		meta_free(m);
		return fail(EINVAL, "process number %u is out of range", member);
	}
	if (member >= p->nr_members) {
		struct member **more = realloc(p->members, (member + 1) * sizeof(*more));

		if (!more) {
			meta_free(m);
			return fail(ENOMEM, "out of memory for %u processes", member);
		}
		memset(more + p->nr_members, 0, (member + 1 - p->nr_members) * sizeof(*more));
		p->members = more;
		p->nr_members = member + 1;
	}
	if (!p->members[member]) {
		p->members[member] = calloc(1, sizeof(struct member));
		if (!p->members[member]) {
			meta_free(m);
			return fail(ENOMEM, "out of memory for a process");
		}
	}
	meta_free(p->members[member]->meta);
	p->members[member]->meta = m;
	p->members[member]->key = process_key(&m->head);
	p->members[member]->ended = m->head.state == SPOOL_STATE_ENDED;
	return 0;
}

uint32_t pages_nr_members(const struct pages *p)
{
	return p->nr_members;
}

const struct meta *pages_member(const struct pages *p, uint32_t member)
{
	return member < p->nr_members && p->members[member] ? p->members[member]->meta : NULL;
}

uint64_t pages_process_key(struct reader *r, uint32_t process, bool *ended)
{
	const struct pages *p = (const struct pages *)r;
	const struct member *m = process < p->nr_members ? p->members[process] : NULL;

	*ended = m && m->ended;
	return m ? m->key : 0;
}

bool pages_clock(const struct pages *p, size_t i, struct area_clock *pair)
{
	if (i >= p->nr_pairs)
		return false;
	*pair = p->pairs[i];
	pair->mono_ns -= p->clock_offset_ns;
	return true;
}

int pages_add_clock(struct pages *p, const struct area_clock *pair)
{
	if (ARRAY_ROOM(p->pairs, p->nr_pairs, p->room_pairs, 64))
		return fail(ENOMEM, "out of memory for more than %zu clock pairs", p->nr_pairs);
	p->pairs[p->nr_pairs++] = *pair;
	return 0;
}

static bool is_ours(const struct page_head *head)
{
	return head->buffer == 0 && head->commit > PAGE_HEAD_BYTES && head->cpu <= UINT16_MAX;
}

/* The least n with 2^n > @last. */
static uint8_t reach_of(uint64_t last)
{
	return last ? (uint8_t)(64 - __builtin_clzll(last)) : 0;
}

static int add_ref(struct pages *p, uint32_t member, const struct page_head *head,
		   const struct page_content *has, uint64_t offset, uint32_t index, bool owned)
{
	struct page_ref ref;

	if (!has->nr)
		return 0;
	if (has->kinds & PAGE_GRAPH_KINDS)
		p->reader.graph = true;
	if (has->kinds & PAGE_VALUE_KINDS)
		p->reader.values = true;
	ref = (struct page_ref){
		.base = head->base_stamp,
		.offset = offset,
		.seq = head->seq,
		.member = member,
		.index = index,
		.cpu = (uint16_t)head->cpu,
		.nr_records = (uint16_t)has->nr,
		.nr_bytes = (uint16_t)has->bytes,
		.owned = owned,
		.reach = reach_of(has->last),
		.changes = (has->kinds & (1u << RECORD_STACK | 1u << RECORD_RETURN)) != 0,
		/* overrun is handled by overwritten() */
		.lost = head->dropped_events + head->commit_overrun,
	};
	if (p->grow)
		return grow_add(p, &ref);
	if (ARRAY_ROOM(p->refs, p->nr_refs, p->room_refs, 1024))
		return fail(ENOMEM, "out of memory for an index of more than %zu pages",
			    p->nr_refs);
	p->refs[p->nr_refs++] = ref;
	return 1;
}

int pages_add_page(struct pages *p, uint32_t member, const void *page, uint64_t offset,
		   uint32_t index, bool owned)
{
	struct page_content has;

	if (!is_ours(page))
		return 0;
	page_decode(page, NULL, &has);
	return add_ref(p, member, page, &has, offset, index, owned);
}

int pages_add_calls(struct pages *p, uint32_t member, const struct page_head *head, unsigned int nr,
		    uint32_t last, uint64_t offset, uint32_t index, bool owned)
{
	const struct page_content has = {nr, nr * 8, 1u << RECORD_ENTRY, last};

	if (!is_ours(head))
		return 0;
	return add_ref(p, member, head, &has, offset, index, owned);
}

int pages_by_taking(const void *a, const void *b)
{
	const struct page_ref *x = a, *y = b;
	int c = CMP(x->member, y->member);

	if (!c)
		c = CMP(x->cpu, y->cpu);
	if (!c)
		c = CMP(x->seq, y->seq);
	return c ? c : CMP(x->offset, y->offset);
}

int pages_by_time(const void *a, const void *b)
{
	const struct page_ref *x = a, *y = b;
	int c = CMP(x->cpu, y->cpu);

	if (!c)
		c = CMP(x->base, y->base);
	if (!c)
		c = CMP(x->member, y->member);
	if (!c)
		c = CMP(x->seq, y->seq);
	return c ? c : CMP(x->offset, y->offset);
}

/* Overwritten records of a CPU, by the last tables. */
static uint64_t overwritten(const struct meta *m, unsigned int cpu)
{
	const struct area_buffer *b = m->buffers;

	if (!m->nr_buffers || !meta_overwrites(m))
		return 0;
	for (uint32_t i = b->first_cpu; i < b->first_cpu + b->nr_cpus; i++)
		if (m->cpus[i].cpu == cpu)
			return m->cpus[i].overrun;
	return 0;
}

/* The losses of a CPU that are reported before its first page. */
static uint64_t lost_first(struct pages *p, uint32_t member, unsigned int cpu, uint64_t total,
			   uint64_t *before)
{
	uint64_t over = overwritten(pages_member(p, member), cpu), lost, *reported;

	if (!p->follow) {
		*before = total;
		return total + over;
	}
	/* losses since the last time */
	reported = follow_reported(p, member, cpu);
	lost = (total > reported[0] ? total - reported[0] : 0) +
	       (over > reported[1] ? over - reported[1] : 0);
	*before = total > reported[0] ? total : reported[0];
	reported[1] = over;
	return lost;
}

/*
 * Drop pages of unknown processes or CPUs; convert cumulative counts to losses, and stamps to ns.
 */
void pages_settle(struct pages *p)
{
	size_t kept = 0;
	uint64_t before = 0;

	if (p->nr_refs)
		qsort(p->refs, p->nr_refs, sizeof(*p->refs), pages_by_taking);
	for (size_t i = 0; i < p->nr_refs; i++) {
		struct page_ref r = p->refs[i];
		const struct meta *m = pages_member(p, r.member);
		const struct page_ref *last = kept ? &p->refs[kept - 1] : NULL;
		uint64_t total = r.lost;

		if (!m || r.cpu >= p->reader.nr_cpus || r.cpu >= m->head.nr_cpus)
			continue;
		if (last && last->member == r.member && last->cpu == r.cpu) {
			/* The same page twice: seen OWNED, then PUBLISHED. */
			if (last->seq == r.seq && last->base == r.base)
				continue;
			r.lost = total > before ? total - before : 0;
			before = total > before ? total : before;
		} else {
			r.lost = lost_first(p, r.member, r.cpu, total, &before);
		}
		if (p->follow)
			follow_reported(p, r.member, r.cpu)[0] = before;
		p->refs[kept++] = r;
	}
	p->nr_refs = kept;
	for (size_t i = 0; i < kept; i++) {
		struct page_ref *r = &p->refs[i];

		if (pages_member(p, r->member)->head.clock == AREA_CLOCK_TSC) {
			uint64_t base = clock_ns(&p->clock, r->base);

			/* not more than 2^32 units behind its base */
			r->reach = reach_of(
				clock_ns(&p->clock, r->base + (UINT64_C(1) << r->reach)) - base);
			r->base = base;
		}
	}
	if (kept)
		qsort(p->refs, kept, sizeof(*p->refs), pages_by_time);
}

void pages_find_lost_at_end(const struct pages *p, struct reader_cpu_stats *stats)
{
	for (unsigned int c = 0; c < p->reader.nr_cpus; c++)
		stats[c].lost_at_end =
			stats[c].overrun + stats[c].commit_overrun + stats[c].dropped_events;
	for (size_t i = 0; i < p->nr_refs; i++) {
		uint64_t *left = &stats[p->refs[i].cpu].lost_at_end;

		*left -= p->refs[i].lost < *left ? p->refs[i].lost : *left;
	}
}

struct reader *pages_reader(struct pages *p)
{
	return &p->reader;
}

size_t pages_nr_refs(const struct pages *p)
{
	return p->nr_refs;
}

const struct page_ref *pages_ref(const struct pages *p, size_t i)
{
	return &p->refs[i];
}

int pages_fetch(const struct pages *p, size_t i, void *page)
{
	return page_fetch(p, &p->refs[i], page);
}

int pages_calls(const struct pages *p, size_t i, struct page_calls *out)
{
	return page_fetch_calls(p, &p->refs[i], out);
}
