/* SPDX-License-Identifier: MIT */
/* The formats that a recording can be written in: one file and one row each. */
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
	const struct exporter *to; /* whose write() has this */
	struct reader *kernel;	   /* the kernel's records, for a trace.dat; NULL */
	/*
	 * Of a trace.dat, see struct dat_options. r->further is written, too, without these.
	 */
	const char *name;
	const struct dat_more *more;
	unsigned int nr_more;
	struct dat_live *live; /* what is encoded already, for a trace.dat; NULL */
	struct view *view;     /* of the reader, for of_calls formats; NULL for others */
	uint64_t
		part_bytes; /* with `splits`: the size at which a file is full; 0: there is one file */
	/* Of a format of calls: has the text in place of @path. Return: 0 or -errno. NULL: there is none. */
	int (*sink)(void *arg, const char *text, size_t bytes);
	void *sink_arg;
	/* Called now and then with the amount done, of about @total; NULL none. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

struct exporter {
	const char *name;	 /* of `vestige convert --to NAME` */
	const char *help;	 /* one line */
	const char *suffixes[3]; /* of a file that has this format, unless --to says otherwise */
	bool of_calls; /* writes the calls that opt->view shows, to stdout too ("-"); others write all, to a file */
	/*
	 * Write all records of @r; it is read to its end.
	 * @path: replaced when the new file is complete. Return: 0 or -errno with fail() set.
	 */
	int (*write)(const char *path, struct reader *r, const struct export_options *opt);
	bool splits;	/* knows part_bytes */
	bool is_folder; /* @path is a folder, which must not be there, or be empty */
};

/* All of them; the first is what `vestige record` makes. The last has no name. */
extern const struct exporter exporters[];

/* The one of that name, or whose suffix it is without the dot; NULL: there is none. */
const struct exporter *exporter_find(const char *name);

/* The one whose suffix @path has, the longest if it has several; NULL: none has. */
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
