/* SPDX-License-Identifier: MIT */
/*
 * A reader of raw pages of the ring (abi/page.h): one stream a CPU, in order of time.
 *
 * Each thread keeps a page of its own open, so pages of one CPU overlap in time. They are sorted by
 * their first stamp, and a heap merges those that have begun. A record in a page may be older than
 * the one before it (a signal handler ran between stamp and store), so a page is sorted when it is
 * opened. 48 bytes are kept for each page. A page is read when its turn comes, so memory depends on
 * the number of pages that are open at the same time, not on the size of the source.
 *
 * Losses: a page has its CPU's cumulative counts at the time when it was taken. Their growth since
 * the previous page is reported as lost before its first record. In a buffer that overwrites,
 * overwritten records are older than all others, so they are reported before the CPU's first
 * record.
 *
 * Only the top buffer (number 0) is read. Pages are untrusted: one with an invalid head is left
 * out; a record that does not fit, or has an unknown function, counts as lost.
 * Tests: tests/unit/reader/test_pages.c.
 */
#ifndef VESTIGE_TOOLS_PAGES_H
#define VESTIGE_TOOLS_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/page.h"
#include "tools/area/meta.h"
#include "tools/area/page_calls.h"
#include "tools/reader/reader.h"

struct pages;

/* An entry of the index: where a page is, and data of its head. */
struct page_ref {
	uint64_t base;	 /* ns (while pages are added: clock units) */
	uint64_t offset; /* in the file */
	uint64_t seq;	 /* order of taking, from its head */
	uint64_t lost;	 /* before its first record (while pages are added: cumulative) */
	uint32_t member;
	uint32_t index; /* of its descriptor, in an area */
	uint16_t cpu;
	uint16_t nr_records;
	uint16_t nr_bytes;   /* of its records */
	uint8_t owned;	     /* OWNED when it was added */
	uint8_t reach : 7;   /* all its stamps are below base + 2^reach */
	uint8_t changes : 1; /* it may have RECORD_STACK, or calls without an entry */
};

struct pages_source {
	/*
	 * Read a page again when its turn comes.
	 * @page: PAGE_BYTES. Return: 1; 0: it was reused since it was added; -errno with fail()
	 * set.
	 */
	int (*fetch)(void *arg, const struct page_ref *ref, void *page);
	/*
	 * Read a page of calls as it is packed. NULL: the source has none. Return: 1; 0: it must be
	 * fetched; -errno with fail() set.
	 */
	int (*calls)(void *arg, const struct page_ref *ref, struct page_calls *out);
	void (*close)(void *arg);
	void *arg;
	/* pages_can_part(): make another @arg for fetch and calls in another thread; free it */
	void *(*part)(void *arg);
	void (*part_close)(void *part);
	/* As printks_add_new(), for the area of @member. NULL: formats do not change. */
	int (*printks)(void *arg, uint32_t member, struct printks *p);
};

/*
 * pages_new() - a reader without members and pages yet.
 * @source: copied; its close() is called by reader_close(), or here on failure.
 * Return: NULL with fail() set when memory is short.
 */
struct pages *pages_new(const struct pages_source *source);
void pages_free(struct pages *p);

/*
 * pages_set_member() - set the tables of process number @member; they replace older ones.
 * @m: taken over by the reader, also on failure.
 * Return: 0 or -errno with fail() set; EINVAL: @member is too large a number.
 */
int pages_set_member(struct pages *p, uint32_t member, struct meta *m);

/* Number of members so far, and the tables of one; NULL unknown. Borrowed. */
uint32_t pages_nr_members(const struct pages *p);
const struct meta *pages_member(const struct pages *p, uint32_t member);

/*
 * pages_add_page() - add a page to the index.
 * @page: PAGE_BYTES. @offset, @index, @owned: as in struct page_ref.
 * Return: 1 added, 0 left out (empty, or its head makes no sense), -ENOMEM with fail() set.
 */
int pages_add_page(struct pages *p, uint32_t member, const void *page, uint64_t offset,
		   uint32_t index, bool owned);

/*
 * pages_add_page() for a page that has only @nr records of 8 bytes, each a RECORD_ENTRY, _TAIL or
 * _EXIT. @head: its head. @last: the greatest stamp.
 */
int pages_add_calls(struct pages *p, uint32_t member, const struct page_head *head, unsigned int nr,
		    uint32_t last, uint64_t offset, uint32_t index, bool owned);

/* Add a pair of clocks that the recorder took. Return: 0 or -ENOMEM with fail() set. */
int pages_add_clock(struct pages *p, const struct area_clock *pair);

struct pages_finish {
	bool sample_clock; /* the processes may be of this machine and this boot */
	uint64_t now_ns;   /* for the statistics; 0: the last record's time */
	const char *uname;
	const char *cmdline;
	unsigned int nr_cpus_online;
	void (*note)(const char *line); /* see object_space_load() */
	bool latency;  /* read the trace that a latency tracer keeps: reader.latency */
	bool no_names; /* no symbols: objects are not read */
	/*
	 * The symbols as text in the format of /proc/kallsyms; objects are not read then. NULL:
	 * none.
	 */
	const char *names;
	size_t names_bytes;
};

/*
 * pages_finish() - sort, convert, read the symbols. Records can be read afterwards.
 * Return: the reader, which owns @p; NULL with fail() set: @p is freed and *@err is -errno.
 */
struct reader *pages_finish(struct pages *p, const struct pages_finish *how, int *err);

/*
 * To follow a live process, call pages_follow() before pages_finish(). Then in each turn:
 * pages_again(), which drops all pages; pages_set_member() and pages_add_page() with new tables and
 * pages; pages_ready(), after which the reader gives their records; pages_take().
 * Return: 0 or -ENOMEM with fail() set.
 */
