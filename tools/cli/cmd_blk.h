/* SPDX-License-Identifier: MIT */
/* Commands of `vestige blk` that have files of their own. */
#ifndef VESTIGE_TOOLS_CMD_BLK_H
#define VESTIGE_TOOLS_CMD_BLK_H

#include <stdint.h>

#include "tools/cli/options.h"

extern const struct command command_blk_record;

/*
 * blk_take_mask() - add an action by its name to @mask. blk_take_mask_bits() - set it, in
 * hexadecimal. Return: 0, or the exit status.
 */
int blk_take_mask(const struct parsing *p, const char *value, uint32_t *mask);
int blk_take_mask_bits(const struct parsing *p, const char *value, uint32_t *mask);

#endif
