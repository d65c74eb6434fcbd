/* SPDX-License-Identifier: MIT */
/*
 * Following a live source: each turn, the index of pages is emptied and filled again. This file
 * keeps which records were used, so that a consuming reader can set the read position of each page
 * in the area. The read position is the place of the first unused record. Records may be used in
 * another order than in the page: a signal handler's record lies before the record that it
 * interrupted, and is newer. Costs 64 bytes for each page of a turn and 8 for each record read
 * ahead. Tests: tests/tracefs/.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/area/pages_impl.h"
#include "tools/base/fail.h"
#include "tools/base/machine.h"
#include "tools/base/time_ns.h"

#define PAGE_WORDS     (PAGE_BYTES / 8)
#define CLOCK_EVERY_NS UINT64_C(1000000000)

/* For a page: a bit for each word that is taken, or that has nothing to take. */
struct taken {
	uint64_t bits[PAGE_WORDS / 64];
	uint16_t end; /* words */
	bool opened;
};

struct emitted {
	uint32_t ref;
	uint16_t at, words; /* in words */
};

struct log {
	struct emitted *e;
	size_t at, nr, room;
};

struct pages_follow {
	uint64_t (*reported)
		[2]; /* by member and CPU: dropped and overwritten records that were reported */
	uint32_t nr_reported;	 /* members */
	struct log *logs;	 /* by CPU */
	struct taken *taken;	 /* by page */
	struct carried *carried; /* by CPU */
	uint64_t sampled_ns;	 /* when a pair of clocks was last taken */
	unsigned int nr_cpus;
};

int pages_follow(struct pages *p)
{
	p->follow = calloc(1, sizeof(*p->follow));
	return p->follow ? 0 : fail(ENOMEM, "out of memory to follow");
}

void follow_free(struct pages *p)
{
	struct pages_follow *f = p->follow;

	if (!f)
		return;
	for (unsigned int c = 0; f->logs && c < f->nr_cpus; c++)
		free(f->logs[c].e);
	free(f->logs);
	free(f->reported);
	free(f->carried);
	free(f->taken);
	free(f);
	p->follow = NULL;
}

uint64_t *follow_reported(struct pages *p, uint32_t member, unsigned int cpu)
{
	static _Thread_local uint64_t none[2]; /* no memory: losses may be reported twice */
	struct pages_follow *f = p->follow;

	f->nr_cpus = p->reader.nr_cpus;
	if (f->nr_reported < p->nr_members) {
		const size_t nr = (size_t)p->nr_members * f->nr_cpus,
			     old = (size_t)f->nr_reported * f->nr_cpus;
		uint64_t(*more)[2] = realloc(f->reported, nr * sizeof(*more));

		if (!more)
			return none;
		memset(more + old, 0, (nr - old) * sizeof(*more));
		f->reported = more;
		f->nr_reported = p->nr_members;
	}
	return member < f->nr_reported && cpu < f->nr_cpus
		       ? f->reported[(size_t)member * f->nr_cpus + cpu]
		       : none;
}

void pages_set_reported(struct pages *p, uint32_t member, unsigned int cpu, uint64_t lost,
			uint64_t overrun)
{
	uint64_t *reported = follow_reported(p, member, cpu);

	reported[0] = lost;
	reported[1] = overrun;
}

void pages_get_reported(struct pages *p, uint32_t member, unsigned int cpu, uint64_t *lost,
			uint64_t *overrun)
{
	const uint64_t *reported = follow_reported(p, member, cpu);

	*lost = reported[0];
	*overrun = reported[1];
}

void pages_hold(struct pages *p, uint64_t ns, uint64_t known_ns)
{
	p->hold_ns = ns;
	p->turn_ns = time_ns(CLOCK_MONOTONIC);
	if (known_ns && known_ns < p->turn_ns && p->turn_ns - known_ns > ns)
		p->hold_ns = p->turn_ns - known_ns;
	p->turn_stamp = machine_has_counter() ? machine_counter() : 0;
	p->horizon = UINT64_MAX;
}

/*
 * Set the time up to which this turn gives records: its begin, or earlier. The CPUs' pages are read
 * one after the other. So a thread that changes its CPU during the turn may have a record in a page
 * that is read later, and an earlier record that the page read before did not have yet. The limit
 * is converted like the stamps of records, from the counter by the same lines.
 */
static void set_horizon(struct pages *p)
{
	uint64_t now = UINT64_MAX;

	/* a count is no time, and ticks of uptime are too coarse */
	if (p->trace_clock == AREA_TRACE_COUNTER)
		return;
	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct meta *m = pages_member(p, i);
		uint64_t at = UINT64_MAX;

		if (m && m->head.clock == AREA_CLOCK_TSC)
			at = clock_ns(&p->clock, p->turn_stamp);
		else if (m && p->reader.ts_is_ns)
			at = p->turn_ns + p->clock_offset_ns;
		now = at < now ? at : now;
	}
	p->horizon = now;
	if (p->hold_ns && p->reader.ts_is_ns && now < UINT64_MAX)
		p->horizon = now > p->hold_ns ? now - p->hold_ns : 0;
}

