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
#define NAME_HEAD  40u

struct name_slot {
	uint64_t addr;
	const char *name; /* NULL: empty */
	size_t bytes;
	char head[NAME_HEAD]; /* the first bytes, and zeros: most names are that short */
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
	memcpy(slot->head, name, slot->bytes < NAME_HEAD ? slot->bytes : NAME_HEAD);
}

/* Write the name at @p, where there is room for it and for NAME_HEAD. Return: its end. */
static inline char *name_slot_put(const struct name_slot *slot, char *p)
{
	memcpy(p, slot->head, NAME_HEAD);
	if (slot->bytes > NAME_HEAD)
		memcpy(p + NAME_HEAD, slot->name + NAME_HEAD, slot->bytes - NAME_HEAD);
	return p + slot->bytes;
}

#endif
