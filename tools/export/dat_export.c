/* SPDX-License-Identifier: MIT */
/* The formats dat and dat6 of exporter.c: trace.dat. Tests: tests/cli/test_convert.py. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/export/dat_write.h"
#include "tools/export/exporter.h"

#define ZSTD_LEVEL 1

static int write_version(int version, const char *path, struct reader *r,
			 const struct export_options *opt)
{
	unsigned int nr = 0;
	struct dat_options how = {.version = version,
				  .zstd_level = ZSTD_LEVEL,
				  .name = opt->name ? opt->name : r->buffer,
				  .progress = opt->progress,
				  .progress_arg = opt->progress_arg};
	struct dat_more *more = calloc(opt->nr_more + r->nr_further + 1u, sizeof(*more));
	int ret = 0;

	if (!more)
		return fail(ENOMEM, "out of memory");
	if (opt->kernel)
		more[nr++] = (struct dat_more){READER_KERNEL_BUFFER, opt->kernel};
	for (unsigned int i = 0; i < opt->nr_more; i++)
		more[nr++] = opt->more[i];
	for (unsigned int i = 0; i < r->nr_further; i++)
		more[nr++] = (struct dat_more){r->further[i]->buffer, r->further[i]};
	/* they stop with the first one */
	for (unsigned int i = 0; i < nr; i++)
		more[i].r->stop = r->stop;
	how.more = more;
	how.nr_more = nr;
	how.native = !opt->plain && !nr;
	how.live = version == 7 && !how.name && !nr ? opt->live : NULL;
	ret = dat_write(path, r, &how);
	for (unsigned int i = 0; i < nr; i++)
		more[i].r->stop = NULL;
	free(more);
	return ret;
}

int dat_export(const char *path, struct reader *r, const struct export_options *opt)
{
	return write_version(7, path, r, opt);
}

int dat6_export(const char *path, struct reader *r, const struct export_options *opt)
{
	return write_version(6, path, r, opt);
}