struct carried *follow_carried(const struct pages *p, unsigned int cpu)
{
	struct pages_follow *f = p->follow;

	return f && f->carried && cpu < f->nr_cpus ? &f->carried[cpu] : NULL;
}

bool follow_clock_is_old(struct pages *p, uint64_t now_ns)
{
	if (now_ns - p->follow->sampled_ns < CLOCK_EVERY_NS)
		return false;
	p->follow->sampled_ns = now_ns;
	return true;
}

void pages_again(struct pages *p)
{
	pages_free_streams(p);
	p->nr_refs = 0;
}

int pages_ready(struct pages *p)
{
	struct pages_follow *f = p->follow;

	pages_settle(p);
	if (!f->logs) {
		f->nr_cpus = p->reader.nr_cpus;
		f->logs = calloc(f->nr_cpus, sizeof(*f->logs));
		f->carried = calloc(f->nr_cpus, sizeof(*f->carried));
	}
	free(f->taken);
	f->taken = calloc(p->nr_refs + 1, sizeof(*f->taken));
	if (!f->logs || !f->carried || !f->taken)
		return fail(ENOMEM, "out of memory to follow %zu pages", p->nr_refs);
	for (unsigned int c = 0; c < f->nr_cpus; c++)
		f->logs[c].at = f->logs[c].nr = 0;
	set_horizon(p);
	return pages_make_streams(p);
}

static void set_bits(struct taken *t, unsigned int from, unsigned int to)
{
	for (; from < to && from < PAGE_WORDS; from++)
		t->bits[from / 64] |= UINT64_C(1) << from % 64;
}

static struct taken *taken_of(const struct pages *p, const struct page_ref *ref)
{
	return &p->follow->taken[ref - p->refs];
}

void follow_opened(const struct pages *p, const struct page_ref *ref, const void *page,
		   const struct slot *slots, unsigned int nr)
{
	const struct page_head *head = page;
	struct taken *t = taken_of(p, ref);

	if (!p->follow->taken)
		return;
	t->opened = true;
	t->end = (uint16_t)((head->commit < PAGE_BYTES ? head->commit : PAGE_BYTES) / 8);
	/* all words but the records are taken */
	set_bits(t, 0, t->end);
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int words = record_word_bytes(slots[i].word) / 8;

		for (unsigned int w = slots[i].at / 8; words && w < PAGE_WORDS; w++, words--)
			t->bits[w / 64] &= ~(UINT64_C(1) << w % 64);
	}
}

/* Make room for one more entry. Return: false: memory is short. */
static bool log_room(struct log *log)
{
	size_t room = log->room ? log->room * 2 : 1024;
	struct emitted *more;

	if (log->nr < log->room)
		return true;
	/* drop entries of taken records */
	if (log->at > log->room / 2) {
		log->nr -= log->at;
		memmove(log->e, log->e + log->at, log->nr * sizeof(*log->e));
		log->at = 0;
		return true;
	}
	more = realloc(log->e, room * sizeof(*more));
	if (!more)
		return false;
	log->e = more;
	log->room = room;
	return true;
}

void follow_emitted(const struct pages *p, const struct page_ref *ref, const struct slot *slot,
		    bool lost)
{
	struct log *log = &p->follow->logs[ref->cpu];
	unsigned int at = slot->at / 8, words = record_word_bytes(slot->word) / 8;

	/* if there is no memory for an entry, the record counts as used */
	if (lost || !log_room(log)) {
		set_bits(taken_of(p, ref), at, at + words);
		return;
	}
	log->e[log->nr++] = (struct emitted){
		.ref = (uint32_t)(ref - p->refs), .at = (uint16_t)at, .words = (uint16_t)words};
}

/* The number of words from the start that are all taken. */
static unsigned int prefix(const struct taken *t)
{
	unsigned int i = 0;

	while (i < PAGE_WORDS / 64 && t->bits[i] == UINT64_MAX)
		i++;
	return i == PAGE_WORDS / 64 ? PAGE_WORDS
				    : i * 64 + (unsigned int)__builtin_ctzll(~t->bits[i]);
}

void pages_take(struct pages *p, unsigned int cpu, uint64_t n,
		void (*mark)(void *arg, const struct page_ref *ref, const struct page_taken *taken),
		void *arg)
{
	struct pages_follow *f = p->follow;
	struct page_taken taken = {0};
	struct log *log = &f->logs[cpu];

	if (cpu >= f->nr_cpus)
		return;
	while (n && log->at < log->nr) {
		const struct emitted *e = &log->e[log->at++];
		struct taken *t = &f->taken[e->ref];
		bool more = --n && log->at < log->nr;

		set_bits(t, e->at, e->at + e->words);
		taken.records++;
		if (!more || log->e[log->at].ref != e->ref) {
			unsigned int words = prefix(t);

			taken.bytes = words * 8;
			taken.whole = words >= t->end;
			mark(arg, &p->refs[e->ref], &taken);
			taken.records = 0;
		}
	}
}
