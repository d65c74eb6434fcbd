/* SPDX-License-Identifier: MIT */
/* See hash_index.h. Tests: tests/unit/test_hash_index.c. */
#include "tools/base/hash_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64u

static void put(const struct hash_index *index, struct hash_slot slot)
{
	size_t at = slot.bits & (index->nr_slots - 1);

	while (index->slots[at].plus_one)
		at = (at + 1) & (index->nr_slots - 1);
	index->slots[at] = slot;
}

static int grow(struct hash_index *index)
{
	struct hash_index more = {.nr_slots = index->nr_slots ? 2 * index->nr_slots : FIRST_SLOTS,
				  .nr = index->nr};

	more.slots = calloc(more.nr_slots, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->nr_slots; i++)
		if (index->slots[i].plus_one)
			put(&more, index->slots[i]);
	free(index->slots);
	*index = more;
	return 0;
}

int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t row)
{
	if (2 * index->nr >= index->nr_slots && grow(index))
		return -ENOMEM;
	put(index, (struct hash_slot){.bits = hash_index_bits(hash), .plus_one = row + 1});
	index->nr++;
	return 0;
}

void hash_index_clear(struct hash_index *index)
{
	free(index->slots);
	memset(index, 0, sizeof(*index));
}
