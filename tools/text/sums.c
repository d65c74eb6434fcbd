/* SPDX-License-Identifier: MIT */
/*
 * See sums.h. Owns the keys. Equal totals are in the order of their keys.
 * Tests: tests/engine/tracers/sysprof, tests/cli/test_sched.py.
 */
#include "tools/text/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/hash.h"

#define FIRST_SLOTS 1024u

static struct sum *slot_of(struct sum *sums, size_t slots, int32_t pid, const char *key)
{
	uint64_t h = hash_bytes(hash_u64((uint32_t)pid), key, strlen(key));
	size_t at = hash_u64(h) >> 20 & (slots - 1);

	while (sums[at].key && (sums[at].pid != pid || strcmp(sums[at].key, key) != 0))
		at = (at + 1) & (slots - 1);
	return &sums[at];
}

static int grow(struct sums *s)
{
	size_t slots = s->slots ? s->slots * 2 : FIRST_SLOTS;
	struct sum *more = calloc(slots, sizeof(*more));

	if (!more)
		return fail(ENOMEM, "no memory for %zu sums", slots);
	for (size_t i = 0; i < s->slots; i++)
		if (s->at[i].key)
			*slot_of(more, slots, s->at[i].pid, s->at[i].key) = s->at[i];
	free(s->at);
	s->at = more;
	s->slots = slots;
	return 0;
}

int sums_add(struct sums *s, int32_t pid, const char *key, uint64_t amount, uint64_t at)
{
	struct sum *sum;
	int err = s->nr * 2 >= s->slots ? grow(s) : 0;

	if (err)
		return err;
	sum = slot_of(s->at, s->slots, pid, key);
	if (!sum->key) {
		sum->key = strdup(key);
		if (!sum->key)
			return fail(ENOMEM, "no memory for a sum");
		sum->pid = pid;
		s->nr++;
	}
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

	if (!x->key || !y->key)
		return !x->key - !y->key;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->key, y->key);
}

void sums_sort(struct sums *s)
{
	if (s->nr)
		qsort(s->at, s->slots, sizeof(*s->at), by_total);
}

void sums_free(struct sums *s)
{
	for (size_t i = 0; i < s->slots; i++)
		free(s->at[i].key);
	free(s->at);
	*s = (struct sums){0};
}
