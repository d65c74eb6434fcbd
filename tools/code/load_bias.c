/* SPDX-License-Identifier: MIT */
/* See load_bias.h. */
#include "tools/code/load_bias.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"

#define LOOKS	    64u /* addresses that are tested */
#define PAGE_BITS   UINT64_C(0xfff)
#define MAX_ANCHORS 8u

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sort, and remove duplicates. Return: the new number. */
static size_t each_once(uint64_t *v, size_t nr)
{
	size_t left = 0;

	if (nr)
		qsort(v, nr, sizeof(*v), compare);
	for (size_t i = 0; i < nr; i++)
		if (!left || v[left - 1] != v[i])
			v[left++] = v[i];
	return left;
}

/* The @i-th of the tested addresses, which are spread over all. */
static uint64_t look_at(const uint64_t *seen, size_t nr_seen, size_t nr_looks, size_t i)
{
	return seen[i * nr_seen / nr_looks];
}

static size_t count_fits(const uint64_t *seen, size_t nr_seen, const uint64_t *starts,
			 size_t nr_starts, uint64_t bias)
{
	size_t nr_looks = nr_seen < LOOKS ? nr_seen : LOOKS, fit = 0;

	for (size_t i = 0; i < nr_looks; i++) {
		uint64_t want = look_at(seen, nr_seen, nr_looks, i) - bias;

		fit += bsearch(&want, starts, nr_starts, sizeof(want), compare) != NULL;
	}
	return fit;
}

/* Return: how many of the tested addresses are functions with *@bias; -EINVAL with fail() set. */
static int find_bias(uint64_t *seen, size_t nr_seen, uint64_t *starts, size_t nr_starts,
		     uint64_t *bias)
{
	size_t best, nr_best = 1;

	nr_seen = each_once(seen, nr_seen);
	nr_starts = each_once(starts, nr_starts);
	*bias = 0;
	best = count_fits(seen, nr_seen, starts, nr_starts, 0);
	/* an address may be another object's: then the next one is tried */
	for (size_t i = 0; i < nr_seen && i < MAX_ANCHORS && 2 * best < nr_seen; i++) {
		for (size_t s = 0; s < nr_starts; s++) {
			uint64_t d = seen[i] - starts[s];
			size_t fit;

			if ((d & PAGE_BITS) || d == *bias)
				continue;
			fit = count_fits(seen, nr_seen, starts, nr_starts, d);
			if (fit > best)
				*bias = d;
			nr_best = fit > best ? 1 : nr_best + (fit && fit == best);
			best = fit > best ? fit : best;
		}
		if (best)
			break;
	}
	if (nr_best > 1)
		return fail(EINVAL,
			    "%zu places where the program may have been loaded fit its addresses "
			    "alike",
			    nr_best);
	return (int)best;
}

int load_bias_of(const char *path, const struct elf_code *code, uint64_t *seen, size_t nr_seen,
		 uint64_t *bias)
{
	uint64_t *starts;
	size_t nr = 0;
	int err;

	*bias = 0;
	if (!nr_seen)
		return 0;
	starts = malloc((code->nr_symbols + 1) * sizeof(*starts));
	if (!starts)
		return fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < code->nr_symbols; i++)
		if (code->symbols[i].rank < ELF_RANK_STUB) /* no call of one is in a log */
			starts[nr++] = code->symbols[i].addr;
	err = find_bias(seen, nr_seen, starts, nr, bias);
	free(starts);
	if (!err)
		return fail(EINVAL, "no function of %s has an address that is in the log", path);
	return err < 0 ? err : 0;
}
