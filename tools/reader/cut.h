/* SPDX-License-Identifier: MIT */
/* A reader of those records of another reader that are in a range of time. */
#ifndef VESTIGE_TOOLS_READER_CUT_H
#define VESTIGE_TOOLS_READER_CUT_H

#include "tools/reader/reader.h"

/*
 * reader_cut() - the records of @in from @from to @to, both included, in units of record.ts.
 * @in: owned by the new reader. @out: to be closed with reader_close(). Calls that are open at
 * @from have only their exits, as in a buffer that was overwritten.
 * Return: 0; -ENOMEM with fail() set, and @in was closed.
 */
int reader_cut(struct reader *in, uint64_t from, uint64_t to, struct reader **out);

#endif
