/* SPDX-License-Identifier: MIT */
/* Private to the files behind pages.h. */
#ifndef VESTIGE_TOOLS_PAGES_IMPL_H
#define VESTIGE_TOOLS_PAGES_IMPL_H

#include <errno.h>

#include "tools/area/clock.h"
#include "tools/area/pages.h"
#include "tools/base/fail.h"
#include "tools/reader/formats.h"
#include "tools/reader/printks.h"

/*
 * A loaded object: run-time addresses [lo, hi) and their addresses in a trace.dat. If objects were
 * at one address one after another, the stamp of a record decides which one it is.
 */
struct map {
	uint64_t lo, hi, bias, base;
	uint64_t reach;	 /* the greatest hi up to and with this one */
	uint64_t unload; /* clock units; UINT64_MAX: never */
	bool alone;	 /* no other one shares an address with it */
};

struct member {
	struct meta *meta; /* NULL: it has pages, but no tables yet */
	struct map *maps;  /* by lo */
	size_t nr_maps;
	uint64_t *functions; /* by id: the address in a trace.dat */
	uint32_t nr_functions;
	bool no_gaps;	  /* each id has an address */
	bool counter;	  /* stamps are the stamp counter's */
	bool ended;	  /* its process had ended before the recording did */
	uint64_t key;	  /* reader_ops.process_key */
	uint16_t *events; /* the reader's id, by the id of an event here; NULL: it has none */
};

/* What a qsort() function returns for two numbers. */
#define CMP(a, b) ((a) < (b) ? -1 : (a) > (b))

struct stream;
struct ahead;
struct pages_grow;

struct pages {
	struct reader reader; /* first */
	struct pages_source source;
	struct member **members;
	uint32_t nr_members;
	struct page_ref *refs; /* after pages_finish(): by CPU, then time */
	size_t nr_refs, room_refs;
	struct area_clock *pairs;
	size_t nr_pairs, room_pairs;
	struct clock clock;
	uint32_t trace_clock;	  /* enum area_trace_clock */
	uint64_t clock_offset_ns; /* of trace_clock, on CLOCK_MONOTONIC */
	struct stream *streams;	  /* one a CPU */
	struct ahead *ahead;	  /* pages_ahead.c; NULL: pages are loaded when their turn comes */
	struct formats formats;	  /* of all members' events */
	struct printks printks;
	struct event_codes *codes;   /* by the reader's ids: see pages_events.c */
	struct pages_follow *follow; /* pages_follow.c; NULL: the pages are read once */
	struct pages_grow *grow;     /* pages_grow.c; NULL: all pages are there at once */
	/*
	 * A follower's turn: its begin (ns, stamp), how long records wait; records after `horizon`
	 * wait
	 */
	uint64_t turn_ns, turn_stamp, hold_ns;
	uint64_t horizon;
	struct reader_latency latency; /* reader.latency is this, or NULL */
};

/* Read a page. All reading of pages calls this. Return: as pages_source.fetch. */
static inline int page_fetch(const struct pages *p, const struct page_ref *ref, void *page)
{
	int err = reader_stopped(&p->reader);

	return err ? err : p->source.fetch(p->source.arg, ref, page);
}

/* The same of pages_source.calls, which need not be. */
static inline int page_fetch_calls(const struct pages *p, const struct page_ref *ref,
				   struct page_calls *out)
{
	int err;

	if (!p->source.calls)
		return 0;
	err = reader_stopped(&p->reader);
	return err ? err : p->source.calls(p->source.arg, ref, out);
}

extern const struct reader_ops pages_ops, pages_follow_ops;

/* A record as it lies in an open page. */
struct slot {
	uint64_t word;
	uint64_t payload; /* its first word; PAGE_LENT_KINDS: the record's place */
	uint32_t at;	  /* where it lies */
	uint16_t context; /* common_flags, common_preempt_count above them */
};

#define PAGE_MAX_SLOTS (PAGE_DATA_BYTES / 8)

