/* SPDX-License-Identifier: MIT */
/*
 * Rows of bytes that are moved from one file to another, by a thread beside the caller's own work.
 */
#ifndef VESTIGE_TOOLS_DAT_COPY_H
#define VESTIGE_TOOLS_DAT_COPY_H

#include <stdint.h>

struct dat_copy;

/*
 * dat_copy_new() - nothing to copy yet. @from: the file with the bytes; dat_copy_end() closes it.
 * Return: it; NULL: memory is short, and @from is the caller's.
 */
struct dat_copy *dat_copy_new(int from);

/*
 * dat_copy_add() - note a row of @bytes at @from of the first file, for @at of the output. A row
 * that goes on where the last one ends becomes part of it. Return: 0 or -ENOMEM, without fail().
 */
int dat_copy_add(struct dat_copy *c, uint64_t bytes, uint64_t from, uint64_t at);

/*
 * dat_copy_begin() - begin to copy all rows; where there can be no thread, do it now. @to: the
 * output, borrowed until dat_copy_end().
 */
void dat_copy_begin(struct dat_copy *c, int to);

/*
 * dat_copy_end() - wait until all is copied, and free @c. @c: or NULL. Return: 0 or -errno, without
 * fail().
 */
int dat_copy_end(struct dat_copy *c);

/* dat_copy_drop() - stop copying soon, and free @c: the output is not wanted. @c: or NULL. */
void dat_copy_drop(struct dat_copy *c);

#endif
