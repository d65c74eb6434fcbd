/* SPDX-License-Identifier: MIT */
/*
 * The options of a trace.dat (clock, statistics, objects, threads, prototypes, version 7's buffer),
 * and the offsets of its CPUs' data. For dat_read.c alone. The file is untrusted.
 */
#ifndef VESTIGE_TOOLS_DAT_OPTIONS_H
#define VESTIGE_TOOLS_DAT_OPTIONS_H

#include "tools/dat/dat_pieces.h"

/*
 * dat_read_options() - read options up to DONE. Only for version 7: @at gets the offsets of the
 * sections of the DAT_NR_PIECES pieces, @next the offset of the next options, 0 none. Return: 0, or
 * as dat_damaged(); so do the functions below.
 */
int dat_read_options(struct dat_reader *d, struct cursor *c, uint64_t *at, uint64_t *next);

/* Add an empty buffer to d->buffers; NULL: memory is short, or there are too many. */
struct dat_buffer *dat_buffer_new(struct dat_reader *d);
int dat_check_page_bytes(struct dat_reader *d, uint32_t bytes);
/* Version 6: read the table of CPUs at the cursor. */
int dat_buffer_v6(struct dat_reader *d, struct dat_buffer *b, struct cursor *c);

#endif
