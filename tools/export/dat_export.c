/* SPDX-License-Identifier: MIT */
/* The rows of exporter.c that are trace.dat. Tests: tests/cli/test_convert.py. */
#include "tools/export/dat_write.h"
#include "tools/export/exporter.h"

#define ZSTD_LEVEL 1

static int write_version(int version, const char *path, struct reader *r,
			 const struct export_options *opt)
{
	const struct dat_more kernel = {"kernel", opt->kernel};
	const struct dat_options how = {
		.version = version,
		.zstd_level = ZSTD_LEVEL,
		.native = !opt->plain && !opt->kernel && !opt->nr_more,
		.name = opt->name,
		.more = opt->kernel ? &kernel : opt->more,
		.nr_more = opt->kernel ? 1 : opt->nr_more,
		.live = version == 7 && !opt->kernel && !opt->name && !opt->nr_more ? opt->live
										    : NULL,
		.progress = opt->progress,
		.progress_arg = opt->progress_arg};

	return dat_write(path, r, &how);
}

int dat_export(const char *path, struct reader *r, const struct export_options *opt)
{
	return write_version(7, path, r, opt);
}

int dat6_export(const char *path, struct reader *r, const struct export_options *opt)
{
	return write_version(6, path, r, opt);
}
