/* SPDX-License-Identifier: MIT */
/*
 * Loads a page into a struct open_page (pages_impl.h): finds its records, sorts them by their
 * stamps, and converts the stamps of plain pages to times. Any thread: see page_load().
 *
 * Costs 2 to 3 ns a record. Tests: tests/unit/reader/test_pages.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/pages_impl.h"
#include "tools/base/fail.h"

unsigned int page_decode(const void *page, struct slot *out, struct page_content *has)
{
	const unsigned char *p = page;
	const struct page_head *head = page;
	size_t end = head->commit < PAGE_BYTES ? (size_t)head->commit & ~(size_t)7 : PAGE_BYTES;
	unsigned int nr = 0;
	uint16_t context = 0;

	*has = (struct page_content){0};
	for (size_t at = PAGE_HEAD_BYTES; at + 8 <= end;) {
		uint64_t word;
		uint32_t n;

		memcpy(&word, p + at, sizeof(word));
		n = record_word_bytes(word);
		if (n < 8 || n > end - at)
			break;
		if (record_word_kind(word) == RECORD_CONTEXT) {
			context = (uint16_t)record_word_id(word);
		} else if (word && record_word_kind(word) != RECORD_UNCOMMITTED) {
			if (out) {
				out[nr].context = context;
				out[nr].word = word;
				out[nr].at = (uint32_t)at;
				if (PAGE_LENT_KINDS & 1u << record_word_kind(word))
					out[nr].payload = at;
				else if (n >= 16)
					memcpy(&out[nr].payload, p + at + 8, 8);
				else
					out[nr].payload = 0;
			}
			nr++;
			has->bytes += n;
			has->kinds |= 1u << record_word_kind(word);
			if (record_word_stamp(word) > has->last)
				has->last = record_word_stamp(word);
		}
		at += n;
	}
	has->nr = nr;
	return nr;
}

/* Insertion sort: only a signal handler's records are out of order. */
static void sort_slots(struct slot *s, unsigned int nr)
{
	for (unsigned int i = 1; i < nr; i++) {
		struct slot x = s[i];
		unsigned int j = i;

		while (j && record_word_stamp(s[j - 1].word) > record_word_stamp(x.word)) {
			s[j] = s[j - 1];
			j--;
		}
		s[j] = x;
	}
}

/*
 * Decode a page of plain records; false: it has others. Stamps are offsets from the page's base.
 * *@sorted: are they in order?
 */
static bool decode_plain(const struct member *m, const uint64_t *page, uint32_t *stamps,
			 uint32_t *words, unsigned int *nr, bool *sorted)
{
	const struct page_head *head = (const struct page_head *)page;
	size_t end = head->commit < PAGE_BYTES ? (size_t)head->commit / 8 : PAGE_BYTES / 8;
	uint32_t nr_functions = m->nr_functions, last = 0;
	bool back = false;
	unsigned int n = 0;

	for (size_t i = PAGE_HEAD_BYTES / 8; i < end; i++) {
		uint64_t word = page[i];
		uint32_t id = record_word_id(word), kind = (uint32_t)record_word_kind(word);

		if (!word)
			continue;
		if (!(PAGE_PLAIN_KINDS >> kind & 1) ||
		    (kind <= RECORD_EXIT &&
		     (id >= nr_functions || !(m->no_gaps || m->functions[id]))))
			return false;
		stamps[n] = record_word_stamp(word);
		back |= stamps[n] < last;
		last = stamps[n];
		words[n++] = (uint32_t)(word >> 32);
	}
	*nr = n;
	*sorted = !back;
	return true;
}

/* As sort_slots(). */
static void sort_plain(uint32_t *stamps, uint32_t *words, unsigned int nr)
{
	for (unsigned int i = 1; i < nr; i++) {
		uint32_t stamp = stamps[i], word = words[i];
		unsigned int j = i;

		while (j && stamps[j - 1] > stamp) {
			stamps[j] = stamps[j - 1];
			words[j] = words[j - 1];
			j--;
		}
		stamps[j] = stamp;
		words[j] = word;
	}
}

/*
 * clock_line_ns() of each stamp, along one line that begins before @base and ends behind the last
 * stamp.
 */
static void convert_along(const struct clock_line *line, uint64_t base, const uint32_t *stamps,
			  unsigned int nr, uint64_t *ts)
{
	const unsigned __int128 from = (unsigned __int128)(base - line->stamp) * line->mult;
	const uint64_t mult = line->mult, ns = line->ns;
	const unsigned int shift = line->shift;

	for (unsigned int i = 0; i < nr; i++) {
		unsigned __int128 sum = from + (unsigned __int128)stamps[i] * mult;

		/* a shift by less than 64, written so that it compiles to two instructions */
		ts[i] = ns + ((uint64_t)sum >> shift | (uint64_t)(sum >> 64) << 1 << (63 - shift));
	}
}

