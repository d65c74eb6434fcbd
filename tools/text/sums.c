/* SPDX-License-Identifier: MIT */
/*
 * See sums.h. Owns the keys. Equal totals are in the order of their keys.
 * Tests: tests/engine/tracers/sysprof, tests/cli/test_sched.py.
 */
#include "tools/text/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

int sums_add(struct sums *s, int32_t pid, const char *key, uint64_t amount, uint64_t at)
{
	uint64_t hash = hash_bytes(hash_u64((uint32_t)pid), key, strlen(key));
	int64_t found = HASH_INDEX_FIND(&s->index, hash, i,
					s->at[i].pid == pid && !strcmp(s->at[i].key, key));
	struct sum *sum;

	if (found < 0) {
		char *copy = strdup(key);

		if (!copy || ARRAY_ROOM(s->at, s->nr, s->room, 256) ||
		    hash_index_add(&s->index, hash, (uint32_t)s->nr)) {
			free(copy);
			return fail(ENOMEM, "out of memory for a sum");
		}
		found = (int64_t)s->nr;
		s->at[s->nr++] = (struct sum){.key = copy, .pid = pid};
	}
	sum = &s->at[found];
	sum->nr++;
	sum->total += amount;
	if (amount >= sum->max) {
		sum->max = amount;
		sum->max_at = at;
	}
	return 0;
}

static int by_total(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->key, y->key);
}

void sums_sort(struct sums *s)
{
	if (s->nr)
		qsort(s->at, s->nr, sizeof(*s->at), by_total);
}

void sums_free(struct sums *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->at[i].key);
	free(s->at);
	hash_index_clear(&s->index);
	*s = (struct sums){0};
}
