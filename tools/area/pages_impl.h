/* SPDX-License-Identifier: MIT */
/* Shared by the files behind pages.h alone; no other file includes it. */
#ifndef VESTIGE_TOOLS_PAGES_IMPL_H
#define VESTIGE_TOOLS_PAGES_IMPL_H

#include <errno.h>

#include "tools/area/clock.h"
#include "tools/area/pages.h"
#include "tools/base/fail.h"
#include "tools/reader/formats.h"
#include "tools/reader/printks.h"

/*
 * A loaded object: run-time addresses [lo, hi) and where they lie in a trace.dat. Where one was
 * unloaded and another took its place, the stamp of a record shows which of them is meant.
 */
struct map {
	uint64_t lo, hi, bias, base;
	uint64_t reach;	 /* the greatest hi up to and with this one */
	uint64_t unload; /* clock units; UINT64_MAX: it stayed */
	bool alone;	 /* no other one shares an address with it */
};

struct member {
	struct meta *meta; /* NULL: pages came, tables did not */
	struct map *maps;  /* by lo */
	size_t nr_maps;
	uint64_t *functions; /* canonical address by id */
	uint32_t nr_functions;
	bool no_gaps;	  /* each id has an address */
	bool counter;	  /* stamps are the stamp counter's */
	bool ended;	  /* its process, when the recording did */
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
	/* Of a follower's turn: when it began, how long records wait, and which ones do: the later */
	uint64_t turn_ns, turn_stamp, hold_ns;
	uint64_t horizon;
	struct reader_latency latency; /* reader.latency is this, or NULL */
};

/* Read a page again; all reading of pages goes through this. Return: as pages_source.fetch. */
static inline int page_fetch(const struct pages *p, const struct page_ref *ref, void *page)
{
	if (p->reader.stop && atomic_load_explicit(p->reader.stop, memory_order_relaxed))
		return fail(EINTR, "interrupted");
	return p->source.fetch(p->source.arg, ref, page);
}

extern const struct reader_ops pages_ops, pages_follow_ops;

/* A record as it lies in an open page. */
struct slot {
	uint64_t word;
	uint64_t payload; /* its first word; of PAGE_LENT_KINDS where the record lies */
	uint32_t at;	  /* where it lies */
	uint16_t context; /* common_flags, common_preempt_count above them */
};

#define PAGE_MAX_SLOTS (PAGE_DATA_BYTES / 8)

/*
 * page_decode() - the whole records of a page.
 * @page: PAGE_BYTES, untrusted. @out: room for PAGE_MAX_SLOTS, or NULL to count only.
 * @has: set: how many, their size, a bit for each enum record_kind among them, and the greatest
 * stamp. Return: how many. Stops at a word that no writer makes.
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
 * A page whose turn has come, or is near. Pages of nothing but PAGE_PLAIN_KINDS with good ids,
 * which is what function_graph makes, are kept by columns.
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
	unsigned char *page;	/* a copy, where a record has more than words; behind the slots */
	struct open_page *done; /* the next one of those read to their end */
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
 * page_load() - read a page and make it ready.
 * Changes nothing of @p, but for what its source keeps of the page's CPU: several threads may load
 * pages of different CPUs.
 * @out: it, to be freed with free(); NULL: it holds nothing. @gone: records that were in it and are
 * not any more.
 * Return: 0 or -errno with fail() set.
 */
int page_load(const struct pages *p, const struct page_ref *ref, struct open_page **out,
	      uint32_t *gone);

/* pages_ahead.c: a thread that loads pages before their turn. */
int ahead_new(const struct pages *p, struct ahead **out);
void ahead_free(struct ahead *a);
/* All CPUs begin again. */
void ahead_rewind(struct ahead *a);
/* The next page of @cpu, of which there is one more; as page_load(). */
int ahead_take(struct ahead *a, unsigned int cpu, struct open_page **out, uint32_t *gone);

/* @cpu begins at its reference @next: before the first page is taken. */
void ahead_begin_at(struct ahead *a, unsigned int cpu, size_t next);

/* pages_grow.c. A page that was added waits. Return: as pages_add_page(). */
int grow_add(struct pages *p, const struct page_ref *ref);
void grow_free(struct pages *p);