/* Convert @o's stamps to times. No time is less than the one before it, even with a bad clock. */
static void convert_plain(const struct pages *p, struct open_page *o, const uint32_t *stamps)
{
	const struct clock_line *line = o->line;
	uint64_t last = 0;

	if (line && line->shift < 64 && o->base >= line->stamp &&
	    o->base + stamps[o->nr - 1] >= o->base && o->base + stamps[o->nr - 1] < line->end) {
		convert_along(line, o->base, stamps, o->nr, o->run_ts);
		return;
	}
	for (unsigned int i = 0; i < o->nr; i++) {
		uint64_t stamp = o->base + stamps[i], ts;

		if (line && stamp >= line->end)
			line = clock_line_find(&p->clock, stamp);
		ts = clock_line_ns(line, stamp);
		last = ts > last ? ts : last;
		o->run_ts[i] = last;
	}
}

/* Decode a page of calls, as decode_plain(). Its stamps are in order. */
static bool decode_calls(const struct member *m, const struct page_calls *c, uint32_t *stamps,
			 uint32_t *words)
{
	uint32_t nr_functions = m->nr_functions, stamp = 0;

	for (unsigned int i = 0; i < c->nr; i++) {
		uint32_t word = page_calls_word(c, i), id = page_calls_id(word);

		if (id >= nr_functions || !(m->no_gaps || m->functions[id]))
			return false;
		stamp += page_calls_step(word);
		stamps[i] = stamp;
		words[i] = page_calls_upper(word);
	}
	return true;
}

/* @stamps: of a plain page, else NULL. */
static void set_times(const struct pages *p, struct open_page *o, const uint32_t *stamps)
{
	if (o->member->counter)
		o->line = clock_line_find(&p->clock, o->base);
	if (stamps)
		convert_plain(p, o, stamps);
	o->ts = stamps ? o->run_ts[0] : slot_ts(p, o, &o->slots[0]);
}

static struct open_page *open_plain(const struct pages *p, const struct page_ref *ref,
				    const struct page_head *head, const uint32_t *words,
				    unsigned int nr)
{
	struct open_page *o = malloc(sizeof(*o) + nr * (sizeof(uint64_t) + sizeof(uint32_t)));

	if (!o)
		return NULL;
	*o = (struct open_page){.ref = ref,
				.member = p->members[ref->member],
				.base = head->base_stamp,
				.tid = head->tid,
				.task = head->task,
				.nr = nr};
	o->run_ts = (uint64_t *)o->slots;
	o->run_words = (uint32_t *)(o->run_ts + nr);
	memcpy(o->run_words, words, nr * sizeof(*words));
	return o;
}

/* Return: 1; 0: it is another page; -errno with fail() set. */
static int load_calls(const struct pages *p, const struct page_ref *ref, struct open_page **out)
{
	uint32_t stamps[PAGE_MAX_SLOTS], words[PAGE_MAX_SLOTS];
	struct page_calls calls;
	struct open_page *o;
	int got = p->follow ? 0 : page_fetch_calls(p, ref, &calls);

	if (got <= 0)
		return got;
	if (!calls.nr || calls.head.seq != ref->seq ||
	    !decode_calls(p->members[ref->member], &calls, stamps, words))
		return 0;
	o = open_plain(p, ref, &calls.head, words, calls.nr);
	if (!o)
		return fail(ENOMEM, "out of memory for a page");
	set_times(p, o, stamps);
	*out = o;
	return 1;
}

int page_load(const struct pages *p, const struct page_ref *ref, struct open_page **out,
	      uint32_t *gone)
{
	struct slot slots[PAGE_MAX_SLOTS];
	uint32_t stamps[PAGE_MAX_SLOTS], words[PAGE_MAX_SLOTS];
	uint64_t page[PAGE_BYTES / 8];
	const struct page_head *head = (const struct page_head *)page;
	struct page_content has = {0};
	struct open_page *o;
	unsigned int nr;
	bool text, plain, sorted = true;
	int got;

	*out = NULL;
	*gone = 0;
	got = load_calls(p, ref, out);
	if (got)
		return got < 0 ? got : 0;
	got = page_fetch(p, ref, page);
	if (got < 0)
		return got;
	if (!got || head->seq != ref->seq) {
		*gone = ref->nr_records;
		return 0;
	}
	plain = !p->follow &&
		decode_plain(p->members[ref->member], page, stamps, words, &nr, &sorted);
	if (!plain)
		nr = page_decode(page, slots, &has);
	if (!nr)
		return 0;
	if (p->follow)
		follow_opened(p, ref, page, slots, nr);
	if (plain) {
		if (!sorted)
			sort_plain(stamps, words, nr);
		o = open_plain(p, ref, head, words, nr);
	} else {
		text = has.kinds & PAGE_LENT_KINDS;
		sort_slots(slots, nr);
		o = malloc(sizeof(*o) + nr * sizeof(*slots) + (text ? PAGE_BYTES : 0));
	}
	if (!o)
		return fail(ENOMEM, "out of memory for a page");
	if (!plain) {
		*o = (struct open_page){
			.ref = ref,
			.member = p->members[ref->member],
			.base = head->base_stamp,
			.tid = head->tid,
			.task = head->task,
			.nr = nr,
		};
		memcpy(o->slots, slots, nr * sizeof(*slots));
		if (text)
			o->page = memcpy(&o->slots[nr], page, PAGE_BYTES);
	}
	set_times(p, o, plain ? stamps : NULL);
	*out = o;
	return 0;
}
