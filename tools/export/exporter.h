/* SPDX-License-Identifier: MIT */
/* The formats in which a recording can be written: one file and one row each. */
#ifndef VESTIGE_TOOLS_EXPORTER_H
#define VESTIGE_TOOLS_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/reader/reader.h"

struct dat_live;
struct dat_more;
struct view;

struct export_options {
	bool plain;		   /* without parts that only vestige reads */
	const struct exporter *to; /* the format whose write() is called */
	struct reader *kernel;	   /* the kernel's records, for a trace.dat; NULL: none */
	/* For a trace.dat, see struct dat_options. r->further is always written as well. */
	const char *name;
	const struct dat_more *more;
	unsigned int nr_more;
	struct dat_live *live; /* for a trace.dat: the part that is encoded already; NULL: none */
	struct view *view;     /* of the reader, for of_calls formats; NULL for others */
	uint64_t part_bytes;   /* with `splits`: the size at which a file is full; 0: one file */
	/*
	 * For a format of calls: gets the output, which is then not written to @path. Return: 0 or
	 * -errno. NULL: none.
	 */
	int (*sink)(void *arg, const char *text, size_t bytes);
	void *sink_arg;
	/* Called from time to time: @done of about @total is written; NULL: never. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

struct exporter {
	const char *name;	 /* of `vestige convert --to NAME` */
	const char *help;	 /* one line */
	const char *suffixes[3]; /* of files that get this format, if --to is not given */
	/*
	 * It writes the calls that opt->view shows, also to stdout ("-"). Other formats write all
	 * records to a file.
	 */
	bool of_calls;
	/*
	 * Write all records of @r; it is read to its end.
	 * @path: replaced when the new file is complete. Return: 0 or -errno with fail() set.
	 */
	int (*write)(const char *path, struct reader *r, const struct export_options *opt);
	bool is_dat;	/* a trace.dat: `plain` and the reader's moved stamps are for it */
	bool splits;	/* supports part_bytes */
	bool is_folder; /* @path is a new folder: it must not exist, or must be empty */
};

/* All formats, the default of `vestige record` first. The last row has no name. */
extern const struct exporter exporters[];

/* The format with that name, or with that suffix (without the dot); NULL: there is none. */
const struct exporter *exporter_find(const char *name);

/* The format whose suffix @path has, by the longest suffix; NULL: there is none. */
const struct exporter *exporter_of_path(const char *path);

/* The suffix of @e that @path has; "": none. */
const char *exporter_suffix(const struct exporter *e, const char *path);

/* The rows. tools/export/dat_export.c */
int dat_export(const char *path, struct reader *r, const struct export_options *opt);
int dat6_export(const char *path, struct reader *r, const struct export_options *opt);
/* tools/export/native_export.c */
int native_export(const char *path, struct reader *r, const struct export_options *opt);
/* Formats of calls: call_export.h. */
int chrome_export(const char *path, struct reader *r, const struct export_options *opt);
int perfetto_export(const char *path, struct reader *r, const struct export_options *opt);
int folded_export(const char *path, struct reader *r, const struct export_options *opt);
int flame_export(const char *path, struct reader *r, const struct export_options *opt);
int speedscope_export(const char *path, struct reader *r, const struct export_options *opt);
int callgrind_export(const char *path, struct reader *r, const struct export_options *opt);
int firefox_export(const char *path, struct reader *r, const struct export_options *opt);
int pprof_export(const char *path, struct reader *r, const struct export_options *opt);
int dot_export(const char *path, struct reader *r, const struct export_options *opt);
int csv_export(const char *path, struct reader *r, const struct export_options *opt);
int jsonl_export(const char *path, struct reader *r, const struct export_options *opt);
int order_export(const char *path, struct reader *r, const struct export_options *opt);
int systrace_export(const char *path, struct reader *r, const struct export_options *opt);
int lcov_export(const char *path, struct reader *r, const struct export_options *opt);
int strace_export(const char *path, struct reader *r, const struct export_options *opt);
int ctf_export(const char *path, struct reader *r, const struct export_options *opt);

#endif
