/* SPDX-License-Identifier: MIT */
/* Functions that -finstrument-functions makes traceable: they have no site, but call the engine. */
#ifndef VESTIGE_HOOK_CYG_H
#define VESTIGE_HOOK_CYG_H

#include <stdint.h>

/* A function, found by its address, in a table with open addressing; addr 0: a free row. */
struct cyg_row {
	uint64_t addr;
	uint64_t word; /* head word of its record without a stamp; 0: not to be recorded */
};

/* Hash of an address: multiply it by this, and mask the offset. cyg_entry.S has the same. */
#define CYG_HASH 0x9e3779b97f4a7c15

struct cyg_table {
	uint64_t mask; /* of a row's offset: bytes of all rows - sizeof(struct cyg_row) */
	struct cyg_row rows[];
};

/*
 * cyg_start() - find out which __cyg_profile_func_enter() the program calls, and which one it would
 * call without the engine. The first step of the constructor, even if the engine then does nothing.
 */
void cyg_start(void);

/* Whether this process's calls of __cyg_profile_func_enter() reach the engine. */
int cyg_is_ours(void);

#endif
