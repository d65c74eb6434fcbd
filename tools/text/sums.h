/* SPDX-License-Identifier: MIT */
/* Sums by a text: the number of samples by stack, waiting times by the object waited for. */
#ifndef VESTIGE_TOOLS_SUMS_H
#define VESTIGE_TOOLS_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/base/hash_index.h"

struct sum {
	char *key;
	int32_t pid;
	uint64_t nr, total;
	uint64_t max, max_at; /* the largest amount, and the @at of its sums_add() */
};

/* All zero: empty. */
struct sums {
	struct sum *at;
	size_t nr, room;
	struct hash_index index; /* by pid and key */
};

/*
 * sums_add() - add @amount to the sum of @pid and @key, which is made if it is new.
 * @pid: 0 where sums are by key alone. @at: kept as max_at if no amount before was larger.
 * Return: 0 or -ENOMEM with fail() set.
 */
int sums_add(struct sums *s, int32_t pid, const char *key, uint64_t amount, uint64_t at);

/* Sort by total, the largest first: at[0] to at[nr - 1]. Nothing may be added afterwards. */
void sums_sort(struct sums *s);

void sums_free(struct sums *s);

#endif
