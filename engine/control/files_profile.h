/* SPDX-License-Identifier: MIT */
/* trace_stat/: a file for each CPU. */
#ifndef VESTIGE_CONTROL_FILES_PROFILE_H
#define VESTIGE_CONTROL_FILES_PROFILE_H

#include "engine/control/tree.h"

extern const struct tree_branch trace_stat_branch;

#endif
