/* SPDX-License-Identifier: MIT */
/*
 * Raw pages of the ring (abi/page.h) as a reader: one stream a CPU, ordered by time.
 *
 * Each thread keeps a page of its own open, so pages of one CPU overlap in time. They are sorted by
 * the stamp they begin with and merged through a heap of those that have begun. A record in a page
 * may be older than the one before it (a signal handler ran between stamp and store): a page is
 * sorted when it is opened. Per page 48 bytes are kept; pages are read when their turn comes, so
 * that memory follows the number of pages open at one moment and not the size of the source.
 *
 * Losses: a page has its CPU's cumulative counts at the time when it was taken. Their growth since
 * the page taken before was lost before its first record. In a buffer that overwrites, overwritten
 * records are older than all that are left, and count before the CPU's first record.
 *
 * Only the top buffer (number 0) is read. Pages are untrusted: one whose head makes no sense is
 * left out, a record that does not fit or names no function is counted as lost.
 * Tests: tests/unit/reader/test_pages.c.
 */
#ifndef VESTIGE_TOOLS_PAGES_H
#define VESTIGE_TOOLS_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/page.h"
#include "tools/area/meta.h"
#include "tools/reader/reader.h"

struct pages;

/* Where a page is, and the data of its head. */
struct page_ref {
	uint64_t base;	 /* ns (while pages are added: clock units) */
	uint64_t offset; /* in the file */
	uint64_t seq;	 /* order of taking, of its head */
	uint64_t lost;	 /* before its first record (while pages are added: cumulative) */
	uint32_t member;
	uint32_t index; /* of its descriptor, in an area */
	uint16_t cpu;
	uint16_t nr_records;
	uint16_t nr_bytes;   /* of its records */
	uint8_t owned;	     /* OWNED when it was added */
	uint8_t reach : 7;   /* its records are less than 2^reach of the base's units behind it */
	uint8_t changes : 1; /* it may have records of stacks, or calls by their returns alone */
};

