/* SPDX-License-Identifier: MIT */
/*
 * The native form (docs/formats/spool.md): a copy of a reader's pages, the tables of their images,
 * and the symbols, as `vestige record --native` writes them. Costs about 2 ns a record, to copy and
 * pack each page. Tests: tests/cli/test_convert.py, test_control.py.
 */
#include <errno.h>
#include <unistd.h>

#include "tools/area/pages.h"
#include "tools/area/spool_write.h"
#include "tools/base/fail.h"
#include "tools/base/time_ns.h"
#include "tools/export/dat_file.h"
#include "tools/export/exporter.h"

#define BATCH 64u /* pages */

static int put_tables(struct spool_writer *w, const struct pages *p)
{
	struct area_clock pair;
	int err = 0;

	for (uint32_t i = 0; !err && i < pages_nr_members(p); i++)
		if (pages_member(p, i))
			err = spool_put_meta(w, i, pages_member(p, i));
	for (size_t i = 0; !err && pages_clock(p, i, &pair); i++)
		err = spool_put_clock(w, &pair);
	return err;
}

/*
 * Write all pages, in batches of one CPU and one image. A page that was used again before it was
 * copied is left out.
 */
static int put_pages(struct spool_writer *w, const struct pages *p,
		     const struct export_options *opt)
{
	static uint64_t copies[BATCH][PAGE_BYTES / 8];
	struct spool_page pages[BATCH];
	size_t nr = pages_nr_refs(p), i = 0;
	uint64_t done = 0, total = 0;

	for (size_t k = 0; k < nr; k++)
		total += pages_ref(p, k)->nr_records;
	while (i < nr) {
		const struct page_ref *first = pages_ref(p, i), *ref = first;
		unsigned int n = 0;
		int got;

		for (; n < BATCH && ref->cpu == first->cpu && ref->member == first->member;) {
			got = pages_fetch(p, i, copies[n]);
			if (got < 0)
				return got;
			pages[n] = (struct spool_page){copies[n], ref->owned ? 0 : ref->seq};
			n += got > 0;
			done += ref->nr_records;
			if (++i == nr)
				break;
			ref = pages_ref(p, i);
		}
		got = spool_put_pages(w, first->member, first->cpu, pages, n);
		if (got)
			return got;
		if (opt->progress)
			opt->progress(opt->progress_arg, done, total);
	}
	return 0;
}

/* Whether the reader has the tables of an image. A trace.dat does not have them. */
static bool has_tables(const struct pages *p)
{
	for (uint32_t i = 0; p && i < pages_nr_members(p); i++)
		if (pages_member(p, i))
			return true;
	return false;
}

/* The end of what was recorded. A spool without one has none in its copy. */
static int put_end(struct spool_writer *w, const struct reader *r)
{
	uint64_t end_ns = r->end_mono_ns ? r->end_mono_ns : time_ns(CLOCK_MONOTONIC);

	if (r->lacks_records)
		spool_lacks_records(w);
	return r->lacks_end ? 0 : spool_end(w, end_ns);
}

int native_export(const char *path, struct reader *r, const struct export_options *opt)
{
	const struct spool_origin of = {
		.cmdline = r->cmdline, .uname = r->uname, .nr_cpus_online = r->nr_cpus_online};
	const struct pages *p = pages_of_reader(r);
	struct spool_writer *w = NULL;
	struct dat_file file;
	int fd, err;

	if (!has_tables(p))
		return fail(EINVAL,
			    "cannot write '%s': the native form is made of an area or a spool, not "
			    "of a trace.dat",
			    path);
	err = dat_file_create(&file, path);
	if (err)
		return err;
	fd = dup(file.fd);
	err = fd < 0 ? dat_file_failed(&file, -errno) : spool_begin(fd, path, &of, 0, &w);
	if (!err)
		err = put_tables(w, p);
	if (!err)
		err = put_pages(w, p, opt);
	if (!err)
		err = put_end(w, r);
	if (!err)
		err = spool_put_symbols(w, r->symbols);
	spool_close_writer(w);
	if (err) {
		dat_file_abort(&file);
		return err;
	}
	return dat_file_commit(&file);
}
