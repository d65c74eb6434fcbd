/* SPDX-License-Identifier: MIT */
/*
 * Finds a row of an array by its key: a hash table of the rows' numbers (open addressing, at most
 * half full). The array and the comparison of keys are the user's. Rows are not removed. Not for
 * keys that an attacker may choose. Not for several threads.
 */
#ifndef VESTIGE_TOOLS_HASH_INDEX_H
#define VESTIGE_TOOLS_HASH_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "tools/base/hash.h"

/* All zero: empty. */
struct hash_index {
	struct hash_slot {
		uint32_t bits;	   /* of the hash */
		uint32_t plus_one; /* the row's number + 1; 0: the slot is free */
	} * slots;
	size_t nr, nr_slots; /* nr_slots: a power of two, or 0 */
};

/* The bits of a row's hash that a slot keeps. The lower ones say where its slot is. */
static inline uint32_t hash_index_bits(uint64_t hash)
{
	return (uint32_t)(hash_u64(hash) >> 32);
}

/*
 * HASH_INDEX_FIND() - the number of a row by its key.
 * @index: pointer to the struct hash_index. @hash: the key itself if it is one number, else a hash
 * of it (hash_u64() of one part combined with the next, hash_bytes()).
 * @number: the name of a uint32_t that @is_same uses: it is the number of a row with that hash.
 * @is_same: an expression: has that row the key?
 * Value: int64_t, the number; -1: there is none.
 */
#define HASH_INDEX_FIND(index, hash, number, is_same)                                              \
	({                                                                                         \
		const struct hash_index *index_ = (index);                                         \
		uint32_t bits_ = hash_index_bits(hash);                                            \
		int64_t found_ = -1;                                                               \
                                                                                                   \
		for (size_t at_ = bits_; index_->nr_slots; at_++) {                                \
			const struct hash_slot *slot_ =                                            \
				&index_->slots[at_ & (index_->nr_slots - 1)];                      \
			uint32_t number = slot_->plus_one - 1;                                     \
                                                                                                   \
			if (!slot_->plus_one)                                                      \
				break;                                                             \
			if (slot_->bits == bits_ && (is_same)) {                                   \
				found_ = number;                                                   \
				break;                                                             \
			}                                                                          \
		}                                                                                  \
		found_;                                                                            \
	})

/*
 * hash_index_add() - add a row. @hash: of its key, which is not in the index yet. @row: its number,
 * below UINT32_MAX.
 * Return: 0, or -ENOMEM without fail(), and then nothing has changed.
 */
int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t row);

/* Free the memory; the index is empty again. */
void hash_index_clear(struct hash_index *index);

#endif
