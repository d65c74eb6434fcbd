/* SPDX-License-Identifier: MIT */
/* A buffer of a trace.dat beside its top one, as a reader. For dat_read.c alone. */
#ifndef VESTIGE_TOOLS_DAT_INSTANCE_H
#define VESTIGE_TOOLS_DAT_INSTANCE_H

#include "tools/dat/dat_pieces.h"

/*
 * dat_instance_open() - the records of @b, a buffer of @d. It has no tables of its own: ids of
 * events, addresses and threads are @d's. The buffer's streams are read by it alone.
 * Return: to be closed with reader_close() before @d is; NULL: memory is short.
 */
struct reader *dat_instance_open(const struct dat_reader *d, const struct dat_buffer *b);

#endif
