/* SPDX-License-Identifier: MIT */
/*
 * Shared by `replay`, `graph` and `profile`: the file, the calls that are shown, their names, and
 * the loop from the file to the calls. The flags are in cli/view_flags.h.
 */
#ifndef VESTIGE_TOOLS_VIEW_H
#define VESTIGE_TOOLS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/analysis/call_filter.h"
#include "tools/analysis/calls.h"
#include "tools/code/demangle.h"
#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct calls;
struct runs;

/* The state of view_begin() and view_step(). */
struct view_walk {
	struct runs *runs;
	struct calls *calls;
	uint64_t cuts[2]; /* later cuts, 0 none */
	bool begun;
};

struct view {
	const char *path; /* NULL: trace.dat */
	const char *cpu_text;
	struct call_wish wish;
	bool range_from_start, range_to_start; /* from and to count from the first record */
	enum demangle demangle;
	bool srcline;
	/* from view_open() on */
	struct reader *r;
	bool *cpus;
	struct call_filter *filter;
	struct srcline *lines;	   /* NULL: not asked for */
	struct value_text *values; /* NULL: the trace has no arguments or results */
	uint64_t first_ts, last_ts;
	uint64_t lost;	   /* records of all buffers, or RECORD_LOST_UNKNOWN */
	uint64_t *lost_of; /* the same by buffer (reader_buffer_name()) */
	bool first_calls;  /* the first buffer has calls with entry and exit */
	uint64_t left_out; /* calls left out because they were too deep */
	/*
	 * Called with each record that is neither entry nor exit of a call, and by CPU in order;
	 * NULL: they are not wanted. Return: 0, or -errno with fail() set, which ends the reading.
	 */
	int (*other)(void *arg, const struct record *rec);
	void *other_arg;
	/*
	 * Called with each record of any kind before which others were lost: ts, cpu, process and
	 * lost are set. NULL: only the sum is wanted, which is in `lost`.
	 */
	void (*gap)(void *arg, const struct record *behind);
	void *gap_arg;
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* records; NULL: none */
	void *progress_arg;
	/*
	 * Calls that are open at the ends of the range in `wish` are cut there (calls_cut()), so
	 * their part in the range counts. If not set, calls keep their length, and calls that began
	 * before the range are left out.
	 */
	bool cuts;
	/*
	 * Called every few records; true: the part is full. Then the calls are cut here, and
	 * part_next() is called between the two parts. NULL: there is one part.
	 */
	bool (*part_full)(void *arg);
	void (*part_next)(void *arg);
	void *part_arg;
	uint64_t nr_records, nr_expected; /* read so far; about how many there are, 0 unknown */
	uint64_t *nr_of_cpu;		  /* read so far, by CPU; NULL: not wanted. Borrowed */
	struct view_walk walk;
};

/* Initialise @v; view_open() or view_use() follows. */
void view_init(struct view *v);

/*
 * view_use() - make a view of @r, an open reader; the view owns it. Return: 0 or -errno with fail()
 * set. Either way the caller calls view_close().
 */
int view_use(struct view *v, struct reader *r);
/*
 * view_choose_cpus() - restrict an open view to some CPUs.
 * @list: `0,2-3`. Return: 0 or -errno with fail() set: EINVAL.
 */
int view_choose_cpus(struct view *v, const char *list);
/*
 * Fail where the recording has no calls with entry and exit. Return: 0 or -EINVAL with fail() set.
 */
int view_must_have_calls(const struct view *v);

/*
 * view_open() - open the file and make the filter. Return: 0 or -errno with fail() set. Either way
 * the caller calls view_close().
 */
int view_open(struct view *v);
/* The same of a recording that must have calls with entry and exit. */
int view_open_calls(struct view *v);
void view_close(struct view *v);

/*
 * view_lost_calls() - how many records were lost in the buffers that have calls with entry and
 * exit, or in all buffers if none has calls. Valid after the reading. Lost records of other
 * buffers, such as the kernel's events, are not lost calls. Return: a number, or
 * RECORD_LOST_UNKNOWN.
 */
uint64_t view_lost_calls(const struct view *v);

/* Whether a flag needs calls with entry and exit. */
bool view_has_filters(const struct view *v);

/*
 * view_run() - read the file to its end and report its calls.
 * @err: looked at after each record; not 0 ends it (with fail() set, or -EPIPE).
 * Return: 0 or -errno with fail() set.
 */
int view_run(struct view *v, const struct calls_ops *ops, void *arg, const int *err);

/*
 * The same, one run of records at a time. view_begin() - before the first run. view_step() - report
 * the calls of the next run. view_finish() - after the last run: open calls end there. view_end() -
 * free what view_begin() made, also after it has failed.
 * Return: 0 or -errno with fail() set; of view_step() 1, and 0 at the end.
 */
int view_begin(struct view *v, const struct calls_ops *ops, void *arg);
int view_step(struct view *v, const int *err);
void view_finish(struct view *v);
void view_end(struct view *v);

/* Print notes on records that the view does not show to stderr. */
void view_notes(const struct view *v, uint64_t nr_calls);

/* The function's name, or its address. */
void view_put_name(const struct view *v, struct out *o, const struct call_function *fn);
/* `file.c:12`, NULL unknown or not asked for. Borrowed until the next call. */
const char *view_place(const struct view *v, uint64_t ip);

#endif
