/* SPDX-License-Identifier: MIT */
/*
 * Sorting in place, without memory and recursion: n log n in the worst case; and looking up in what
 * is sorted.
 */
#ifndef VESTIGE_BASE_SORT_H
#define VESTIGE_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * sort() - sort an array of @nr elements at @at, @bytes each. @before: whether @a comes before @b.
 * The order of equal elements is not defined. Any context.
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

/*
 * LOWER_BOUND() - the first row of a sorted array that is not before a value. Any context.
 * @i: a name for the index. @from, @end: the rows that are looked at: [@from, @end).
 * @before: an expression of @i: true for the rows before the value, false from there on.
 * Value: the row's index, uint32_t; @end if all are before it.
 */
#define LOWER_BOUND(i, from, end, before)                                                          \
	({                                                                                         \
		uint32_t lo_ = (from), hi_ = (end);                                                \
                                                                                                   \
		while (lo_ < hi_) {                                                                \
			uint32_t i = lo_ + (hi_ - lo_) / 2;                                        \
                                                                                                   \
			if (before)                                                                \
				lo_ = i + 1;                                                       \
			else                                                                       \
				hi_ = i;                                                           \
		}                                                                                  \
		lo_;                                                                               \
	})

#endif
