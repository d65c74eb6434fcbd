/* SPDX-License-Identifier: MIT */
/* The native block behind a trace.dat: tools/reader/native.h. */
#ifndef VESTIGE_TOOLS_DAT_NATIVE_H
#define VESTIGE_TOOLS_DAT_NATIVE_H

#include "dat_file.h"
#include "tools/reader/reader.h"

/*
 * dat_native_write() - write the pages that @r reads, if it reads pages.
 * @offset: where to; gets the end. The tail, which must be the last of the file, is written.
 * @bases: what is known of the stacks, see native_tables_pack().
 * Return: 0 or -errno with fail() set.
 */
int dat_native_write(const struct dat_file *file, struct reader *r, const struct record_base *bases,
		     size_t nr_bases, uint64_t *offset);

#endif
