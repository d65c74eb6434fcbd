/* SPDX-License-Identifier: MIT */
/* Commands of `vestige blk` that have files of their own. */
#ifndef VESTIGE_TOOLS_CMD_BLK_H
#define VESTIGE_TOOLS_CMD_BLK_H

#include "tools/cli/options.h"

extern const struct command command_blk_record;

#endif
