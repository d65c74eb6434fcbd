/* SPDX-License-Identifier: MIT */
/* A part of a reader's records by time, as a reader. */
#ifndef VESTIGE_TOOLS_READER_CUT_H
#define VESTIGE_TOOLS_READER_CUT_H

#include "tools/reader/reader.h"

/*
 * reader_cut() - the records of @in from @from to @to, both included, in the clock of its stamps. @in
 * is owned by the new reader. Calls that are open at @from have their exits alone, as in a buffer that
 * was overwritten. Return: 0; -ENOMEM with fail() set, and @in was closed.
 */
int reader_cut(struct reader *in, uint64_t from, uint64_t to, struct reader **out);

#endif
