/* SPDX-License-Identifier: MIT */
/* See nearest.h. */
#include "tools/base/nearest.h"

#include <string.h>

#define MAX_WORD  128
#define MAX_SLIPS 2u /* letters by which a suggestion may differ */

static unsigned int smaller(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Letters to insert, remove, change, or swap with the next one, from @a to @b; names are short. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int rows[3][MAX_WORD + 1], *before = rows[0], *above = rows[1], *row = rows[2], *t;
	size_t n = strlen(b), m = strlen(a);

	/* more letters than may be inserted are no slip */
	if (n >= MAX_WORD || m >= MAX_WORD || n > m + MAX_SLIPS || m > n + MAX_SLIPS)
		return MAX_SLIPS + 1;
	for (size_t j = 0; j <= n; j++)
		above[j] = before[j] = (unsigned int)j;
	for (size_t i = 1; i <= m; i++) {
		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= n; j++) {
			row[j] = smaller(above[j - 1] + (a[i - 1] != b[j - 1]),
					 smaller(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], before[j - 2] + 1);
		}
		t = before;
		before = above;
		above = row;
		row = t;
	}
	return above[n];
}

const char *nearest_name(const char *word, const char *(*name_at)(const void *arg, size_t i),
			 const void *arg)
{
	const char *name, *nearest = NULL;
	unsigned int best = MAX_SLIPS + 1;

	for (size_t i = 0; (name = name_at(arg, i)); i++) {
		unsigned int d = distance(word, name);

		/* at least one letter has to be the same */
		if (d < best && d < strlen(word) && d < strlen(name)) {
			best = d;
			nearest = name;
		}
	}
	return nearest;
}
