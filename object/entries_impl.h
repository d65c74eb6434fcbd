/* SPDX-License-Identifier: MIT */
/* Shared by entries.c (where functions are) and entry_ways.c (how they are reached) alone. */
#ifndef VESTIGE_OBJECT_ENTRIES_IMPL_H
#define VESTIGE_OBJECT_ENTRIES_IMPL_H

#include "object/entries.h"

/* Call back for each landing pad of each function's table of exceptions. */
void entries_landing_pads(struct entries *e, void (*fn)(struct entries *e, uint64_t pad));

#endif
