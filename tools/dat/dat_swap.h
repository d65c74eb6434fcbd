/* SPDX-License-Identifier: MIT */
/*
 * Swaps the bytes of numbers in records of a machine of the other byte order, by the event's
 * format. So users of a reader see numbers of this machine's byte order.
 */
#ifndef VESTIGE_TOOLS_DAT_SWAP_H
#define VESTIGE_TOOLS_DAT_SWAP_H

#include <stdint.h>

#include "tools/reader/printks.h"

struct dat_swap;
struct tep_handle;

/*
 * dat_swap_new() - make one for the events that @tep knows now.
 * @printks: the texts of ftrace:bprint, whose arguments they describe. Both are borrowed until
 * dat_swap_free(). @long_bytes: of the file. Return: NULL: no memory.
 */
struct dat_swap *dat_swap_new(struct tep_handle *tep, const struct printks *printks,
			      unsigned int long_bytes);
void dat_swap_free(struct dat_swap *s);

/*
 * dat_swap_event() - swap the numbers of a record.
 * @id: of its event; a record of an unknown event is not changed. @data: the payload, @bytes of it;
 * fields that do not lie inside are not changed.
 */
void dat_swap_event(const struct dat_swap *s, uint16_t id, unsigned char *data, uint32_t bytes);

/* Swap @nr numbers of @each bytes: 2, 4 or 8; other sizes are not changed. */
void dat_swap_numbers(unsigned char *at, uint32_t each, uint32_t nr);

#endif