/*
 * page_decode() - find the complete records of a page. Stops at an invalid word.
 * @page: PAGE_BYTES, untrusted. @out: room for PAGE_MAX_SLOTS, or NULL to count only.
 * @has: gets their number and bytes, a bit for each enum record_kind among them, and the greatest
 * stamp. Return: their number.
 */
struct page_content {
	unsigned int nr, bytes, kinds;
	uint32_t last;
};
unsigned int page_decode(const void *page, struct slot *out, struct page_content *has);

#define PAGE_GRAPH_KINDS                                                                           \
	(1u << RECORD_ENTRY | 1u << RECORD_TAIL | 1u << RECORD_EXIT | 1u << RECORD_UNWOUND |       \
	 1u << RECORD_STACK | 1u << RECORD_RETURN | 1u << RECORD_ENTRY_ARGS |                      \
	 1u << RECORD_EXIT_VALUE)

/* Kinds that have arguments or results. */
#define PAGE_ARGS_KINDS	 (1u << RECORD_ENTRY_ARGS | 1u << RECORD_FUNCTION_ARGS)
#define PAGE_VALUE_KINDS (PAGE_ARGS_KINDS | 1u << RECORD_EXIT_VALUE)

/*
 * A loaded page. Pages that have only PAGE_PLAIN_KINDS with valid ids, as function_graph makes
 * them, are kept by columns (plain pages).
 */
struct open_page {
	uint64_t ts; /* of the next record */
	const struct page_ref *ref;
	const struct member *member;
	const struct clock_line *line;
	uint64_t base; /* clock units */
	int32_t tid;
	uint32_t task;
	uint32_t nr, pos;
	unsigned char *page;	/* behind the slots: a copy, if records lend their data */
	struct open_page *done; /* link in the list of finished pages */
	uint64_t *run_ts;	/* plain: the time of each record, and */
	uint32_t *run_words;	/* the upper half of its head word; NULL: slots */
	struct slot slots[];
};

static inline uint64_t slot_stamp(const struct open_page *o, const struct slot *s)
{
	return o->base + record_word_stamp(s->word);
}

static inline uint64_t slot_ts(const struct pages *p, struct open_page *o, const struct slot *s)
{
	uint64_t stamp = slot_stamp(o, s);

	if (o->line && stamp >= o->line->end)
		o->line = clock_line_find(&p->clock, stamp);
	return clock_line_ns(o->line, stamp);
}

#define PAGE_PLAIN_KINDS                                                                           \
	(1u << RECORD_ENTRY | 1u << RECORD_TAIL | 1u << RECORD_EXIT | 1u << RECORD_UNWOUND |       \
	 1u << RECORD_STACK)

/*
 * page_load() - read a page and decode it. Changes only the source's state of the page's CPU:
 * several threads may load pages of different CPUs.
 * @out: the page, freed with free(); NULL: it has no records. @gone: gets the number of records
 * that were overwritten since the page was added.
 * Return: 0 or -errno with fail() set.
 */
int page_load(const struct pages *p, const struct page_ref *ref, struct open_page **out,
	      uint32_t *gone);

/* pages_ahead.c: a thread that loads pages before their turn. */
int ahead_new(const struct pages *p, struct ahead **out);
void ahead_free(struct ahead *a);
/* Start again with the first page of each CPU. */
void ahead_rewind(struct ahead *a);
/* Take the next page of @cpu; there must be one. Else as page_load(). */
int ahead_take(struct ahead *a, unsigned int cpu, struct open_page **out, uint32_t *gone);

/* Let @cpu begin at reference @next. To be called before the first page is taken. */
void ahead_begin_at(struct ahead *a, unsigned int cpu, size_t next);

/* pages_grow.c: put an added page into `waiting`. Return: as pages_add_page(). */
int grow_add(struct pages *p, const struct page_ref *ref);
void grow_free(struct pages *p);

/*
 * The open pages of a CPU: their number; the reference of number @i. *@pos: gets the number of its
 * read records.
 */
size_t pages_nr_open(const struct pages *p, unsigned int cpu);
const struct page_ref *pages_open_ref(const struct pages *p, unsigned int cpu, size_t i,
				      uint32_t *pos);
