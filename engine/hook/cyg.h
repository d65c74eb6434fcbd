/* SPDX-License-Identifier: MIT */
/* The functions that -finstrument-functions makes traceable: they have no site, they call us. */
#ifndef VESTIGE_HOOK_CYG_H
#define VESTIGE_HOOK_CYG_H

#include <stdint.h>

/* A function, by its address. In a table of open addressing; addr 0: free. */
struct cyg_row {
	uint64_t addr;
	uint64_t word; /* its record's head without a stamp; 0: not to be recorded */
};

/* A row's place: these bits of the address times this, masked. cyg_entry.S has the same. */
#define CYG_HASH 0x9e3779b97f4a7c15

struct cyg_table {
	uint64_t mask; /* of the offset of a row: bytes of the rows - sizeof(struct cyg_row) */
	struct cyg_row rows[];
};

/*
 * cyg_start() - find out which __cyg_profile_func_enter() the program calls, and which one it would
 * call without the engine. The first thing in the constructor, also when the engine then stays
 * asleep.
 */
void cyg_start(void);

/* Whether calls of __cyg_profile_func_enter() in this process reach us. */
int cyg_is_ours(void);

#endif
