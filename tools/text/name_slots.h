/* SPDX-License-Identifier: MIT */
/*
 * Names of functions that were looked up lately, by address: for lines that are printed by the
 * million. A name lives as long as the slots.
 */
#ifndef VESTIGE_TOOLS_NAME_SLOTS_H
#define VESTIGE_TOOLS_NAME_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tools/base/hash.h"

#define NAME_SLOTS 8192u /* a power of two */

struct name_slot {
	uint64_t addr;
	const char *name; /* NULL: empty */
	size_t bytes;
};

/* All zero at first. */
struct name_slots {
	struct name_slot at[NAME_SLOTS];
};

/* The slot of an address; it may have another address's name. */
static inline struct name_slot *name_slot_of(struct name_slots *s, uint64_t addr)
{
	return &s->at[hash_u64(addr) >> 51 & (NAME_SLOTS - 1)];
}

static inline bool name_slot_has(const struct name_slot *slot, uint64_t addr)
{
	return slot->name && slot->addr == addr;
}

static inline void name_slot_set(struct name_slot *slot, uint64_t addr, const char *name)
{
	*slot = (struct name_slot){.addr = addr, .name = name, .bytes = strlen(name)};
}

#endif