/* Are all records up to the horizon read? */
bool pages_is_read(const struct pages *p, unsigned int cpu);
/*
 * Open a plain page at record @pos, which must be later than @after. Return: 0; -errno with fail()
 * set; -ESTALE: the page has changed.
 */
int pages_reopen(struct pages *p, unsigned int cpu, const struct page_ref *ref, uint32_t pos,
		 uint64_t after);
/* Set the references of a stream; no page is open then. */
void pages_stream_set(struct pages *p, unsigned int cpu, size_t first, size_t next, size_t end);
/*
 * Take the state of @from's stream, which has read all pages before reference @next; no page is
 * open then.
 */
void pages_stream_take_over(struct pages *p, const struct pages *from, unsigned int cpu,
			    size_t next);

/* For qsort(): by member, CPU and order of taking; by CPU and time. */
int pages_by_taking(const void *a, const void *b);
int pages_by_time(const void *a, const void *b);

/* pages_finish.c: facts about the processes; maps and functions of all members. */
void pages_make_head(struct pages *p, const struct pages_finish *how);
int pages_make_objects(struct pages *p, const struct pages_finish *how);

/* The references of a CPU: first and behind the last. */
void pages_cpu_refs(const struct pages *p, unsigned int cpu, size_t *first, size_t *end);

/* Compute reach and alone of @m's maps, which are sorted. */
void pages_settle_maps(struct member *m);

/* Kinds of records that lend data in the page. */
#define PAGE_LENT_KINDS                                                                            \
	(PAGE_ARGS_KINDS | 1u << RECORD_PRINT | 1u << RECORD_EVENT | 1u << RECORD_CALL)

/* The address in a trace.dat of run-time address @addr in a record of @stamp. */
uint64_t pages_canonical(const struct member *m, uint64_t addr, uint64_t stamp);

/* Make the added pages readable: convert losses and stamps, sort. */
void pages_settle(struct pages *p);

/*
 * A follower's state: which records the streams have given, and the reported losses.
 * follow_opened() is called before the slots are sorted; follow_emitted() for each slot that became
 * a record or (@lost) has an unknown id.
 */
void follow_opened(const struct pages *p, const struct page_ref *ref, const void *page,
		   const struct slot *slots, unsigned int nr);
void follow_emitted(const struct pages *p, const struct page_ref *ref, const struct slot *slot,
		    bool lost);
uint64_t *follow_reported(struct pages *p, uint32_t member, unsigned int cpu);
/* The state of a CPU's stream that is kept from turn to turn; NULL: the source is not followed. */
struct carried {
	uint64_t last_ts; /* of the last given record; later turns give no older time */
	uint64_t lost;	  /* to be reported with the next record */
};
struct carried *follow_carried(const struct pages *p, unsigned int cpu);
/* Is a new pair of clocks due? If so, it counts as taken. */
bool follow_clock_is_old(struct pages *p, uint64_t now_ns);
void follow_free(struct pages *p);

int pages_make_streams(struct pages *p);

/* The fields of an event that are addresses of code, printed as symbols (%ps and its like). */
#define STACK_OFFSET 16u
struct event_codes {
	uint16_t nr;
	uint16_t offset[6];
	bool stack; /* all words from STACK_OFFSET on are addresses */
	/* offsets of __data_loc words of stacks: place and bytes */
	uint16_t nr_located;
	uint16_t located[6];
};

/* Give the events of all members common ids. Return: 0 or -errno with fail() set. */
int pages_make_events(struct pages *p);
void pages_learn_printks(struct reader *r, uint32_t process);
/* reader_ops.process_key. In pages.c. */
uint64_t pages_process_key(struct reader *r, uint32_t process, bool *ended);
/* Find the fields that are addresses of code, for the events of @fs. Return: as above. */
int pages_find_codes(struct pages *p, const struct formats *fs);
void pages_free_events(struct pages *p);
void pages_free_streams(struct pages *p);

#endif
