/* SPDX-License-Identifier: MIT */
/* The formats that a recording can be written in: one file and one row each. */
#ifndef VESTIGE_TOOLS_EXPORTER_H
#define VESTIGE_TOOLS_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/reader/reader.h"

struct export_options {
	bool plain; /* without what only vestige reads */
	/* Called now and then with how much is done of about @total; NULL none. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

struct exporter {
	const char *name; /* of `vestige convert --to NAME` */
	const char *help; /* one line */
	/*
	 * Write all that @r holds; it is read to its end.
	 * @path: replaced when the new file is complete. Return: 0 or -errno with fail() set.
	 */
	int (*write)(const char *path, struct reader *r, const struct export_options *opt);
};

/* All of them; the first is what `vestige record` makes. The last has no name. */
extern const struct exporter exporters[];

/* The one of that name; NULL: there is none. */
const struct exporter *exporter_find(const char *name);

/* The rows. tools/export/dat_export.c */
int dat_export(const char *path, struct reader *r, const struct export_options *opt);
int dat6_export(const char *path, struct reader *r, const struct export_options *opt);
/* tools/export/native_export.c */
int native_export(const char *path, struct reader *r, const struct export_options *opt);

#endif
