/* SPDX-License-Identifier: MIT */
/* The native block behind a trace.dat: tools/dat/native.h. */
#ifndef VESTIGE_TOOLS_DAT_NATIVE_H
#define VESTIGE_TOOLS_DAT_NATIVE_H

#include "tools/dat/native.h"
#include "tools/export/dat_file.h"
#include "tools/export/dat_write.h"

struct dat_native;

/*
 * dat_native_begin() - begin to pack the pages that @r reads, in a thread with little priority,
 * into a file beside the output. Meanwhile the caller may read from @r and encode.
 * @file: it has a name. @r: borrowed until the end; its pages stay as they are.
 * Return: it; NULL: they are few, or this is not possible, and dat_native_write() does it all.
 */
struct dat_native *dat_native_begin(const struct dat_file *file, struct reader *r);

/* Stop the thread, and drop what it has packed. @n: or NULL. */
void dat_native_free(struct dat_native *n);

/*
 * dat_native_write() - write the pages that @r reads, if it reads pages.
 * @n: of dat_native_begin(), or NULL; the caller still owns it.
 * @offset: where to; gets the end. The tail, which must be the last of the file, is written.
 * @opt: for its progress. @events: are written already.
 * @known: see native_tables_pack().
 * Return: 0 or -errno with fail() set.
 */
int dat_native_write(struct dat_native *n, const struct dat_file *file, struct reader *r,
		     const struct dat_options *opt, uint64_t events,
		     const struct native_known *known, uint64_t *offset);

#endif
