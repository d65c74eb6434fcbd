/* SPDX-License-Identifier: MIT */
/*
 * Records of a machine of the other byte order: their numbers are turned round where the event's
 * format has them. All readers of records see numbers of this machine.
 */
#ifndef VESTIGE_TOOLS_DAT_SWAP_H
#define VESTIGE_TOOLS_DAT_SWAP_H

#include <stdint.h>

#include "tools/reader/printks.h"

struct dat_swap;
struct tep_handle;

/*
 * dat_swap_new() - for the events that @tep knows now.
 * @printks: the texts of ftrace:bprint, whose arguments they describe. Both are borrowed until
 * dat_swap_free(). @long_bytes: of the file. Return: NULL: no memory.
 */
struct dat_swap *dat_swap_new(struct tep_handle *tep, const struct printks *printks,
			      unsigned int long_bytes);
void dat_swap_free(struct dat_swap *s);

/*
 * dat_swap_event() - turn round the numbers of a record.
 * @id: of its event; of one that is not known nothing changes. @data: the payload, @bytes of it; fields
 * that do not lie inside stay as they are.
 */
void dat_swap_event(const struct dat_swap *s, uint16_t id, unsigned char *data, uint32_t bytes);

/* Turn round @nr numbers of @each bytes: 2, 4 or 8; others stay. */
void dat_swap_numbers(unsigned char *at, uint32_t each, uint32_t nr);

#endif
