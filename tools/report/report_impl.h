/* SPDX-License-Identifier: MIT */
/* What the files of tools/report share. */
#ifndef VESTIGE_TOOLS_REPORT_IMPL_H
#define VESTIGE_TOOLS_REPORT_IMPL_H

#include "tools/dat/dat_guest.h"
#include "tools/report/report.h"

struct report_file {
	const struct report_input *in;
	struct dat_reader *d;
	struct line *line;
	struct tep_event_filter **filters; /* as many as the options have */
	double scale;			   /* factor of its stamps; 0: none */
	int64_t offset;			   /* added to them after that */
	int64_t moved;			   /* the part of offset that is --ts-offset */
	struct dat_shifts shifts;	   /* of a guest's file */
	struct report_wakeups *wakeups;	   /* -w */
};

struct report {
	const struct report_options *o;
	struct report_file *files;
	size_t nr_files;
	int name_width; /* of the file's or buffer's name in front of a line; 0: there is none */
	struct out out;
};

/*
 * Open all inputs. Return: 0 or -errno with fail() set; in any case the caller calls
 * report_close().
 */
int report_open(struct report *r);
void report_close(struct report *r);

/* The time to print for a stamp of @cpu. */
uint64_t report_time_moved(const struct report_file *f, unsigned int cpu, uint64_t ts);

/* The same; quick for a file whose stamps are printed as they are. */
static inline uint64_t report_time(const struct report_file *f, unsigned int cpu, uint64_t ts)
{
	if (!f->shifts.cpus && f->scale == 0)
		return ts + (uint64_t)f->offset;
	return report_time_moved(f, cpu, ts);
}

/* Does a stamp stay in range with --ts-offset? Return: 0 or -ERANGE with fail() set. */
int report_check_time(const struct report_file *f, unsigned int cpu, uint64_t ts);

/* `cpus=N`, with the file's name where there are several. */
void report_put_cpus(struct report *r, const struct report_file *f);

/*
 * Print the data of a file other than its records. report_lists.c. Return: 0 or -errno with fail()
 * set.
 */
int report_list(struct report *r, const struct report_file *f);

/* Print all records, merged. report_records.c */
int report_records(struct report *r);

/*
 * report_each() - call @act for each record, merged. @ts: the time to print. @rec: valid until @act
 * returns. A result of @act other than 0 stops. Return: 0; that result; -errno with fail() set.
 */
int report_each(struct report *r,
		int (*act)(void *arg, struct report_file *f, const struct record *rec, uint64_t ts),
		void *arg);

/* Print the text of a buffer of a latency tracer. Return: 0 or -errno with fail() set. */
int report_buffer_text(struct report *r, struct report_file *f, const struct dat_buffer *b);

/* -w: how long tasks waited for a CPU after they were woken. report_wakeups.c */
struct report_wakeups *report_wakeups_new(struct report_file *f);
void report_wakeups_free(struct report_wakeups *w);
/*
 * Call it after the line of @rec. It prints ` Latency: ...` if @rec is the switch to a task that
 * was woken. @ts: the time of @rec.
 */
void report_wakeups_record(struct report_wakeups *w, struct out *o, struct report_file *f,
			   const struct record *rec, uint64_t ts);
/* Print the sums of all latencies. */
void report_wakeups_end(const struct report_wakeups *w, struct out *o);

#endif