struct pages_source {
	/*
	 * Read a page again when its turn comes.
	 * @page: PAGE_BYTES. Return: 1; 0 when it is not the page that was added any more; -errno
	 * with fail() set.
	 */
	int (*fetch)(void *arg, const struct page_ref *ref, void *page);
	void (*close)(void *arg);
	void *arg;
	/* pages_can_part(): another arg, to fetch by at the same time, and its end */
	void *(*part)(void *arg);
	void (*part_close)(void *part);
	/* As printks_add_new(), of one of its areas. NULL: they do not change. */
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
 * pages_set_member() - the tables of process number @member; a newer set replaces an older one.
 * @m: is owned by the reader from now on, also on failure.
 * Return: 0 or -errno with fail() set; EINVAL for a member that is out of all proportion.
 */
int pages_set_member(struct pages *p, uint32_t member, struct meta *m);

/* Number of members so far, and the tables of one; NULL unknown. Borrowed. */
uint32_t pages_nr_members(const struct pages *p);
const struct meta *pages_member(const struct pages *p, uint32_t member);

/*
 * pages_add_page() - look at a page and remember it.
 * @page: PAGE_BYTES. @offset, @index, @owned: as in struct page_ref.
 * Return: 1 added, 0 left out (empty, or its head makes no sense), -ENOMEM with fail() set.
 */
int pages_add_page(struct pages *p, uint32_t member, const void *page, uint64_t offset,
		   uint32_t index, bool owned);

/*
 * The same for a page that is known to have @nr records of 8 bytes and nothing else, each of
 * RECORD_ENTRY, _TAIL or _EXIT. @head: its head. @last: the greatest stamp.
 */
int pages_add_calls(struct pages *p, uint32_t member, const struct page_head *head, unsigned int nr,
		    uint32_t last, uint64_t offset, uint32_t index, bool owned);

/* Add a pair of clocks that was taken outside. Return: 0 or -ENOMEM with fail() set. */
int pages_add_clock(struct pages *p, const struct area_clock *pair);

struct pages_finish {
	bool sample_clock; /* the processes may be of this machine and this boot */
	uint64_t now_ns;   /* for the statistics; 0: the last record's time */
	const char *uname;
	const char *cmdline;
	unsigned int nr_cpus_online;
	void (*note)(const char *line); /* see object_space_load() */
	bool latency;  /* read the stretch that tracers of latencies keep: reader.latency */
	bool no_names; /* the symbols are not wanted, which saves reading objects */
	/*
	 * The symbols as a text in /proc/kallsyms' form: no object is read then. NULL: there is
	 * none
	 */
	const char *names;
	size_t names_bytes;
};

/*
 * pages_finish() - sort, convert, read the symbols: after this records can be read.
 * Return: the reader; NULL with fail() set, @p is freed then and *@err is -errno.
 */
struct reader *pages_finish(struct pages *p, const struct pages_finish *how, int *err);

/*
 * To follow a live process: before pages_finish() pages_follow(); then in turns pages_again(),
 * which forgets all pages, pages_set_member() and pages_add_page() with what is new, pages_ready(),
 * after which the reader reads those, and pages_take(). Return: 0 or -ENOMEM with fail() set.
 */
int pages_follow(struct pages *p);
void pages_again(struct pages *p);
int pages_ready(struct pages *p);

/*
 * pages_hold() - a turn begins: until the next call, records wait that are younger than @ns
 * nanoseconds before this moment, and those from CLOCK_MONOTONIC @known_ns on (0: none of these). So a turn has
 * all of a thread's records up to its last one. Before pages are read and added.
 */
void pages_hold(struct pages *p, uint64_t ns, uint64_t known_ns);

/* Of a page that was read. */
struct page_taken {
	uint32_t bytes;	      /* from its start are taken now */
	unsigned int records; /* have been since the last time */
	bool whole;	      /* there is no more in it than was read */
};

/*
 * pages_take() - the first @n records of a CPU that were read since pages_ready() are taken. @mark:
 * is called for each page that this changes.
 */
void pages_take(struct pages *p, unsigned int cpu, uint64_t n,
		void (*mark)(void *arg, const struct page_ref *ref, const struct page_taken *taken),
		void *arg);

/*
 * To read a source that grows, in turns that give all records up to a moment, as a reader of the
 * whole source does; of plain calls (others end it, see below). pages_grow() after pages_new();
 * then pages_set_member(), pages_add_clock() and pages_add_page() at any time; pages_grow_begin()
 * once, when there is a member; after pages_set_member(), pages_grow_tables(). pages_finish() is
 * not called. Return: 0 or -errno with fail() set, after which pages_free() alone is allowed:
 * -ESTALE, the source cannot be read so.
 */
int pages_grow(struct pages *p);
int pages_grow_begin(struct pages *p);
int pages_grow_tables(struct pages *p);

/*
 * pages_grow_opens() - is a page that is added from now on one that will be added again with more in it,
 * and a last time when it is whole? Its records up to the next turn's stamp must be in it. Return: false:
 * the source is no growing one.
 */
bool pages_grow_opens(struct pages *p, bool opens);

/*
 * pages_grow_turn() - the reader gets the records before @stamp, in the processes' clock units.
 * All pages with such records must have been added, and all records before must have been read.
 * A record that is not in columns (struct run) is one that this way of reading does not know.
 * Return: 1; 0: there is nothing new; -errno as above.
 */
int pages_grow_turn(struct pages *p, uint64_t stamp);

/*
 * pages_take_over() - a reader of the whole source goes on where @from ended.
 * @to: of pages_finish(), nothing is read yet. @from: its last turn is read to its end.
 * Return: 0, or -errno with fail() set; @to is anywhere then, and can be rewound. -ESTALE: what
 * @from read is not what @to would have read.
 */
int pages_take_over(struct pages *to, const struct pages *from);

/* The losses of a member's CPU that earlier readers have reported. */
void pages_set_reported(struct pages *p, uint32_t member, unsigned int cpu, uint64_t lost,
			uint64_t overrun);
void pages_get_reported(struct pages *p, uint32_t member, unsigned int cpu, uint64_t *lost,
			uint64_t *overrun);

/* Names and clock anew, from the tables of the members. Return: 0 or -errno with fail() set. */
int pages_refresh(struct pages *p);

/*
 * pages_can_part() - several threads may read the source. @part: gives another arg for
 * pages_source.fetch; NULL: this source cannot be read so, or there is no memory. Before
 * pages_finish().
 */
void pages_can_part(struct pages *p, void *(*part)(void *arg), void (*close)(void *part));

/*
 * pages_part() - a second reader, for another thread: it gives the records from about the middle
 * on, and @r those before. It has no symbols. Before anything is read of @r; both load their own
 * pages then. Return: it, to be freed with pages_part_free() before @r; NULL: that does not go or
 * is not worth it, and @r is as it was: there are few pages, losses, several processes, stacks
 * that change, or too many pages with records on both sides.
 */
struct reader *pages_part(struct reader *r);
void pages_part_free(struct reader *part);
/* @r gives the other records, too, from now on. */
void pages_part_drop(struct reader *r);

/*
 * The pages behind a reader, for data that reader.h does not give; NULL: it is not from
 * pages_finish().
 */
struct pages *pages_of_reader(struct reader *r);

/* Losses of the CPUs that no page tells, to lost_at_end of @stats, which has all that is counted. */
void pages_find_lost_at_end(const struct pages *p, struct reader_cpu_stats *stats);

/* The way back. */
struct reader *pages_reader(struct pages *p);

/* The pages in the order of their CPUs' streams: how many, where number @i is, and to read it. */
size_t pages_nr_refs(const struct pages *p);
const struct page_ref *pages_ref(const struct pages *p, size_t i);
/* As pages_source.fetch. */
int pages_fetch(const struct pages *p, size_t i, void *page);

/* Pair of clocks number @i as it was added. Return: whether there is one. */
bool pages_clock(const struct pages *p, size_t i, struct area_clock *pair);

#endif
