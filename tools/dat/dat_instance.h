/* SPDX-License-Identifier: MIT */
/* A reader for a buffer of a trace.dat other than its top one. For dat_read.c alone. */
#ifndef VESTIGE_TOOLS_DAT_INSTANCE_H
#define VESTIGE_TOOLS_DAT_INSTANCE_H

#include "tools/dat/dat_pieces.h"

/*
 * dat_instance_open() - the records of @b, a buffer of @d. It has no tables of its own: ids of
 * events, addresses and threads are @d's. Only this reader may read the buffer's streams.
 * Return: to be closed with reader_close() before @d is; NULL: memory is short.
 */
struct reader *dat_instance_open(const struct dat_reader *d, const struct dat_buffer *b);

#endif
