/* SPDX-License-Identifier: MIT */
/* The native block behind a trace.dat: tools/dat/native.h. */
#ifndef VESTIGE_TOOLS_DAT_NATIVE_H
#define VESTIGE_TOOLS_DAT_NATIVE_H

#include "tools/dat/native.h"
#include "tools/export/dat_file.h"
#include "tools/export/dat_write.h"

/*
 * dat_native_write() - write the pages that @r reads, if it reads pages.
 * @offset: where to; gets the end. The tail, which must be the last of the file, is written.
 * @opt: for its progress. @events: are written already.
 * @known: see native_tables_pack().
 * Return: 0 or -errno with fail() set.
 */
int dat_native_write(const struct dat_file *file, struct reader *r, const struct dat_options *opt,
		     uint64_t events, const struct native_known *known, uint64_t *offset);

#endif