/* The pages of a CPU that are open: how many, and of number @i which it is and what is read. */
size_t pages_nr_open(const struct pages *p, unsigned int cpu);
const struct page_ref *pages_open_ref(const struct pages *p, unsigned int cpu, size_t i,
				      uint32_t *pos);
/* Are all records up to the horizon read? */
bool pages_is_read(const struct pages *p, unsigned int cpu);
/*
 * Open a plain page at record @pos, which is behind time @after. Return: 0; -ESTALE, with fail() set: it
 * is another one.
 */
int pages_reopen(struct pages *p, unsigned int cpu, const struct page_ref *ref, uint32_t pos,
		 uint64_t after);
/* Another part of the references; no page is open then. */
void pages_stream_set(struct pages *p, unsigned int cpu, size_t first, size_t next, size_t end);
/* @from has read all pages before reference @next; no page is open then. */
void pages_stream_take_over(struct pages *p, const struct pages *from, unsigned int cpu,
			    size_t next);

/* Of qsort(): by member, CPU and order of taking; by CPU and time. */
int pages_by_taking(const void *a, const void *b);
int pages_by_time(const void *a, const void *b);

/* pages_finish.c: facts about the processes; maps and functions of all members. */
void pages_make_head(struct pages *p, const struct pages_finish *how);
int pages_make_objects(struct pages *p, const struct pages_finish *how);

/* The references of a CPU: first and behind the last. */
void pages_cpu_refs(const struct pages *p, unsigned int cpu, size_t *first, size_t *end);

/* Complete @m's maps from the others; they are in order. */
void pages_settle_maps(struct member *m);

/* Records that lend what lies in the page. */
#define PAGE_LENT_KINDS                                                                            \
	(PAGE_ARGS_KINDS | 1u << RECORD_PRINT | 1u << RECORD_EVENT | 1u << RECORD_CALL)

/* The address in a trace.dat of a run-time address at a time. */
uint64_t pages_canonical(const struct member *m, uint64_t addr, uint64_t stamp);

/* Make the added pages readable: losses, times, order. */
void pages_settle(struct pages *p);

/*
 * A follower's state: the records that the streams have handed out, and the reported losses.
 * follow_opened() before the slots are sorted; follow_emitted() for each that became a record or
 * (@lost) names nothing.
 */
void follow_opened(const struct pages *p, const struct page_ref *ref, const void *page,
		   const struct slot *slots, unsigned int nr);
void follow_emitted(const struct pages *p, const struct page_ref *ref, const struct slot *slot,
		    bool lost);
uint64_t *follow_reported(struct pages *p, uint32_t member, unsigned int cpu);
/* Of a CPU's stream, kept from turn to turn; NULL when the source is not followed. */
struct carried {
	uint64_t last_ts; /* of the last record given; no later turn goes back behind it */
	uint64_t lost;	  /* to be reported with the next record */
};
struct carried *follow_carried(const struct pages *p, unsigned int cpu);
/* Is it time to look at the clock again? Then it counts as looked at. */
bool follow_clock_is_old(struct pages *p, uint64_t now_ns);
void follow_free(struct pages *p);

int pages_make_streams(struct pages *p);

/* Which fields of an event hold addresses in the text, to be read as symbols (%ps and its kind). */
#define STACK_OFFSET 16u
struct event_codes {
	uint16_t nr;
	uint16_t offset[6];
	bool stack; /* all from STACK_OFFSET on are */
	/* where a stack is, and how many bytes: a word of each, as __data_loc has it */
	uint16_t nr_located;
	uint16_t located[6];
};

/*
 * The events of all members, under ids that mean the same in each. Return: 0 or -errno with fail().
 */
int pages_make_events(struct pages *p);
void pages_learn_printks(struct reader *r, uint32_t process);
/* reader_ops.process_key. In pages.c. */
uint64_t pages_process_key(struct reader *r, uint32_t process, bool *ended);
/*
 * Of events whose formats @fs are: which of their fields are addresses of code. Return: as above.
 */
int pages_find_codes(struct pages *p, const struct formats *fs);
void pages_free_events(struct pages *p);
void pages_free_streams(struct pages *p);

#endif
