/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CONTROL_FILES_EVENTS_H
#define VESTIGE_CONTROL_FILES_EVENTS_H

#include "engine/control/tree.h"

/* The folder events/. */
extern const struct tree_branch events_branch;

#endif
