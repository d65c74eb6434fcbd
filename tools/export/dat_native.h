/* SPDX-License-Identifier: MIT */
/* The native block behind a trace.dat: tools/reader/native.h. */
#ifndef VESTIGE_TOOLS_DAT_NATIVE_H
#define VESTIGE_TOOLS_DAT_NATIVE_H

#include "dat_file.h"
#include "tools/reader/native.h"

/*
 * dat_native_write() - write the pages that @r reads, if it reads pages.
 * @offset: where to; gets the end. The tail, which must be the last of the file, is written.
 * @known: see native_tables_pack().
 * Return: 0 or -errno with fail() set.
 */
int dat_native_write(const struct dat_file *file, struct reader *r,
		     const struct native_known *known, uint64_t *offset);

#endif