int pages_follow(struct pages *p);
void pages_again(struct pages *p);
int pages_ready(struct pages *p);

/*
 * pages_hold() - begin a turn, before pages are read and added. Until the next call, records wait
 * that are from the last @ns nanoseconds, or from CLOCK_MONOTONIC @known_ns on (0: no such limit).
 * So a turn has all records of a thread up to the last one that it gives.
 */
void pages_hold(struct pages *p, uint64_t ns, uint64_t known_ns);

/* How far a page was taken. */
struct page_taken {
	uint32_t bytes;	      /* taken, from its start */
	unsigned int records; /* taken since the last time */
	bool whole;	      /* all records in it were read */
};

/*
 * pages_take() - take the first @n records of a CPU that were read since pages_ready().
 * @mark: called with @arg for each page that this changes.
 */
void pages_take(struct pages *p, unsigned int cpu, uint64_t n,
		void (*mark)(void *arg, const struct page_ref *ref, const struct page_taken *taken),
		void *arg);

/*
 * To read a growing source in turns. Each turn gives all records up to a time, the same as a reader
 * of the whole source. For plain calls only; other records end it, see pages_grow_turn().
 * Call pages_grow() after pages_new(); then pages_set_member(), pages_add_clock() and
 * pages_add_page() at any time; pages_grow_begin() once, when there is a member;
 * pages_grow_tables() after each pages_set_member(). Do not call pages_finish().
 * Return: 0; -errno with fail() set, after which only pages_free() is allowed; -ESTALE: the source
 * cannot be read this way.
 */
int pages_grow(struct pages *p);
int pages_grow_begin(struct pages *p);
int pages_grow_tables(struct pages *p);

/*
 * pages_grow_opens() - set whether pages that are added from now on will be added again: with more
 * records, and a last time when they are complete. Such a page must have all its records up to the
 * next turn's stamp.
 * Return: false: pages_grow() was not called.
 */
bool pages_grow_opens(struct pages *p, bool opens);

/*
 * pages_grow_turn() - give the reader the records before @stamp, in the processes' clock units. All
 * pages with such records must have been added, and all earlier records must have been read. A
 * record that is not in columns (struct run) is an error here.
 * Return: 1; 0: nothing is new; -errno as above.
 */
int pages_grow_turn(struct pages *p, uint64_t stamp);

/*
 * pages_take_over() - let a reader of the whole source continue where @from ended.
 * @to: from pages_finish(), nothing is read yet. @from: its last turn is read to the end.
 * Return: 0; -errno with fail() set: the position of @to is not defined, and it can be rewound;
 * -ESTALE: @to would have read other records than @from.
 */
int pages_take_over(struct pages *to, const struct pages *from);

/* Set and get the losses of a member's CPU that earlier readers have reported. */
void pages_set_reported(struct pages *p, uint32_t member, unsigned int cpu, uint64_t lost,
			uint64_t overrun);
void pages_get_reported(struct pages *p, uint32_t member, unsigned int cpu, uint64_t *lost,
			uint64_t *overrun);

/* Make names and clock again, from the members' tables. Return: 0 or -errno with fail() set. */
int pages_refresh(struct pages *p);

/*
 * pages_can_part() - declare that more threads may read the source. To be called before
 * pages_finish().
 * @part: returns another @arg for pages_source.fetch and .calls; NULL: it cannot, or memory is
 * short. @close: frees that.
 */
void pages_can_part(struct pages *p, void *(*part)(void *arg), void (*close)(void *part));

/*
 * pages_part() - split the records of @r: a second reader, for another thread, gives those from
 * about the middle on, and @r those before. The second reader has no symbols. To be called before
 * anything is read of @r. Each reader loads its own pages.
 * Return: it, freed with pages_part_free() before @r; NULL: @r is unchanged, because it cannot be
 * split or is too small: few pages, losses, several processes, changes of stacks, or too many pages
 * with records on both sides.
 */
struct reader *pages_part(struct reader *r);
void pages_part_free(struct reader *part);
/* Undo pages_part(): @r gives all records from now on. */
void pages_part_drop(struct reader *r);

/*
 * pages_beside() - the same pages for another thread, which may use pages_ref(), pages_fetch() and
 * pages_calls() while @p is read. Return: them, freed with pages_beside_free() before @p; NULL: the
 * source has no second reader, or memory is short.
 */
struct pages *pages_beside(const struct pages *p);
void pages_beside_free(struct pages *beside);

/*
 * The struct pages of a reader, for data that reader.h does not have; NULL: it is not from
 * pages_finish().
 */
struct pages *pages_of_reader(struct reader *r);

/*
 * Set lost_at_end of @stats to the losses of each CPU that no page has reported. @stats: nr_cpus of
 * them, with all other counts.
 */
void pages_find_lost_at_end(const struct pages *p, struct reader_cpu_stats *stats);

/* The reader of @p. */
struct reader *pages_reader(struct pages *p);

/* The index in the order of the CPUs' streams: the number of pages, and page number @i. */
size_t pages_nr_refs(const struct pages *p);
const struct page_ref *pages_ref(const struct pages *p, size_t i);
/* Read page number @i. Return: as pages_source.fetch. */
int pages_fetch(const struct pages *p, size_t i, void *page);
/* The same of pages_source.calls; 0 also: the source has none. */
int pages_calls(const struct pages *p, size_t i, struct page_calls *out);

/* *@pair: gets pair of clocks number @i, as it was added. Return: is there one? */
bool pages_clock(const struct pages *p, size_t i, struct area_clock *pair);

#endif
