/* SPDX-License-Identifier: MIT */
/* Sorting in place, without memory and recursion: n log n in the worst case. */
#ifndef VESTIGE_BASE_SORT_H
#define VESTIGE_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * sort() - @nr elements of @bytes each at @at, by @before: whether @a comes before @b. The order of
 * equal ones is open. Any context.
 */
static inline void sort(void *at, uint32_t nr, size_t bytes,
			int (*before)(const void *a, const void *b))
{
	uint8_t *base = at, *a, *b, t;
	uint32_t start = nr / 2, end = nr, i, child;
	size_t k;

	/* a heap whose top is the last one */
	while (end > 1) {
		if (start) {
			i = --start;
		} else {
			end--;
			for (a = base, b = base + end * bytes, k = 0; k < bytes; k++)
				t = a[k], a[k] = b[k], b[k] = t;
			i = 0;
		}
		for (; (child = 2 * i + 1) < end; i = child) {
			if (child + 1 < end &&
			    before(base + child * bytes, base + (child + 1) * bytes))
				child++;
			a = base + i * bytes;
			b = base + child * bytes;
			if (!before(a, b))
				break;
			for (k = 0; k < bytes; k++)
				t = a[k], a[k] = b[k], b[k] = t;
		}
	}
}

#endif
