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
	double scale;			   /* of its stamps; 0: none */
	int64_t offset;			   /* added to them then */
	int64_t moved;			   /* by --ts-offset; it is in offset */
	struct dat_shifts shifts;	   /* of a guest's file */
	struct report_wakeups *wakeups;	   /* -w */
};

struct report {
	const struct report_options *o;
	struct report_file *files;
	size_t nr_files;
	int name_width; /* of what is in front of a line; 0: nothing is */
	struct out out;
};

/* Open all inputs. Return: 0 or -errno with fail() set; report_close() is owed in any case. */
int report_open(struct report *r);
void report_close(struct report *r);

/* A stamp of @cpu as it is shown. */
uint64_t report_time(const struct report_file *f, unsigned int cpu, uint64_t ts);

/* Is what --ts-offset makes of a stamp a time? Return: 0 or -ERANGE with fail() set. */
int report_check_time(const struct report_file *f, unsigned int cpu, uint64_t ts);

/* `cpus=N`, with the file's name where there are several. */
void report_put_cpus(struct report *r, const struct report_file *f);

/* A file without its records. report_lists.c. Return: 0 or -errno with fail() set. */
int report_list(struct report *r, const struct report_file *f);

/* All records, merged. report_records.c */
int report_records(struct report *r);

/*
 * report_each() - call @act for each record, merged. @ts: its time as it is shown. @rec: until @act returns.
 * Return: 0; what @act returned first that is not 0; -errno with fail() set.
 */
int report_each(struct report *r,
		int (*act)(void *arg, struct report_file *f, const struct record *rec, uint64_t ts),
		void *arg);

/* Of a buffer of a tracer of latencies: its text. Return: 0 or -errno with fail() set. */
int report_buffer_text(struct report *r, struct report_file *f, const struct dat_buffer *b);

/* -w: how long tasks waited for a CPU after they were woken. report_wakeups.c */
struct report_wakeups *report_wakeups_new(struct report_file *f);
void report_wakeups_free(struct report_wakeups *w);
/* Behind the line of @rec, whose time is @ts: ` Latency: ...` if a task came on. */
void report_wakeups_record(struct report_wakeups *w, struct out *o, struct report_file *f,
			   const struct record *rec, uint64_t ts);
/* The sum of all. */
void report_wakeups_end(const struct report_wakeups *w, struct out *o);

#endif
